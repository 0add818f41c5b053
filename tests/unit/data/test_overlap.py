"""Rows of an evaluation set that share a run of words with a corpus, against a brute-force search."""

import random
import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from stemma.data.overlap import hash_ngrams, overlapping_rows

LENGTH = 4


def brute_force(corpus: list[str], rows: list[str]) -> tuple[list[bool], list[bool]]:
    """Which rows are long enough, and which share LENGTH words in a row with the corpus, by sets of strings."""

    def ngrams(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"[^\W_]+", text.lower())
        return {tuple(words[start : start + LENGTH]) for start in range(len(words) - LENGTH + 1)}

    known = {ngram for text in corpus for ngram in ngrams(text)}
    return [bool(ngrams(row)) for row in rows], [bool(ngrams(row) & known) for row in rows]


@pytest.mark.parametrize("memory_limit", [1, 64 * 50, 1 << 30], ids=["a block an n-gram", "some blocks", "one block"])
def test_finds_what_a_brute_force_search_finds(memory_limit: int) -> None:
    rng = random.Random(1)
    vocabulary = [f"w{number}" for number in range(4)]
    texts = [" ".join(rng.choices(vocabulary, k=rng.randint(0, 9))) for _ in range(60)]
    corpus, rows = texts[:15], texts[15:]

    def read_corpus() -> Iterator[npt.NDArray[np.uint64]]:
        for start in range(0, len(corpus), 4):
            yield hash_ngrams(pa.array(corpus[start : start + 4]), LENGTH)[0]

    found = overlapping_rows([hash_ngrams(pa.array(rows), LENGTH)], len(rows), read_corpus, memory_limit)
    measured, shared = brute_force(corpus, rows)
    assert found.measured.tolist() == measured
    assert found.found.tolist() == shared
    assert 3 < sum(shared) < sum(measured) < len(rows), "a case with all three kinds of rows"


def test_case_and_punctuation_do_not_hide_a_run() -> None:
    plain = hash_ngrams(pa.array(["the naïve café of 1999"]), 5)[0]
    noisy = hash_ngrams(pa.array(["“The NAÏVE—café, of (1999)!”"]), 5)[0]
    assert plain.tolist() == noisy.tolist()
    assert len(plain) == 1


def test_a_run_does_not_cross_texts_or_forget_the_order() -> None:
    hashes, rows = hash_ngrams(pa.chunked_array([["a b", "c d e"], ["b a", None, ""]]), 2)
    assert rows.tolist() == [0, 1, 1, 2]
    assert len(set(hashes.tolist())) == 4


def test_nothing_to_look_for() -> None:
    hashes, rows = hash_ngrams(pa.array([], pa.string()), 3)
    result = overlapping_rows([(hashes, rows)], 0, lambda: iter([]), 100)
    assert len(result.found) == 0
