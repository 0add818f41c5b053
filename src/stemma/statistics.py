"""How sure a score is: bootstrap intervals over seeds and examples, paired differences, McNemar's test.

The runs of one system share their test examples, so seeds and examples are crossed, not nested: a draw takes seeds with
replacement, and one resample of the examples for all of them (Owen 2007, "The pigeonhole bootstrap"). The same `seed`
gives every system the same resamples, so that a difference of two systems' draws is a paired one.

Some examples are made of two things that others are made of too, as an analogy is of two pairs of words. Then the things are
drawn, and an example is in a draw as often as both of its own together are (`paired_resamples`; Snijders and Borgatti 1999, "the
vertex bootstrap"): with the example drawn by itself, a few things in many examples would pass for many.

With few seeds the interval is too narrow for what another seed would do: of k, the variance between seeds counts only
(k - 1) / k. Simulated with 3 seeds, 95 % intervals hold the truth 93 to 95 times in 100 where seeds add no more to the
error than examples do, and only 82 times where they add twice as much.

Of many comparisons some look clear by chance alone: `holm` raises their p-values so that, all together, one falsely clear
comparison is as rare as one p-value says. It needs p-values smaller than a number of draws can count, so where no draw goes
against a difference the tail of the normal distribution takes over (`Difference.tail`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import stats

__all__ = [
    "Difference",
    "Interval",
    "draw_examples",
    "draw_seeds",
    "holm",
    "mcnemar",
    "paired_difference",
    "paired_resamples",
    "percentile_interval",
    "resamples",
    "smallest_effect",
    "spearman",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BLOCK: Final = 1 << 22  # resampled positions held at once: 32 MiB, and as much again for their counts


@dataclass(frozen=True, kw_only=True)
class Interval:
    """Where a figure lies, as sure as its confidence says."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How much one system is above another."""

    value: float
    low: float
    high: float
    p_value: float  # two-sided, never 0: as if one more draw had gone against it
    spread: float  # the standard deviation of the difference, over draws
    unopposed: bool  # whether every draw was on the same side

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval lies on one side."""
        return self.low > 0 or self.high < 0

    @property
    def tail(self) -> float:
        """The p-value, or where every draw is on the same side the normal distribution's, if that is smaller."""
        if not self.unopposed or self.spread == 0:
            return self.p_value
        return min(self.p_value, float(2 * stats.norm.sf(abs(self.value) / self.spread)))


def draw_examples(
    columns: Floats,
    finish: Callable[[Floats], Floats],
    *,
    draws: int,
    seed: int,
    things: Ints | None = None,
    block: int = _BLOCK,
) -> Floats:
    """The scores (draws, runs) of runs on resamples of their shared examples, or of the things (examples, 2) that these are of.

    `columns` is (runs, examples, columns), and a score is `finish` of the sums over examples. Memory is bounded by
    `block`, on which the result does not depend (but for the rounding of sums).
    """
    num_runs, num_examples, num_columns = columns.shape
    flat = columns.transpose(1, 0, 2).reshape(num_examples, num_runs * num_columns)
    blocks = (
        resamples(num_examples, draws=draws, seed=seed, block=block)
        if things is None
        else paired_resamples(things, draws=draws, seed=seed, block=block)
    )
    return np.concatenate([finish((weights @ flat).reshape(-1, num_runs, num_columns)) for weights in blocks])


def resamples(num_examples: int, *, draws: int, seed: int, block: int = _BLOCK) -> Iterator[Floats]:
    """How often each example is in each resample: blocks (draws, examples) of about `block` numbers, `draws` rows in all."""
    rng = _generator(seed, "examples")
    step = max(1, block // num_examples)
    for begin in range(0, draws, step):
        size = min(step, draws - begin)
        drawn = rng.integers(num_examples, size=(size, num_examples))
        drawn += np.arange(size)[:, None] * num_examples
        counts = np.bincount(drawn.ravel(), minlength=size * num_examples).reshape(size, num_examples)
        yield counts.astype(np.float64)


def paired_resamples(things: Ints, *, draws: int, seed: int, block: int = _BLOCK) -> Iterator[Floats]:
    """How often each example is in each resample of the things, numbered from 0, that it is made of two of (examples, 2).

    A resample that happens to hold no example at all is taken to be the whole set: there is nothing to score in it.
    """
    num_examples, num_things = len(things), int(things.max()) + 1
    step = max(1, block // max(num_examples, num_things))
    for counts in resamples(num_things, draws=draws, seed=seed, block=step * num_things):
        weights = counts[:, things[:, 0]] * counts[:, things[:, 1]]
        weights[~weights.any(axis=1)] = 1.0
        yield weights


def spearman(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Spearman's rank correlation of two values an example, in each row of weights (draws, examples).

    A weight is how often the example is there; equal values share the mean of their ranks. NaN where one of the two has the same
    value throughout, so that there is no order to compare.
    """
    total = weights.sum(axis=1, keepdims=True)
    centred = [_ranks(values, weights) - (total + 1) / 2 for values in (first, second)]  # the mean of 1 … total
    products = (weights * centred[0] * centred[1]).sum(axis=1)
    squares = [(weights * ranks**2).sum(axis=1) for ranks in centred]
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 is meant
        return np.asarray(products / np.sqrt(squares[0] * squares[1]))


def _ranks(values: Floats, weights: Floats) -> Floats:
    """The rank of each value in each row of weights (draws, examples), from 1."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    in_order = weights[:, np.argsort(values, kind="stable")]
    upto = np.cumsum(in_order, axis=1)[:, np.cumsum(sizes) - 1]  # (draws, different values)
    below = np.pad(upto[:, :-1], ((0, 0), (1, 0)))
    return np.asarray(((below + upto + 1) / 2)[:, group])


def draw_seeds(scores: Floats, *, seed: int) -> Floats:
    """The mean scores (draws,) over as many seeds, drawn with replacement, as `scores` (draws, seeds) has."""
    num_draws, num_seeds = scores.shape
    chosen = _generator(seed, "seeds").integers(num_seeds, size=(num_draws, num_seeds))
    return np.asarray(np.take_along_axis(scores, chosen, axis=1).mean(axis=1))


def percentile_interval(draws: Floats, confidence: float) -> Interval:
    """The middle `confidence` of the draws."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Interval(low=float(low), high=float(high))


def paired_difference(
    first: Floats, second: Floats, first_draws: Floats, second_draws: Floats, *, confidence: float, seed: int
) -> Difference:
    """How much the first system is above the second, from scores (seeds,) and `draw_examples`' draws (draws, seeds).

    Seed k of one system is paired with seed k of the other; a system of one run is paired with each.
    """
    differences = draw_seeds(first_draws - second_draws, seed=seed)
    interval = percentile_interval(differences, confidence)
    against = min(np.count_nonzero(differences <= 0), np.count_nonzero(differences >= 0))
    return Difference(
        value=float(np.mean(first - second)),
        low=interval.low,
        high=interval.high,
        p_value=min(1.0, 2 * (int(against) + 1) / (len(differences) + 1)),
        spread=float(differences.std()),
        unopposed=int(against) == 0,
    )


def smallest_effect(spread: float, *, confidence: float, power: float = 0.8) -> float:
    """The smallest true difference that a two-sided test would find with this power, given the difference's spread."""
    return float((stats.norm.isf((1 - confidence) / 2) + stats.norm.isf(1 - power)) * spread)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: each p-value raised for how many are looked at, in the order given."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    raised = np.minimum(1.0, np.maximum.accumulate(np.asarray(p_values, dtype=np.float64)[order] * factors))
    back = np.empty(len(p_values))
    back[order] = raised
    return [float(value) for value in back]


def mcnemar(first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_]) -> float:
    """McNemar's exact two-sided p-value that two systems are right equally often, from who was right on each example."""
    only_first = int(np.count_nonzero(first & ~second))
    only_second = int(np.count_nonzero(second & ~first))
    if only_first + only_second == 0:
        return 1.0
    return float(stats.binomtest(only_first, only_first + only_second, 0.5).pvalue)


def _generator(seed: int, purpose: str) -> np.random.Generator:
    """A stream of its own for each purpose, so that the number of seeds does not change which examples are drawn."""
    return np.random.default_rng([seed, *purpose.encode()])
