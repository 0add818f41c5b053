"""Our tokenizers as `transformers` loads them, from a folder and with no network."""

from pathlib import Path
from typing import Literal

import pytest

from stemma import config
from stemma.text.vocabulary import learn_tokenizer, load_tokenizer, save_tokenizer

WORDS = [("walking", 5), ("walk", 4), ("talk", 4), ("talking", 3)]


@pytest.mark.parametrize("kind", ["wordpiece", "word", "spaces", "jieba"])
def test_auto_tokenizer_reads_what_we_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Literal["wordpiece", "word", "spaces", "jieba"]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from transformers import AutoTokenizer

    settings = config.Tokenizer(corpus="c", kind=kind, vocabulary_size=50, min_frequency=1, lowercase=True)
    tokenizer = learn_tokenizer(WORDS, settings)
    save_tokenizer(tokenizer, settings, tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    encoding = tokenizer.encode("Walk walking", "talk")
    batch = loaded("Walk walking", "talk")
    assert batch["input_ids"] == encoding.ids
    assert batch["token_type_ids"] == encoding.type_ids
    assert (loaded.pad_token_id, loaded.unk_token_id, loaded.cls_token_id) == (0, 1, 2)
    assert (loaded.sep_token_id, loaded.mask_token_id) == (3, 4)
    assert len(loaded) == tokenizer.get_vocab_size()


def test_auto_tokenizer_reads_chinese_with_spaces_between_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`transformers` can't be given jieba: the folder's files alone take segmented text, ours takes plain text."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from transformers import AutoTokenizer

    settings = config.Tokenizer(corpus="c", kind="jieba", vocabulary_size=50, min_frequency=1, lowercase=True)
    save_tokenizer(learn_tokenizer([("我", 3), ("一个", 2), ("苹果", 1)], settings), settings, tmp_path)
    ours = load_tokenizer(tmp_path).encode("我一个苹果。").ids
    assert AutoTokenizer.from_pretrained(tmp_path)("我 一个 苹果。")["input_ids"] == ours
    assert ours == [2, 7, 8, 9, 1, 3]
