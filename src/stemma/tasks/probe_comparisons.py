"""Every two variants on a probe, paired as on tasks: over what both were asked, from stored answers.

What is paired are the words of similarity, an analogy's two pairs of words (see `probe_figures`), and of minimal pairs the
paradigms, each with its accuracy, since the pairs of a paradigm come from one template.

Variants with the same vocabulary cover the same questions, so that all pairs of variants with the same questions in common share
one set of draws.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.stats import rankdata

from stemma.config import Evaluation
from stemma.tasks.metrics import Floats, Statistics
from stemma.tasks.minimal_pairs import paradigm_accuracies
from stemma.tasks.probe_figures import half_of, renumber, word_pairs
from stemma.tasks.probes import ProbeKind
from stemma.tasks.systems import Systems, correct

__all__ = ["compare_probe"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Comparisons = list[dict[str, Any]]


def compare_probe(
    kind: ProbeKind, columns: Mapping[str, Sequence[Any]], answers: Mapping[str, pa.Table], settings: Evaluation
) -> dict[str, Any]:
    """Every two variants on a probe, and on the halves of Google's analogies where both are asked."""
    items = _items(kind, columns, answers)
    halves = np.array([half_of(section) for section in columns.get("section", [])])
    names = np.unique(halves).tolist()
    return {
        "comparisons": _compare(items, settings),
        "halves": {half: _compare(items.part(halves == half), settings) for half in names} if len(names) > 1 else {},
    }


@dataclass(frozen=True, kw_only=True)
class _Items:
    """What variants are paired on."""

    metric: str
    values: Mapping[str, Floats]  # by variant (items,): a cosine, or how right it was; NaN where it was not asked
    gold: Floats | None = None  # (items,): what a cosine is held against
    things: Ints | None = None  # (items, 2): what items are made of

    def part(self, some: Bools) -> "_Items":
        """Some of them."""
        return _Items(
            metric=self.metric,
            values={name: values[some] for name, values in self.values.items()},
            gold=None if self.gold is None else self.gold[some],
            things=None if self.things is None else renumber(self.things[some]),
        )

    def common(self, first: str, second: str) -> Bools:
        """What both were asked."""
        return np.asarray(~(np.isnan(self.values[first]) | np.isnan(self.values[second])))

    def statistics(self, name: str) -> Statistics:
        """What a variant's score is made of, as `per_example` has it of a task."""
        values = self.values[name]
        if self.gold is None:
            return {"accuracy": values}
        return {"given_score": values, "gold_rank": rankdata(self.gold), "given_rank": rankdata(values)}

    def has_score(self, name: str) -> bool:
        """Whether there is one: not of a single item, nor a correlation with what is the same throughout."""
        values = self.values[name]
        if len(values) < 2:
            return False
        return self.gold is None or bool(np.ptp(self.gold) > 0 and np.ptp(values) > 0)


def _items(kind: ProbeKind, columns: Mapping[str, Sequence[Any]], answers: Mapping[str, pa.Table]) -> _Items:
    if kind == "minimal-pairs":
        values = {
            name: np.array(list(paradigm_accuracies(columns, table).values()), np.float64)
            for name, table in answers.items()
        }
        return _Items(metric="accuracy", values=values)
    if kind == "similarity":
        values = {name: table["cosine"].to_numpy() for name, table in answers.items()}
        return _Items(metric="spearman", values=values, gold=np.array(columns["score"], np.float64))
    values = {name: table["right"].cast(pa.float64()).to_numpy() for name, table in answers.items()}
    return _Items(metric="accuracy", values=values, things=word_pairs(columns))


def _compare(items: _Items, settings: Evaluation) -> Comparisons:
    """Every two variants that have both a score on what they have in common, corrected for how many pairs there are."""
    pairs = list(combinations(items.values, 2))
    groups: dict[bytes, list[tuple[str, str]]] = {}
    for pair in pairs:
        groups.setdefault(items.common(*pair).tobytes(), []).append(pair)
    compared = {
        (one["first"], one["second"]): one
        for covered, group in groups.items()
        for one in _compare_group(items.part(np.frombuffer(covered, bool)), group, settings)
    }
    return correct([compared[pair] for pair in pairs if pair in compared])


def _compare_group(items: _Items, pairs: Sequence[tuple[str, str]], settings: Evaluation) -> Comparisons:
    """Pairs of variants that have these items in common."""
    names = [name for name in items.values if any(name in pair for pair in pairs) and items.has_score(name)]
    runs = {name: [items.statistics(name)] for name in names}
    if len(runs) < 2:
        return []
    systems = Systems(items.metric, runs, settings, items.things)
    return [systems.compare(*pair) for pair in pairs if runs.keys() >= set(pair)]
