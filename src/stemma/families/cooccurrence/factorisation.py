"""From counts to vectors: positive pointwise mutual information, and its best approximation of low rank.

PMI(i, j) = log P(i, j) / (P(i) P(j)): how much more often two words stand together than chance would have it. Contexts are
drawn from P(j) ~ X_j ** `smoothing` (0.75 in Levy et al. 2015), so that rare ones do not win, and only what is above log
`shift` counts. Left out on purpose: matrices of mutual information that do not fit into memory.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, svds
from threadpoolctl import threadpool_limits

from stemma.data.cooccurrences import Cooccurrences

__all__ = ["Decomposition", "decompose", "positive_mutual_information"]

Matrix = npt.NDArray[np.float64]
_BLOCK: Final = 1 << 20  # entries


class Decomposition(NamedTuple):
    """The largest singular values, falling, with their left vectors."""

    vectors: Matrix  # (words, rank)
    values: Matrix  # (rank,)
    num_products: int  # of the matrix with a vector


def positive_mutual_information(counts: Cooccurrences, *, smoothing: float, shift: float) -> csr_array:
    """What of the mutual information is above log `shift`, as a sparse matrix of words by contexts."""
    sums = _row_sums(counts)  # of columns too: the matrix is symmetric
    with np.errstate(divide="ignore"):  # a word that stands alone has no entry that would ask for its logarithm
        words = np.log(sums) + np.log(shift)
        contexts = smoothing * np.log(sums) - np.log((sums[sums > 0] ** smoothing).sum())
    blocks = [_above(counts, start, words, contexts) for start in range(0, counts.num_entries, _BLOCK)]
    rows, columns, values = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=counts.num_words))])
    return csr_array((values, columns, offsets), shape=(counts.num_words, counts.num_words))


def _above(counts: Cooccurrences, start: int, words: Matrix, contexts: Matrix) -> tuple[npt.NDArray[Any], ...]:
    """Rows, columns and information of a block of entries, where it is positive."""
    columns, values = counts.columns[start : start + _BLOCK], counts.values[start : start + _BLOCK]
    rows = np.searchsorted(counts.offsets, np.arange(start, start + len(columns)), side="right") - 1
    information = np.log(values) - words[rows] - contexts[columns]
    positive = information > 0
    return rows[positive].astype(np.int32), columns[positive], information[positive]


def decompose(matrix: csr_array, rank: int, seed: int) -> Decomposition:
    """The first left singular vectors (Lanczos), the same bits each time.

    So BLAS gets one thread, the first vector comes from the seed, and of each vector and its opposite the one is taken
    whose largest number is positive.
    """
    start = np.random.default_rng(seed % 2**63).standard_normal(matrix.shape[0])
    products = _CountedProducts(matrix)
    with threadpool_limits(limits=1, user_api="blas"):
        left, values, _ = svds(products.operator(), k=rank, v0=start, return_singular_vectors="u")
    falling = np.argsort(-values, kind="stable")
    left, values = left[:, falling], values[falling]
    largest = left[np.abs(left).argmax(axis=0), np.arange(rank)]
    return Decomposition(left * np.where(largest < 0, -1.0, 1.0), values, products.count)


class _CountedProducts:
    """A matrix's products with vectors, and how many were asked for."""

    def __init__(self, matrix: csr_array) -> None:
        self._matrix, self._transposed, self.count = matrix, matrix.T.tocsr(), 0

    def operator(self) -> Any:
        return LinearOperator(
            self._matrix.shape,
            matvec=lambda vector: self._product(self._matrix, vector),
            rmatvec=lambda vector: self._product(self._transposed, vector),
            dtype=np.float64,
        )

    def _product(self, matrix: csr_array, vector: Matrix) -> Matrix:
        self.count += 1
        result: Matrix = matrix @ vector
        return result


def _row_sums(counts: Cooccurrences) -> Matrix:
    sums = np.zeros(counts.num_words)
    filled = np.diff(counts.offsets) > 0
    sums[filled] = np.add.reduceat(counts.values, counts.offsets[:-1][filled])
    return sums
