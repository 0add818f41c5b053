"""Mutual information worked by hand, and its decomposition against numpy's whole one."""

import math

import numpy as np
import pytest

from stemma.data.cooccurrences import Cooccurrences
from stemma.families.cooccurrence.factorisation import decompose, positive_mutual_information

# Three words; 16 co-occurrences in all. The rows, and so the columns, sum to 6, 6 and 4.
COUNTS = np.array([[0.0, 4.0, 2.0], [4.0, 1.0, 1.0], [2.0, 1.0, 1.0]])


def sparse(matrix: np.ndarray) -> Cooccurrences:
    rows, columns = np.nonzero(matrix)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(matrix)))])
    return Cooccurrences(offsets=offsets, columns=columns.astype(np.int32), values=matrix[rows, columns])


def test_mutual_information_of_three_words_by_hand():
    """P(0, 1) / (P(0) P(1)) = (4 / 16) / (6 / 16 · 6 / 16) = 16/9, and so on; what is below 1 goes."""
    result = positive_mutual_information(sparse(COUNTS), smoothing=1.0, shift=1.0).toarray()
    above = {(0, 1): 16 / 9, (0, 2): 4 / 3}  # (1, 1): 4/9; (1, 2): 2/3; (2, 2): 1, whose logarithm is 0
    expected = np.zeros((3, 3))
    for (i, j), ratio in above.items():
        expected[i, j] = expected[j, i] = math.log(ratio)
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_contexts_are_smoothed():
    """With the power 0.5 the contexts' shares are √6, √6 and 2 of their sum; those of words stay."""
    total = 2 * math.sqrt(6) + 2
    result = positive_mutual_information(sparse(COUNTS), smoothing=0.5, shift=1.0).toarray()
    assert result[0, 1] == pytest.approx(math.log(4 / 16 / (6 / 16 * math.sqrt(6) / total)))
    assert result[1, 0] == pytest.approx(result[0, 1])
    assert result[0, 2] == pytest.approx(math.log(2 / 16 / (6 / 16 * 2 / total)))
    assert result[2, 0] == pytest.approx(math.log(2 / 16 / (4 / 16 * math.sqrt(6) / total)))


def test_a_shift_takes_its_logarithm_off():
    result = positive_mutual_information(sparse(COUNTS), smoothing=1.0, shift=1.5).toarray()
    assert np.count_nonzero(result) == 2
    assert result[0, 1] == pytest.approx(math.log(16 / 9 / 1.5))


def test_a_word_that_stands_alone_has_no_information():
    matrix = np.zeros((4, 4))
    matrix[:3, :3] = COUNTS
    result = positive_mutual_information(sparse(matrix), smoothing=0.75, shift=1.0).toarray()
    assert not result[3].any()
    assert np.isfinite(result).all()


@pytest.mark.parametrize("rank", [1, 4, 9])
def test_vectors_give_the_best_approximation_of_their_rank(rank):
    rng = np.random.default_rng(5)
    counts = rng.poisson(1.0, (20, 20)) * 1.0
    matrix = positive_mutual_information(sparse(counts + counts.T), smoothing=0.75, shift=1.0)
    found = decompose(matrix, rank, seed=1)
    left, values, right = np.linalg.svd(matrix.toarray())
    best = left[:, :rank] * values[:rank] @ right[:rank]
    np.testing.assert_allclose(found.values, values[:rank], rtol=1e-9)
    np.testing.assert_allclose(found.vectors @ found.vectors.T @ matrix.toarray(), best, atol=1e-8)
    assert (found.vectors[np.abs(found.vectors).argmax(axis=0), np.arange(rank)] > 0).all(), "signs are fixed"
