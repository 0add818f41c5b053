import subprocess
import sys
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemma import config
from stemma.text import words
from stemma.text.vocabulary import word_splitter
from stemma.text.words import CHUNK_CHARACTERS, find_words, hash_words, split_chunks
from tests.toy_corpora import texts


def strings(text: str) -> list[str]:
    found = find_words(text)
    return [text[start:end] for start, end in zip(found.starts.tolist(), found.ends.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  \n\t ", []),
        ("one", ["one"]),
        ("It's 3.5, no?", ["It", "'", "s", "3", ".", "5", ",", "no", "?"]),
        ("算盤 abc字", ["算", "盤", "abc", "字"]),
        ("«¿Qué?»", ["«", "¿", "Qué", "?", "»"]),
        ("\U00020001\U0001f600x", ["\U00020001", "\U0001f600x"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert strings(text) == expected


def test_words_of_text_that_was_tokenized_before() -> None:
    text = " the U.S. 's <unk>\n一个 苹果 . "
    found = find_words(text, at_spaces=True)
    places = zip(found.starts.tolist(), found.ends.tolist(), strict=True)
    assert [text[start:end] for start, end in places] == text.split()


def test_hashes_tell_words_apart_wherever_they_stand() -> None:
    text = "the cat the dog thecat eht cat the"
    hashes = find_words(text).hashes.tolist()
    assert len(set(hashes)) == len(set(text.split()))
    assert hashes[0] == hashes[2] == hashes[-1]
    assert hashes[1] == hashes[-2]


def test_a_chunk_border_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "some words, and more words\nthan a chunk holds " * 20
    whole = find_words(text)
    monkeypatch.setattr(words, "split_chunks", lambda text: split_chunks(text, 37))
    pieces = find_words(text)
    assert np.array_equal(whole.starts, pieces.starts)
    assert np.array_equal(whole.ends, pieces.ends)
    assert np.array_equal(whole.hashes, pieces.hashes)


@given(st.text(max_size=50), st.integers(1, 20))
def test_chunks_hold_all_of_a_text(text: str, size: int) -> None:
    chunks = list(split_chunks(text, size))
    assert "".join(chunks) == text
    assert all(0 < len(chunk) <= size for chunk in chunks)


def test_hashes_are_the_same_in_another_process() -> None:
    code = "from stemma.text.words import find_words; print(find_words('one two 漢').hashes.tolist())"
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert output.strip() == str(find_words("one two 漢").hashes.tolist())


def test_no_hashes_collide_among_many_words() -> None:
    text = " ".join(f"w{n} x{n * 7919}y" for n in range(100_000))
    assert len(set(find_words(text).hashes.tolist())) == 200_000


@pytest.mark.parametrize("kind", ["wordpiece", "word"])
def test_the_library_splits_wherever_we_do(kind: Literal["wordpiece", "word"]) -> None:
    """Encoding word by word is right only if every border between words is one for the tokenizer too."""
    settings = config.Tokenizer(corpus="c", kind=kind, vocabulary_size=100, min_frequency=1, lowercase=True)
    split = word_splitter(settings)
    borders = np.flatnonzero(words._class_table()[:-1] != words._INSIDE)
    assert len(borders) > 70_000
    for character in map(chr, borders):
        middle = () if character.isspace() else split(character)
        assert split(f"a{character}b") == ("a", *middle, "b"), hex(ord(character))


def test_hashes_alone_are_those_of_the_words_in_small_letters() -> None:
    text = "\n".join(texts(90)).title() + " İstanbul ΟΔΥΣΣΕΥΣ"
    assert len(text) > CHUNK_CHARACTERS
    np.testing.assert_array_equal(hash_words(text), find_words(text.lower()).hashes)
    assert len(hash_words("")) == 0
