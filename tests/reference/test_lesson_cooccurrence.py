"""The lecture's matrix: "I like deep learning. I like NLP. I enjoy flying.", a window of one word."""

import numpy as np
import pytest

from stemma.lessons import cooccurrence, explain
from stemma.text.vectors import WordVectors

PAIRS = {
    ("I", "like"): 2,
    ("I", "enjoy"): 1,
    ("like", "deep"): 1,
    ("like", "NLP"): 1,
    ("enjoy", "flying"): 1,
    ("deep", "learning"): 1,
    ("learning", "."): 1,
    ("NLP", "."): 1,
    ("flying", "."): 1,
}


def test_the_matrix_is_the_lectures():
    expected = np.zeros((8, 8))
    for pair, count in PAIRS.items():
        first, second = (cooccurrence.WORDS.index(word) for word in pair)
        expected[first, second] = expected[second, first] = count
    np.testing.assert_array_equal(cooccurrence.count(), expected)


def test_rows_of_counts_are_not_at_right_angles():
    matrix = cooccurrence.count().astype(np.float32)
    vectors = WordVectors(cooccurrence.WORDS, matrix)
    # like: I 2, deep 1, NLP 1; enjoy: I 1, flying 1; so 2 / (√6 · √2)
    assert vectors.similarity("like", "enjoy") == pytest.approx(1 / np.sqrt(3))
    assert WordVectors(cooccurrence.WORDS, np.eye(8, dtype=np.float32)).similarity("like", "enjoy") == 0


def test_it_is_told_line_by_line():
    lines = list(explain("cooccurrence"))
    assert "        I        0        2        1        0        0        0        0        0" in lines
    assert "cosine of like and enjoy: one-hot 0.000, counted 0.577" in lines
