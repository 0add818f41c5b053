"""May this model replace that one? Simple and honest rules, each with its figures, whether passed or not.

- evidence: every score is a number.
- floor: the mean reaches the task's floor.
- majority: the whole interval lies above the majority baseline.
- champion: not worse than the champion beyond the interval. On the same test examples the interval is that of the paired
  difference; otherwise the two intervals must not lie apart. A regression of `max_regression` is forgiven.

What it can't see: a model that is a little worse within the noise gets through, and again the next time. A floor is the
answer to that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stemma.config import Release
from stemma.release.scorecard import Examples, Scorecard
from stemma.statistics import Interval, draw_examples, draw_seeds, percentile_interval

__all__ = ["Comparison", "Decision", "Reason", "compare", "decide"]


@dataclass(frozen=True)
class Reason:
    """One rule and what came of it."""

    rule: str
    passed: bool
    text: str

    def __str__(self) -> str:
        return f"{'passed' if self.passed else 'FAILED'}  {self.rule}: {self.text}"


@dataclass(frozen=True)
class Decision:
    """Whether a challenger becomes the champion, and why or why not."""

    promote: bool
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Comparison:
    """How much a challenger is above a champion, and how sure that is."""

    value: float
    interval: Interval


def decide(
    challenger: Scorecard, champion: Scorecard | None, rules: Release, vetoes: Sequence[Reason] = ()
) -> Decision:
    """Hold a challenger against the rules; every rule is asked, also when one has failed already."""
    reasons = (
        *vetoes,
        _evidence(challenger),
        _floor(challenger, rules),
        _majority(challenger, rules),
        _against(challenger, champion, rules),
    )
    return Decision(all(reason.passed for reason in reasons), reasons)


def compare(challenger: Scorecard, champion: Scorecard) -> Comparison | None:
    """How much the challenger is above the champion on the same test examples, or None when those are not the same.

    The examples of a draw are shared; the seeds are drawn for each by itself, for two trainings do not share their luck.
    """
    ours, theirs = challenger.examples, champion.examples
    if ours is None or theirs is None or ours.finish is None or not _same_test(challenger, champion, ours, theirs):
        return None
    num_ours, seed = len(ours.columns), challenger.bootstrap_seed
    both = np.concatenate([ours.columns, theirs.columns])  # (seeds of both, examples, columns)
    scores = ours.finish(both.sum(axis=1))
    drawn = draw_examples(both, ours.finish, draws=challenger.bootstrap_draws, seed=seed)
    differences = draw_seeds(drawn[:, :num_ours], seed=seed) - draw_seeds(drawn[:, num_ours:], seed=seed + 1)
    value = float(scores[:num_ours].mean() - scores[num_ours:].mean())
    return Comparison(value, percentile_interval(differences, challenger.confidence))


def _same_test(challenger: Scorecard, champion: Scorecard, ours: Examples, theirs: Examples) -> bool:
    return (
        (challenger.task, challenger.metric, challenger.test_digest)
        == (champion.task, champion.metric, champion.test_digest)
        and ours.ids == theirs.ids
        and ours.columns.shape[1:] == theirs.columns.shape[1:]
    )


def _evidence(challenger: Scorecard) -> Reason:
    text = f"{challenger.metric} of {len(challenger.seeds)} seeds: " + ", ".join(
        f"{score:.4f}" for score in challenger.seeds.values()
    )
    return Reason("evidence", challenger.is_complete, text)


def _floor(challenger: Scorecard, rules: Release) -> Reason:
    floor = rules.floors.get(challenger.task)
    if floor is None:
        return Reason("floor", True, f"none is set for {challenger.task}")
    passed = challenger.mean >= floor
    return Reason("floor", passed, f"mean {challenger.mean:.4f} {'≥' if passed else '<'} {floor:.4f}")


def _majority(challenger: Scorecard, rules: Release) -> Reason:
    if not rules.beat_majority:
        return Reason("majority", True, "not asked for")
    passed = challenger.low > challenger.majority
    sign = ">" if passed else "≤"
    return Reason(
        "majority", passed, f"low end {challenger.low:.4f} {sign} majority baseline {challenger.majority:.4f}"
    )


def _against(challenger: Scorecard, champion: Scorecard | None, rules: Release) -> Reason:
    if champion is None:
        return Reason("champion", True, "there is none yet")
    if champion.metric != challenger.metric:
        text = (
            f"scored by {champion.metric}, the challenger by {challenger.metric}: not comparable, not held against it"
        )
        return Reason("champion", True, text)
    comparison = compare(challenger, champion)
    if comparison is not None:
        interval = comparison.interval
        passed = interval.high >= -rules.max_regression
        shown = f"{comparison.value:+.4f} [{interval.low:+.4f}, {interval.high:+.4f}]"
        verdict = "not worse" if passed else "worse"
        return Reason("champion", passed, f"{shown} on the same test examples: {verdict} beyond the interval")
    passed = challenger.high >= champion.low - rules.max_regression
    verdict = "not below" if passed else "below"
    text = (
        f"{challenger.mean:.4f} [{challenger.low:.4f}, {challenger.high:.4f}] against"
        f" {champion.mean:.4f} [{champion.low:.4f}, {champion.high:.4f}] on other test data: {verdict}"
    )
    return Reason("champion", passed, text)
