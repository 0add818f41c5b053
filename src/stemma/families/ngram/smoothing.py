"""How an n-gram model shares out probability, each way as the same interpolation.

P(w | h) = share(h w) + backoff(h) · P(w | h'), where h' is the context h without its first word, and below the unigrams
every event has the same probability. A smoothing says what share and backoff are; both come from counts alone.

- Maximum likelihood: no backoff; what was not seen has probability 0.
- Laplace and add-k: count + k over total + k·V, that is, interpolation with the same probability for all events.
- Interpolated (Jelinek and Mercer, 1980): fixed weights, normalised over the orders whose context was seen.
- Kneser-Ney: interpolated and modified, with three discounts an order and no cut-offs (Chen and Goodman, 1998).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

__all__ = [
    "FALLBACK_DISCOUNTS",
    "AddK",
    "Contexts",
    "Interpolated",
    "KneserNey",
    "MaximumLikelihood",
    "Smoothing",
    "count_counts",
    "kneser_ney_discounts",
]

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.uint64]

FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)  # where counts of counts give none, as in KenLM's --discount_fallback


@dataclass(frozen=True, kw_only=True)
class Contexts:
    """What was counted in each of some contexts of one length."""

    totals: Counts
    ones: Counts  # how many words were counted once after it
    twos: Counts
    more: Counts  # three times or more often
    at_begin: npt.NDArray[np.bool_]  # whether it begins with <s>


class Smoothing(Protocol):
    """Shares of n-grams and backoffs of contexts, from counts."""

    @property
    def continuation(self) -> bool:
        """Whether n-grams below the longest are counted by how many different words they follow."""

    @property
    def backs_off(self) -> bool:
        """Whether a context that was never seen leaves the prediction to shorter ones, or makes it impossible."""

    def weigh(self, order: int, counts: Counts, contexts: Contexts, of: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The share of each n-gram, and the backoff of each context; `of` says which context an n-gram has."""


class MaximumLikelihood:
    """Relative frequencies."""

    continuation, backs_off = False, False

    def weigh(
        self,
        order: int,  # noqa: ARG002 it is the same at every order
        counts: Counts,
        contexts: Contexts,
        of: npt.NDArray[np.int64],
    ) -> tuple[Floats, Floats]:
        """Each n-gram has its share of what was seen, and nothing is left."""
        return counts / contexts.totals[of], np.zeros(len(contexts.totals))


@dataclass(frozen=True)
class AddK:
    """`k` added to the count of every event (Laplace: 1)."""

    continuation, backs_off = False, True

    k: float
    num_events: int
    longest: int

    def weigh(self, order: int, counts: Counts, contexts: Contexts, of: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Only the longest context that a sentence offers counts; shorter ones pass the uniform probability on."""
        used = contexts.at_begin | (order == self.longest)
        totals = contexts.totals + self.k * self.num_events
        shares = np.where(used[of], counts / totals[of], 0.0)
        return shares, np.where(used, self.k * self.num_events / totals, 1.0)


@dataclass(frozen=True)
class Interpolated:
    """Relative frequencies of all orders, mixed by `weights` (unigrams first)."""

    continuation, backs_off = False, True

    weights: tuple[float, ...]

    def weigh(self, order: int, counts: Counts, contexts: Contexts, of: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """An order's weight is taken relative to its own and all lower ones: a context that was not seen drops out."""
        below = sum(self.weights[: order - 1])
        total = below + self.weights[order - 1]
        weight = 1.0 if order == 1 else self.weights[order - 1] / total if total else 0.0
        return weight * (counts / contexts.totals[of]), np.full(len(contexts.totals), 1.0 - weight)


@dataclass(frozen=True)
class KneserNey:
    """Absolute discounts by count (one, two, three and more), a triple an order (unigrams first)."""

    continuation, backs_off = True, True

    discounts: tuple[tuple[float, float, float], ...]

    def weigh(self, order: int, counts: Counts, contexts: Contexts, of: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """What is taken from the n-grams of a context is its backoff."""
        by_count = np.array([0.0, *self.discounts[order - 1]])
        one, two, more = self.discounts[order - 1]
        taken = one * contexts.ones + two * contexts.twos + more * contexts.more
        shares = (counts - by_count.take(np.minimum(counts, 3).view(np.int64))) / contexts.totals.take(of)
        return shares, taken / contexts.totals


def kneser_ney_discounts(counts_of_counts: Sequence[int]) -> tuple[float, float, float]:
    """Chen and Goodman's estimates from how many n-grams were counted 1, 2, 3 and 4 times.

    Where one of them does not exist or leaves no probability over, as in a toy corpus, the order gets the fallback.
    """
    n1, n2, n3, n4 = counts_of_counts
    if not (n1 and n2 and n3):
        return FALLBACK_DISCOUNTS
    y = n1 / (n1 + 2 * n2)
    discounts = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    return discounts if min(discounts) > 0 else FALLBACK_DISCOUNTS


def count_counts(counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """How many of the counts are 1, 2, 3 and 4."""
    return np.bincount(np.minimum(counts, 5).astype(np.int64), minlength=6)[1:5]
