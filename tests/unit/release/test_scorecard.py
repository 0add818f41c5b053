"""A scorecard survives its way through JSON, and the seed that is served is the typical one."""

import json

import pytest

from stemma.errors import InputError
from stemma.release.scorecard import Scorecard, median_seed


@pytest.mark.parametrize(
    ("scores", "seed"),
    [
        ({1: 0.9, 2: 0.1, 3: 0.5}, 3),
        ({1: 0.5, 2: 0.5, 3: 0.5}, 2),
        ({1: 0.9, 2: 0.1}, 2),
        ({7: 0.3}, 7),
        ({1: 0.4, 2: 0.3, 3: 0.2, 4: 0.1}, 3),
    ],
)
def test_the_median_seed(scores: dict[int, float], seed: int) -> None:
    assert median_seed(scores) == seed


def test_no_seeds_no_median() -> None:
    with pytest.raises(InputError):
        median_seed({})


def test_a_scorecard_through_json() -> None:
    card = Scorecard(
        model="m", task="t", metric="f1", seeds={1: 0.25, 10: 0.5}, mean=0.375, low=0.2, high=0.6, confidence=0.95,
        majority=0.1, test_digest="d", bootstrap_draws=10, bootstrap_seed=1,
    )  # fmt: skip
    assert Scorecard.from_dict(json.loads(json.dumps(card.as_dict())), None, "x") == card


@pytest.mark.parametrize("values", [{}, {"seeds": 3}, {"seeds": {"a": 1}}, {"seeds": {"1": 0.5}, "unknown": 1}])
def test_what_is_no_scorecard_is_named(values: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"evidence/scorecard\.json: not a scorecard"):
        Scorecard.from_dict(values, None, "evidence/scorecard.json")
