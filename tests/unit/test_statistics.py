"""Intervals and paired tests, against brute force and against simulated truth."""

from collections import Counter
from itertools import product
from math import comb

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from stemma.statistics import (
    Difference,
    draw_examples,
    draw_seeds,
    holm,
    mcnemar,
    paired_difference,
    paired_resamples,
    percentile_interval,
    resamples,
    smallest_effect,
    spearman,
)

Floats = npt.NDArray[np.float64]


def mean(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


def columns(values: Floats) -> Floats:
    """The sums of a mean over examples, of values (runs, examples)."""
    return np.stack([values, np.ones_like(values)], axis=-1)


def hierarchical(values: Floats, *, draws: int = 400, seed: int = 1) -> Floats:
    return draw_seeds(draw_examples(columns(values), mean, draws=draws, seed=seed), seed=seed)


@pytest.mark.parametrize("values", [[[0, 1, 5], [2, 11, 23]], [[0, 1], [5, 13]]], ids=["2x3", "2x2"])
def test_draws_follow_the_enumerated_distribution(values):
    """Two seeds and two or three examples: all equally likely draws, worked out one by one."""
    values = np.array(values, dtype=float)
    num_seeds, num_examples = values.shape
    exact = Counter(
        round(float(np.mean([np.mean([values[s, e] for e in examples]) for s in seeds])), 9)
        for seeds in product(range(num_seeds), repeat=num_seeds)
        for examples in product(range(num_examples), repeat=num_examples)
    )
    num_draws = 40_000
    drawn = Counter(np.round(hierarchical(values, draws=num_draws), 9).tolist())
    assert set(drawn) == set(exact)
    for value, count in exact.items():
        share = count / exact.total()
        bound = 5 * np.sqrt(share * (1 - share) / num_draws)
        assert abs(drawn[value] / num_draws - share) < bound


def test_examples_are_shared_by_the_runs_of_a_draw():
    values = np.random.default_rng(0).random((1, 50)).repeat(3, axis=0)
    scores = draw_examples(columns(values), mean, draws=20, seed=1)
    assert np.ptp(scores, axis=1).max() < 1e-12  # equal runs stay equal in each draw
    assert np.ptp(scores[:, 0]) > 0.01


def test_the_result_does_not_depend_on_the_block():
    values = (
        np.random.default_rng(0).integers(9, size=(3, 37)).astype(float)
    )  # whole numbers: sums are exact in any order
    whole = draw_examples(columns(values), mean, draws=101, seed=3)
    for block in (1, 37, 100, 1000):
        assert np.array_equal(whole, draw_examples(columns(values), mean, draws=101, seed=3, block=block))


def test_an_example_of_two_things_is_there_as_often_as_both_are():
    things = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 0], [1, 1], [2, 2], [3, 3]])
    drawn = np.concatenate(list(resamples(4, draws=200, seed=3)))
    found = np.concatenate(list(paired_resamples(things, draws=200, seed=3)))
    assert np.array_equal(found, np.stack([drawn[:, one] * drawn[:, other] for one, other in things], axis=1))
    for block in (1, 7, 1000):
        assert np.array_equal(found, np.concatenate(list(paired_resamples(things, draws=200, seed=3, block=block))))


def test_a_resample_without_an_example_is_the_whole_set():
    (found,) = paired_resamples(np.array([[0, 1]]), draws=100, seed=1)
    assert found.min() == 1, "half of the draws are twice the same thing, which no example is made of"


@pytest.mark.parametrize(("shared", "held"), [(1.0, (0.9, 0.99)), (0.0, (0.95, 1.0))])
def test_intervals_over_shared_things_hold_the_truth(shared, held):
    """A thing's own part in all of its examples; where it has none, they are wider than need be."""
    rng, hits = np.random.default_rng(6), 0
    things = np.array([(one, other) for one in range(20) for other in range(20) if one != other])
    for _ in range(200):
        easy = shared * rng.normal(size=20)
        values = easy[things].sum(axis=1) + rng.normal(size=len(things))  # the true mean is 0
        draws = draw_examples(columns(values[None]), mean, draws=200, seed=1, things=things)
        interval = percentile_interval(draws[:, 0], 0.95)
        hits += interval.low <= 0 <= interval.high
    assert held[0] <= hits / 200 <= held[1]


def test_the_same_seed_pairs_systems_whatever_their_number_of_runs():
    values = np.random.default_rng(0).random((3, 40))
    three = draw_examples(columns(values), mean, draws=50, seed=9)
    one = draw_examples(columns(values[:1]), mean, draws=50, seed=9)
    assert three[:, :1] == pytest.approx(one)
    assert not np.allclose(three, draw_examples(columns(values), mean, draws=50, seed=10))


def test_percentiles():
    interval = percentile_interval(np.arange(101.0), 0.9)
    assert (interval.low, interval.high) == pytest.approx((5, 95))


def test_the_spread_is_that_of_theory():
    """The variance of a mean: that of the examples' means over n, plus (k - 1) / k of that of the seeds' over k."""
    rng = np.random.default_rng(0)
    effects, examples = rng.normal(size=4), rng.normal(size=100)
    drawn = hierarchical(effects[:, None] + examples[None, :], draws=20_000)
    expected = examples.var() / 100 + effects.var() / 4
    assert drawn.var() == pytest.approx(expected, rel=0.05)


def simulate(rng: np.random.Generator, *, seeds: int, spread: float, examples: Floats, truth: float) -> Floats:
    """Runs (seeds, examples) of a system: seeds differ by `spread`, examples by their difficulty, and there is noise."""
    noise = 0.2 * rng.standard_normal((seeds, len(examples)))
    return np.asarray(truth + spread * rng.standard_normal((seeds, 1)) + examples + noise)


def test_intervals_cover_the_truth():
    """Of 95 % intervals on simulated systems about 95 % hold the true value: 300 trials, so +-0.04 is three deviations."""
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(300):
        examples = 0.4 * rng.standard_normal(150)
        drawn = hierarchical(simulate(rng, seeds=5, spread=0.03, examples=examples, truth=0.5))
        interval = percentile_interval(drawn, 0.95)
        hits += interval.low <= 0.5 <= interval.high
    assert 0.91 <= hits / 300 <= 0.99


def compare(first: Floats, second: Floats, draws: int = 400) -> Difference:
    sides = [draw_examples(columns(values), mean, draws=draws, seed=1) for values in (first, second)]
    return paired_difference(first.mean(axis=1), second.mean(axis=1), sides[0], sides[1], confidence=0.95, seed=1)


def test_paired_differences_cover_the_truth_and_are_narrow():
    """The examples' difficulty, which both systems share, drops out of the difference."""
    rng = np.random.default_rng(6)
    hits = false_alarms = 0
    widths = []
    for trial in range(300):
        truth = 0.0 if trial % 2 else 0.05
        examples = 0.4 * rng.standard_normal(150)
        first, second = (
            simulate(rng, seeds=5, spread=0.02, examples=examples, truth=value) for value in (0.5 + truth, 0.5)
        )
        difference = compare(first, second)
        hits += difference.low <= truth <= difference.high
        false_alarms += truth == 0 and difference.p_value < 0.05
        widths.append(difference.high - difference.low)
    alone = percentile_interval(hierarchical(first), 0.95)
    assert 0.91 <= hits / 300 <= 1
    assert false_alarms / 150 <= 0.1
    assert np.mean(widths) < 0.75 * (alone.high - alone.low)


def test_a_clear_difference_has_a_small_p_value_and_excludes_zero():
    rng = np.random.default_rng(7)
    examples = rng.standard_normal(200)
    first, second = (simulate(rng, seeds=3, spread=0.01, examples=examples, truth=value) for value in (0.6, 0.5))
    difference = compare(first, second, draws=2000)
    assert difference.excludes_zero
    assert difference.value == pytest.approx(first.mean() - second.mean())
    assert difference.p_value == pytest.approx(2 / 2001)
    back = compare(second, first, draws=2000)
    assert (back.value, back.low, back.high) == pytest.approx((-difference.value, -difference.high, -difference.low))
    assert back.p_value == difference.p_value


def test_a_tail_is_smaller_than_draws_can_count_only_where_none_goes_against():
    values = {"value": 0.1, "low": 0.05, "high": 0.15, "p_value": 2 / 2001, "spread": 0.01}
    clear = Difference(**values, unopposed=True)
    assert clear.tail == pytest.approx(2 * stats.norm.sf(10))
    assert Difference(**values, unopposed=False).tail == 2 / 2001
    assert Difference(**(values | {"spread": 0.0}), unopposed=True).tail == 2 / 2001
    assert Difference(**(values | {"value": 0.001}), unopposed=True).tail == 2 / 2001  # never raised


def test_an_effect_of_the_smallest_size_is_found_eight_times_in_ten():
    """Two systems of one run whose answers differ by Gaussian noise of a known spread, compared a thousand times."""
    rng = np.random.default_rng(3)
    effect = smallest_effect(0.02, confidence=0.95)
    assert effect == pytest.approx((1.959964 + 0.841621) * 0.02, rel=1e-5)
    found = np.abs(rng.normal(effect, 0.02, size=20_000)) > 1.959964 * 0.02
    assert found.mean() == pytest.approx(0.8, abs=0.01)


def test_the_spread_of_a_difference_is_the_standard_error_of_paired_examples():
    rng = np.random.default_rng(4)
    first, second = rng.random((1, 400)), rng.random((1, 400))
    expected = (first - second).std() / np.sqrt(400)
    assert compare(first, second, draws=4000).spread == pytest.approx(expected, rel=0.05)


def test_holm_on_a_case_worked_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_keeps_false_alarms_of_a_whole_family_rare():
    rng = np.random.default_rng(5)
    families = rng.random((4000, 10))
    alarms = np.mean([min(holm(list(family))) < 0.05 for family in families])
    assert alarms == pytest.approx(0.05, abs=0.012)
    assert np.mean(families.min(axis=1) < 0.05) > 0.35  # without it, two tables in five would have one


def test_equal_systems_do_not_differ():
    values = np.random.default_rng(8).random((3, 30))
    difference = compare(values, values)
    assert (difference.value, difference.low, difference.high, difference.p_value) == (0, 0, 0, 1)
    assert not difference.excludes_zero


def test_a_system_of_one_run_is_paired_with_every_seed():
    rng = np.random.default_rng(9)
    first, second = rng.random((3, 60)), rng.random((1, 60))
    once, thrice = compare(first, second), compare(first, second.repeat(3, axis=0))
    assert (once.value, once.low, once.high, once.p_value) == pytest.approx(
        (thrice.value, thrice.low, thrice.high, thrice.p_value)
    )


@pytest.mark.parametrize(("only_first", "only_second"), [(0, 0), (1, 0), (8, 2), (2, 8), (5, 5), (30, 12)])
def test_mcnemar_is_the_binomial_test_of_the_discordant_pairs(only_first: int, only_second: int):
    first = np.array([True] * only_first + [False] * only_second + [True] * 7 + [False] * 4)
    second = np.array([False] * only_first + [True] * only_second + [True] * 7 + [False] * 4)
    total, few = only_first + only_second, min(only_first, only_second)
    exact = min(1.0, 2 * sum(comb(total, k) for k in range(few + 1)) / 2**total)
    assert mcnemar(first, second) == pytest.approx(exact)


@pytest.mark.parametrize("values", [3, 8, 1000])
def test_spearman_is_that_of_scipy_ties_and_resamples_and_all(values: int):
    rng = np.random.default_rng(values)
    first, second = rng.integers(values, size=(2, 90)) / 7
    weights = np.concatenate([np.ones((1, 90)), *resamples(90, draws=20, seed=1, block=200)])
    assert weights.shape == (21, 90)
    for row, found in zip(weights.astype(int), spearman(first, second, weights), strict=True):
        assert found == pytest.approx(stats.spearmanr(np.repeat(first, row), np.repeat(second, row)).statistic)


def test_spearman_of_one_value_alone_is_undefined():
    assert np.isnan(spearman(np.ones(4), np.arange(4.0), np.ones((1, 4)))).all()


def test_a_spearman_interval_covers_the_truth():
    """Of normal pairs with correlation 0.5, the rank correlation is 6 / pi x asin(0.25) = 0.4826 (Pearson, 1907)."""
    rng = np.random.default_rng(5)
    truth, held = 6 / np.pi * np.arcsin(0.25), 0
    for seed in range(200):
        first = rng.normal(size=120)
        second = 0.5 * first + np.sqrt(0.75) * rng.normal(size=120)
        draws = np.concatenate([spearman(first, second, w) for w in resamples(120, draws=300, seed=seed)])
        interval = percentile_interval(draws, 0.95)
        held += interval.low <= truth <= interval.high
    assert 180 <= held <= 199
