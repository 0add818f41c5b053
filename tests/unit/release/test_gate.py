"""The gate's truth table: every rule by itself, all reasons always given, paired differences where they can be had."""

import math
from typing import Any

import numpy as np
import pytest

from stemma.config import Release
from stemma.release.gate import Reason, compare, decide
from stemma.release.scorecard import Examples, Floats, Scorecard

RULES = Release(floors={"cloze": 0.5}, beat_majority=True, max_regression=0.0)


def card(mean: float = 0.7, *, half: float = 0.05, **changes: Any) -> Scorecard:
    values: dict[str, Any] = {
        "model": "bert-cloze",
        "task": "cloze",
        "metric": "f1",
        "seeds": {1: mean - 0.01, 2: mean, 3: mean + 0.01},
        "mean": mean,
        "low": mean - half,
        "high": mean + half,
        "confidence": 0.95,
        "majority": 0.4,
        "test_digest": "t",
        "bootstrap_draws": 400,
        "bootstrap_seed": 1,
    }
    return Scorecard(**{**values, **changes})


def rules(**changes: Any) -> Release:
    return Release.model_validate({**RULES.model_dump(), **changes})


@pytest.mark.parametrize(
    ("challenger", "champion", "settings", "failed"),
    [
        (card(), None, RULES, set()),
        (card(), card(), RULES, set()),
        (card(0.5, half=0.01), None, RULES, set()),  # just at the floor
        (card(0.49, half=0.01), None, RULES, {"floor"}),
        (card(0.49, half=0.01), None, rules(floors={}), set()),
        (card(0.49, half=0.01), None, rules(floors={"other": 0.9}), set()),
        (card(half=0.3), None, RULES, {"majority"}),  # 0.4 is not above 0.4
        (card(half=0.3), None, rules(beat_majority=False), set()),
        (card(0.7), card(0.79), RULES, set()),  # the intervals overlap
        (card(0.7), card(0.81), RULES, {"champion"}),
        (card(0.7), card(0.81), rules(max_regression=0.02), set()),
        (card(0.9), card(0.5), RULES, set()),
        (card(0.2), card(0.7), RULES, {"floor", "majority", "champion"}),
        (card(0.2), card(0.7, metric="em"), RULES, {"floor", "majority"}),  # another measure, said so
        (card(math.nan), card(0.7), RULES, {"evidence", "floor", "majority", "champion"}),
        (card(seeds={}), None, RULES, {"evidence"}),
        (card(seeds={1: 0.7, 2: math.inf}), None, RULES, {"evidence"}),
    ],
)
def test_truth_table(challenger: Scorecard, champion: Scorecard | None, settings: Release, failed: set[str]) -> None:
    decision = decide(challenger, champion, settings)
    assert {reason.rule for reason in decision.reasons if not reason.passed} == failed
    assert decision.promote is (not failed)
    assert [reason.rule for reason in decision.reasons] == ["evidence", "floor", "majority", "champion"]
    assert all(reason.text for reason in decision.reasons)


def test_a_veto_refuses_the_best_of_models() -> None:
    decision = decide(card(0.99), None, RULES, [Reason("history", False, "was rolled back")])
    assert not decision.promote
    assert str(decision.reasons[0]) == "FAILED  history: was rolled back"


def mean_of(sums: Floats) -> Floats:
    return sums[..., 0] / sums[..., 1]


def examples(right: Floats, **changes: Any) -> Examples:
    """Of `right` (seeds, examples): which example each seed answered."""
    columns = np.stack([right, np.ones_like(right)], axis=-1)
    values = {"ids": tuple(map(str, range(right.shape[1]))), "columns": columns, "finish": mean_of}
    return Examples(**{**values, **changes})


@pytest.fixture
def right() -> Floats:
    """About 7 of 10 right, as three seeds that agree mostly."""
    rng = np.random.default_rng(1)
    ease = rng.random(400)
    return np.stack([(ease + rng.normal(0, 0.02, 400) < 0.7).astype(float) for _ in range(3)])


def without(right: Floats, count: int) -> Floats:
    """The same, with `count` of the right answers of every seed now wrong."""
    worse = right.copy()
    worse[:, np.flatnonzero(right.all(axis=0))[:count]] = 0.0
    return worse


def test_a_small_loss_on_the_same_examples_is_seen_where_intervals_overlap(right: Floats) -> None:
    champion = card(0.7, examples=examples(right))
    challenger = card(0.66, examples=examples(without(right, 16)))
    assert not decide(challenger, champion, RULES).promote
    (reason,) = (reason for reason in decide(challenger, champion, RULES).reasons if reason.rule == "champion")
    assert reason.text.startswith("-0.0400 [-0.0")
    assert "same test examples" in reason.text
    assert decide(challenger, champion, rules(max_regression=0.04)).promote
    on_other_data = card(0.66, examples=examples(without(right, 16)), test_digest="other")
    assert decide(on_other_data, champion, RULES).promote
    assert decide(champion, challenger, RULES).promote


def test_noise_is_no_regression(right: Floats) -> None:
    champion, challenger = card(0.7, examples=examples(right)), card(0.7, examples=examples(without(right, 1)))
    comparison = compare(challenger, champion)
    assert comparison is not None
    assert comparison.value == pytest.approx(-1 / 400)
    assert comparison.interval.low < 0 < comparison.interval.high
    assert decide(challenger, champion, RULES).promote


def test_numbers_of_seeds_may_differ(right: Floats) -> None:
    comparison = compare(card(examples=examples(right)), card(examples=examples(right[:1])))
    assert comparison is not None
    assert comparison.value == pytest.approx(right.mean() - right[0].mean())


@pytest.mark.parametrize(
    "changes", [{"ids": tuple("x" * 400)}, {"columns": np.ones((3, 400, 3))}], ids=["other-ids", "other-columns"]
)
def test_other_examples_are_not_paired(right: Floats, changes: dict[str, Any]) -> None:
    assert compare(card(examples=examples(right)), card(examples=examples(right, **changes))) is None


def test_cards_without_examples_are_not_paired(right: Floats) -> None:
    assert compare(card(examples=examples(right)), card()) is None
    assert compare(card(), card(examples=examples(right))) is None
    assert compare(card(examples=examples(right, finish=None)), card(examples=examples(right))) is None
