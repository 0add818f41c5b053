"""Token stores as lines of words: what is written, what is counted, what is left out."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from stemma.data import word_lines
from stemma.data.token_store import TokenStore
from stemma.data.word_lines import write_word_lines
from stemma.errors import InputError
from tests.toy_bert import write_store

VOCABULARY = [None, "a", "bé", "王", None, "d"]


def write(folder: Path, documents: list[list[list[int]]], **options: int) -> word_lines.WordLines:
    store = TokenStore.open(write_store(folder / "tokens", documents, **options))
    return write_word_lines(store, VOCABULARY, folder / "lines")


def test_words_only_and_no_empty_lines(tmp_path):
    lines = write(tmp_path, [[[1, 0, 2], [0, 4], [], [3]], [[3, 3, 1]]], tokens_per_shard=3)
    assert lines.path.read_text() == "a bé\n王\n王 王 a\n"
    assert (lines.words, lines.counts) == (["a", "bé", "王"], [2, 1, 3]), "in the order in which they are first seen"
    assert (lines.num_lines, lines.num_words) == (3, 6)


@pytest.mark.parametrize("block", [1, 7, 1 << 18])
def test_blocks_and_shards_do_not_show(tmp_path, monkeypatch, block):
    monkeypatch.setattr(word_lines, "_BLOCK_TOKENS", block)
    rng = np.random.default_rng(1)
    documents = [
        [rng.integers(6, size=rng.integers(0, 9)).tolist() for _ in range(rng.integers(1, 6))] for _ in range(30)
    ]
    lines = write(tmp_path, documents, tokens_per_shard=40)
    expected = [
        [word for number in sentence if (word := VOCABULARY[number])] for document in documents for sentence in document
    ]
    expected = [sentence for sentence in expected if sentence]
    assert lines.path.read_text() == "".join(f"{' '.join(sentence)}\n" for sentence in expected)
    counts = Counter(word for sentence in expected for word in sentence)
    assert list(zip(lines.words, lines.counts, strict=True)) == list(counts.items())
    assert lines.num_lines == len(expected)


def test_a_long_sentence_is_several_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(word_lines, "MAX_LINE_WORDS", 3)
    lines = write(tmp_path, [[[1] * 7, [2, 2, 2]]])
    assert lines.path.read_text() == "a a a\na a a\na\nbé bé bé\n"
    assert lines.num_lines == 4


def test_what_is_there_is_not_written_again(tmp_path):
    first = write(tmp_path, [[[1, 2]]])
    first.path.write_text("kept\n")
    store = TokenStore.open(tmp_path / "tokens")
    assert write_word_lines(store, VOCABULARY, tmp_path / "lines") == first
    assert first.path.read_text() == "kept\n"


def test_a_store_without_words(tmp_path):
    lines = write(tmp_path, [[[0, 4]]])
    assert (lines.words, lines.num_lines, lines.path.read_text()) == ([], 0, "")


def test_a_word_with_a_space_is_refused(tmp_path):
    store = TokenStore.open(write_store(tmp_path / "tokens", [[[1]]]))
    with pytest.raises(InputError, match="the word 'new york' holds a space"):
        write_word_lines(store, [None, "new york"], tmp_path / "lines")
