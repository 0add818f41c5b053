"""What word2vec minimises instead of a softmax over all words (Mikolov et al. 2013), in nats a prediction.

Hierarchical softmax: a choice at each inner node on the way to the word, together a distribution over all words. Negative
sampling: tell the word from a few that are drawn as noise. These are the losses themselves, for measuring; training is
gensim's. Left out on purpose: gensim's table of sigmoids and its cut at 6, which change its steps and not the objective.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from stemma.layers.huffman import HuffmanTree

__all__ = ["HierarchicalSoftmax", "NegativeSampling", "WordObjective", "draw_negatives", "noise_distribution"]

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Array = npt.NDArray[Any]


class WordObjective(Protocol):
    """What a prediction of a word costs."""

    def losses(self, hidden: Array, output: Array) -> Doubles:
        """The nats of each prediction: `hidden` (predictions, size) predicts its word by the rows of `output`."""


@dataclass(frozen=True)
class HierarchicalSoftmax:
    """-log P(word | hidden), the product of the choices from the root to the word."""

    tree: HuffmanTree
    targets: Ints

    def losses(self, hidden: Array, output: Array) -> Doubles:
        """Climb from all words to the root at once; `output` has a row for each inner node."""
        total = np.zeros(len(self.targets))
        going, nodes = np.arange(len(self.targets)), self.targets
        while len(going):
            parents = self.tree.parents[nodes]
            scores = _products(hidden[going], output[parents - self.tree.num_words])
            total[going] += _softplus(np.where(self.tree.is_heavier[nodes], scores, -scores))
            below = parents != self.tree.root
            going, nodes = going[below], parents[below]
        return total


@dataclass(frozen=True)
class NegativeSampling:
    """-log σ(word) - Σ log σ(-noise): one word that is there against some that are not."""

    targets: Ints
    negatives: Ints  # (predictions, negatives); -1 where there is none

    def losses(self, hidden: Array, output: Array) -> Doubles:
        """`output` has a row for each word."""
        total = _softplus(-_products(hidden, output[self.targets]))
        for column in self.negatives.T:
            total += np.where(column >= 0, _softplus(_products(hidden, output[column])), 0.0)
        return total


def noise_distribution(counts: npt.NDArray[np.integer], exponent: float) -> Doubles:
    """How probable each word is as noise: count^exponent / Σ count^exponent."""
    weights = np.asarray(counts, np.float64) ** exponent
    return np.asarray(weights / weights.sum())


def draw_negatives(targets: Ints, count: int, noise: Doubles, rng: np.random.Generator) -> Ints:
    """Words drawn as noise, (targets, count); where the word itself was drawn there is none (-1), as in word2vec's own code."""
    drawn = np.searchsorted(np.cumsum(noise)[:-1], rng.random((len(targets), count)), side="right")
    return np.where(drawn == targets[:, None], -1, drawn)


def _products(rows: Array, others: Array) -> Doubles:
    return np.asarray(np.einsum("ij,ij->i", rows, others), np.float64)


def _softplus(values: Doubles) -> Doubles:
    return np.asarray(np.logaddexp(0.0, values))
