import hashlib

import numpy as np
import pytest

from stemma.text import clean_text as module
from stemma.text.clean_text import clean_text
from stemma.text.words import hash_words
from tests.toy_corpora import texts


def test_a_text_becomes_sentences_in_normal_form() -> None:
    found = clean_text("<b>Cafe\u0301</b> &amp; bar.\u00a0It is open.\r\n\r\n\r\n# A heading ".encode(), "NFC")
    text = "Caf\u00e9 & bar. It is open.\n\nA heading"
    assert found.sentences.decode().split("\n") == ["Caf\u00e9 & bar.", "It is open.", "A heading"]
    assert np.array_equal(found.words, hash_words(text) >> np.uint64(32))
    assert found.digest == hashlib.blake2b(text.encode(), digest_size=16).digest()
    assert found.num_characters == len(text)
    assert found.num_characters_raw == 53


@pytest.mark.parametrize("blank", ["\n\n", "\r\n\r\n", "\n \t\n\n\n"])
def test_parts_change_nothing(monkeypatch: pytest.MonkeyPatch, blank: str) -> None:
    data = blank.join(["漢字。", *texts(5), "*", "The end"]).encode()
    whole = clean_text(data, "NFC")
    monkeypatch.setattr(module, "PART_BYTES", 10)
    parts = clean_text(data, "NFC")
    assert parts.sentences == whole.sentences
    assert np.array_equal(parts.words, whole.words)
    assert (parts.digest, parts.num_characters, parts.num_characters_raw) == (
        whole.digest,
        whole.num_characters,
        whole.num_characters_raw,
    )


def test_nothing_has_no_sentences() -> None:
    assert clean_text(b" \n\n ", "NFC").sentences == b""
    assert len(clean_text(b"", "NFC").words) == 0
