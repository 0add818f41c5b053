"""Systems side by side on one task: scores with intervals, and paired differences."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from stemma.config import Evaluation
from stemma.statistics import (
    draw_examples,
    draw_seeds,
    holm,
    mcnemar,
    paired_difference,
    percentile_interval,
    smallest_effect,
)
from stemma.tasks.metrics import Floats, Statistics, additive, from_statistics

__all__ = ["Systems", "all_right", "correct"]


class Systems:
    """Runs of some systems on the same test examples, one run a seed, and their scores on shared resamples.

    Examples that are made of two `things` each (examples, 2), which are in others too, are resampled by these.
    """

    def __init__(
        self,
        metric: str,
        runs: Mapping[str, Sequence[Statistics]],
        settings: Evaluation,
        things: npt.NDArray[np.int64] | None = None,
    ) -> None:
        self.metric, self.runs, self.settings, self.things = metric, runs, settings, things
        self._scores = {
            name: np.array([float(from_statistics(metric, run)) for run in of_system])
            for name, of_system in runs.items()
        }
        self._draws = self._draw()

    def rows(self, also: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Each system's mean over seeds with its interval, the scores by seed, and the means of other metrics."""
        return {name: self._row(name, also) for name in self.runs}

    def comparisons(self, variants: Sequence[str]) -> list[dict[str, Any]]:
        """Each variant against each later one and against every other system, then those against each other.

        `holm` is the p-value raised for how many pairs of variants there are, since these are read as a list; whoever
        looks at other pairs together has their `tail` to correct.
        """
        others = [name for name in self.runs if name not in variants]
        of_variants = list(combinations(variants, 2))
        with_others = [(variant, other) for variant in variants for other in others]
        pairs = [*of_variants, *with_others, *combinations(others, 2)]
        compared = [self.compare(first, second) for first, second in pairs]
        rest = [one | {"holm": None} for one in compared[len(of_variants) :]]
        return [*correct(compared[: len(of_variants)]), *rest]

    def compare(self, first: str, second: str) -> dict[str, Any]:
        """How much one system is above another, not yet corrected for others that are looked at."""
        difference = paired_difference(
            self._scores[first],
            self._scores[second],
            self._draws[first],
            self._draws[second],
            confidence=self.settings.confidence,
            seed=self.settings.bootstrap_seed,
        )
        return {
            "first": first,
            "second": second,
            "n": len(next(iter(self.runs[first][0].values()))),
            "difference": difference.value,
            "low": difference.low,
            "high": difference.high,
            "p_value": difference.p_value,
            "tail": difference.tail,
            "smallest_effect": smallest_effect(difference.spread, confidence=self.settings.confidence),
            "excludes_zero": difference.excludes_zero,
            "mcnemar": self._mcnemar(first, second),
        }

    def _draw(self) -> dict[str, Floats]:
        """Scores (draws, seeds) of every system, all on the same resamples of the examples."""
        parts = [additive(self.metric, run) for of_system in self.runs.values() for run in of_system]
        columns = np.stack([part.columns for part in parts])
        settings = self.settings
        draws = draw_examples(
            columns,
            parts[0].finish,
            draws=settings.bootstrap_draws,
            seed=settings.bootstrap_seed,
            things=self.things,
        )
        ends = np.cumsum([len(of_system) for of_system in self.runs.values()])
        return dict(zip(self.runs, np.split(draws, ends[:-1], axis=1), strict=True))

    def _row(self, name: str, also: Sequence[str]) -> dict[str, Any]:
        drawn = draw_seeds(self._draws[name], seed=self.settings.bootstrap_seed)
        interval = percentile_interval(drawn, self.settings.confidence)
        return {
            "mean": float(self._scores[name].mean()),
            "low": interval.low,
            "high": interval.high,
            "seeds": self._scores[name].tolist(),
            "also": {
                metric: float(np.mean([from_statistics(metric, run) for run in self.runs[name]])) for metric in also
            },
        }

    def _mcnemar(self, first: str, second: str) -> list[float]:
        """McNemar's p-value for each seed; none for what is a mean of guesses and so neither right nor wrong.

        Nor of examples that share what they are made of: it takes each for news.
        """
        if self.things is not None:
            return []
        sides = [[all_right(run) for run in self.runs[name]] for name in (first, second)]
        if any(right is None for side in sides for right in side):
            return []
        longest = max(len(side) for side in sides)
        paired = zip(*(side * longest if len(side) == 1 else side for side in sides), strict=False)
        return [mcnemar(one, other) for one, other in paired if one is not None and other is not None]


def correct(compared: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Comparisons with `holm`: their p-values raised for how many there are."""
    raised = holm([one["tail"] for one in compared])
    return [{**one, "holm": value} for one, value in zip(compared, raised, strict=True)]


def all_right(run: Statistics) -> npt.NDArray[np.bool_] | None:
    """Which examples were answered just right: the label, the exact span, every entity and no other; a score never is."""
    if "given_score" in run:
        return None
    exact = run.get("accuracy", run.get("em"))
    if exact is None:
        exact = (run["true"] == run["predicted"]) & (run["true"] == run["gold"])
        return None if np.any(run["predicted"] % 1) else exact
    return None if np.any(exact % 1) else exact.astype(bool)
