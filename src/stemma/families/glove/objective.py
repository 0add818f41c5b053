"""GloVe's objective: J = Σ f(X_ij) (w_i · w̃_j + b_i + b̃_j - log X_ij)², f(x) = min(1, (x / x_max) ** α).

The sum goes over the pairs that were seen: f(0) is 0. Its gradients are products with the sparse matrix of the pairs'
slopes, which never takes the space of all pairs.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from stemma.data.cooccurrences import Cooccurrences

__all__ = ["Factors", "Floats", "Objective"]

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.integer[Any]]
_CHUNK: Final = 4096  # entries whose vectors fit into a processor's cache


@dataclass(frozen=True)
class Factors:
    """What is learned of every word, by itself and as the context of others. Also: gradients of that, or sums of squares."""

    words: Floats  # (words, size)
    contexts: Floats
    word_biases: Floats  # (words,)
    context_biases: Floats

    def arrays(self) -> dict[str, Floats]:
        """All by name."""
        return vars(self)


@dataclass(frozen=True, kw_only=True)
class Objective:
    """The loss of some pairs and its gradients."""

    full_weight_count: float  # x_max
    weight_exponent: float  # α

    def loss_and_gradients(self, factors: Factors, pairs: Cooccurrences) -> tuple[float, Factors]:
        """The sum over the pairs, and each factor's gradient."""
        rows = np.repeat(np.arange(pairs.num_words), np.diff(pairs.offsets))
        slopes = np.empty(pairs.num_entries, np.float32)  # the gradients of the products w_i · w̃_j
        losses = []
        for start in range(0, pairs.num_entries, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            differences, weights = self._compare(factors, rows[chunk], pairs.columns[chunk], pairs.values[chunk])
            weights *= differences
            losses.append(float((weights * differences).sum(dtype=np.float64)))
            np.multiply(weights, 2, out=slopes[chunk])
        return math.fsum(losses), _gradients(factors, pairs, rows, slopes)

    def _compare(
        self, factors: Factors, rows: Numbers, columns: Numbers, values: npt.NDArray[np.float64]
    ) -> tuple[Floats, Floats]:
        """How far each pair is from its logarithm, and how much that weighs."""
        counts = values.astype(np.float32)
        vectors = (
            factors.words.take(rows, 0, mode="clip"),
            factors.contexts.take(columns, 0, mode="clip"),
        )  # the fast mode
        differences = np.einsum("ij,ij->i", *vectors)
        differences += factors.word_biases[rows]
        differences += factors.context_biases[columns]
        differences -= np.log(counts)
        shares = counts / np.float32(self.full_weight_count)
        return differences, np.minimum(1, shares ** np.float32(self.weight_exponent))


def _gradients(factors: Factors, pairs: Cooccurrences, rows: Numbers, slopes: Floats) -> Factors:
    matrix = csr_array((slopes, pairs.columns, pairs.offsets), shape=(pairs.num_words, pairs.num_words))
    return Factors(
        words=matrix @ factors.contexts,
        contexts=matrix.T @ factors.words,
        word_biases=np.bincount(rows, slopes, pairs.num_words).astype(np.float32),
        context_biases=np.bincount(pairs.columns, slopes, pairs.num_words).astype(np.float32),
    )
