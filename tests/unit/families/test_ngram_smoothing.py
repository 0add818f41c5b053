"""Discounts and weights where they are easy to see."""

import numpy as np
import pytest

from stemma.families.ngram.smoothing import (
    FALLBACK_DISCOUNTS,
    AddK,
    Contexts,
    Interpolated,
    KneserNey,
    MaximumLikelihood,
    count_counts,
    kneser_ney_discounts,
)

# Two contexts: after the first were seen words 3, 2, 1 and 1 times, after the second one word 4 times.
COUNTS = np.array([3, 2, 1, 1, 4], np.uint64)
OF = np.array([0, 0, 0, 0, 1])
CONTEXTS = Contexts(
    totals=np.array([7, 4], np.uint64),
    ones=np.array([2, 0], np.uint64),
    twos=np.array([1, 0], np.uint64),
    more=np.array([1, 1], np.uint64),
    at_begin=np.array([False, True]),
)


def test_maximum_likelihood_leaves_nothing():
    shares, backoffs = MaximumLikelihood().weigh(2, COUNTS, CONTEXTS, OF)
    assert shares.tolist() == [3 / 7, 2 / 7, 1 / 7, 1 / 7, 1.0]
    assert backoffs.tolist() == [0, 0]


def test_add_k_at_the_longest_order():
    shares, backoffs = AddK(0.5, 10, longest=2).weigh(2, COUNTS, CONTEXTS, OF)
    assert shares.tolist() == pytest.approx([3 / 12, 2 / 12, 1 / 12, 1 / 12, 4 / 9])
    assert backoffs.tolist() == pytest.approx([5 / 12, 5 / 9])


def test_add_k_uses_a_shorter_context_only_after_begin():
    shares, backoffs = AddK(0.5, 10, longest=3).weigh(2, COUNTS, CONTEXTS, OF)
    assert shares.tolist() == pytest.approx([0, 0, 0, 0, 4 / 9])
    assert backoffs.tolist() == pytest.approx([1, 5 / 9])


def test_interpolation_is_relative_to_the_orders_below():
    weights = Interpolated((1.0, 3.0, 4.0))
    assert weights.weigh(1, COUNTS, CONTEXTS, OF)[1].tolist() == [0, 0]
    shares, backoffs = weights.weigh(2, COUNTS, CONTEXTS, OF)
    assert shares.tolist() == pytest.approx([0.75 * 3 / 7, 0.75 * 2 / 7, 0.75 / 7, 0.75 / 7, 0.75])
    assert backoffs.tolist() == [0.25, 0.25]
    assert weights.weigh(3, COUNTS, CONTEXTS, OF)[1].tolist() == [0.5, 0.5]


def test_an_order_of_no_weight_is_passed_by():
    shares, backoffs = Interpolated((0.0, 0.0, 1.0)).weigh(2, COUNTS, CONTEXTS, OF)
    assert shares.tolist() == [0] * 5
    assert backoffs.tolist() == [1, 1]


def test_kneser_ney_gives_back_what_it_takes():
    shares, backoffs = KneserNey(((0.0, 0.0, 0.0), (0.5, 1.0, 1.5))).weigh(2, COUNTS, CONTEXTS, OF)
    assert shares.tolist() == pytest.approx([1.5 / 7, 1 / 7, 0.5 / 7, 0.5 / 7, 2.5 / 4])
    assert backoffs.tolist() == pytest.approx([3.5 / 7, 1.5 / 4])


def test_discounts_by_chen_and_goodman():
    y = 100 / (100 + 2 * 30)
    expected = (1 - 2 * y * 30 / 100, 2 - 3 * y * 15 / 30, 3 - 4 * y * 9 / 15)
    assert kneser_ney_discounts([100, 30, 15, 9]) == pytest.approx(expected)


@pytest.mark.parametrize(
    "counts_of_counts",
    [
        [0, 0, 0, 0],
        [0, 3, 2, 1],  # no n-gram was seen once
        [3, 0, 2, 1],
        [3, 2, 0, 1],
        [10, 1, 90, 5],  # 2 - 3·Y·90 is below 0
        [10, 9, 1, 90],
    ],
)
def test_discounts_that_can_not_be_fall_back(counts_of_counts):
    assert kneser_ney_discounts(counts_of_counts) == FALLBACK_DISCOUNTS


def test_counts_of_counts():
    assert count_counts(np.array([0, 1, 1, 2, 4, 4, 4, 5, 900], np.uint64)).tolist() == [2, 1, 0, 3]
