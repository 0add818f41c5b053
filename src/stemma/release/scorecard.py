"""What is known of a model's quality: the evidence that the gate judges by."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stemma.errors import InputError

__all__ = ["Examples", "Floats", "Scorecard", "median_seed"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Examples:
    """Each test example's part of the sums that a score is made of, so that two models can be compared on the same ones."""

    ids: tuple[str, ...]
    columns: Floats  # (seeds, examples, columns)
    finish: Callable[[Floats], Floats] | None  # the score of sums (..., columns); None where only the sums were kept


@dataclass(frozen=True, kw_only=True)
class Scorecard:
    """A model's scores on a task's test split: all seeds, not only the one that would be served."""

    model: str
    task: str
    metric: str
    seeds: Mapping[int, float]
    mean: float
    low: float  # of the interval around the mean
    high: float
    confidence: float
    majority: float  # the score of always giving the commonest answer
    test_digest: str  # of the test rows that all of this was measured on
    bootstrap_draws: int
    bootstrap_seed: int
    examples: Examples | None = None

    @property
    def is_complete(self) -> bool:
        """Whether every figure is a number."""
        return bool(self.seeds) and all(map(math.isfinite, [*self.seeds.values(), self.mean, self.low, self.high]))

    def as_dict(self) -> dict[str, Any]:
        """Everything but the examples, as JSON values."""
        values = {name: value for name, value in vars(self).items() if name not in ("examples", "seeds")}
        return {**values, "seeds": {str(seed): score for seed, score in self.seeds.items()}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], examples: Examples | None, where: str) -> "Scorecard":
        """What `as_dict` gave, with its examples; `where` names its file in errors."""
        try:
            seeds = {int(seed): float(score) for seed, score in values["seeds"].items()}
            return cls(**{**values, "seeds": seeds}, examples=examples)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{where}: not a scorecard: {error!r}; release the model again") from None


def median_seed(scores: Mapping[int, float]) -> int:
    """The seed with the median score, of two in the middle the lower: what a typical run gives, not the luckiest."""
    if not scores:
        raise InputError("no seeds to choose from")
    ranked: Sequence[int] = sorted(scores, key=lambda seed: (scores[seed], seed))
    return ranked[(len(ranked) - 1) // 2]
