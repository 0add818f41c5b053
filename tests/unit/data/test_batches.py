"""Batches by step number, padding, and random numbers by key."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from stemma.data.batches import Ragged, Shuffler, pack, pad_rows, slice_indices, uniform
from stemma.errors import TrainingError


@given(st.lists(st.integers(1, 50), min_size=1, max_size=300), st.integers(1, 40), st.integers(-5, 2**40))
def test_an_epoch_holds_every_example_once(lengths, batch_size, seed):
    shuffler = Shuffler(np.array(lengths), batch_size, seed)
    for epoch in range(2):
        steps = range(epoch * shuffler.steps_per_epoch, (epoch + 1) * shuffler.steps_per_epoch)
        places = [shuffler.at(step) for step in steps]
        assert {place.epoch for place in places} == {epoch}
        assert sorted(np.concatenate([place.examples for place in places])) == list(range(len(lengths)))


def test_a_step_is_the_same_whoever_was_asked_for_before():
    lengths = np.arange(1000) % 37
    in_order = Shuffler(lengths, 32, seed=3)
    expected = [in_order.at(step) for step in range(80)]
    for step in (79, 0, 40, 33):
        place = Shuffler(lengths, 32, seed=3).at(step)
        np.testing.assert_array_equal(place.examples, expected[step].examples)


def test_epochs_and_seeds_differ():
    lengths = np.full(256, 7)
    orders = [Shuffler(lengths, 256, seed).at(step).examples.tolist() for seed, step in ((1, 0), (1, 1), (2, 0))]
    assert len({tuple(order) for order in orders}) == 3


def test_batches_hold_similar_lengths():
    rng = np.random.default_rng(0)
    lengths = rng.integers(4, 128, 4000)
    shuffler = Shuffler(lengths, 32, seed=1)
    batches = [lengths[shuffler.at(step).examples] for step in range(shuffler.steps_per_epoch)]
    padded = sum(len(batch) * batch.max() for batch in batches)
    assert lengths.sum() / padded > 0.95
    first = [batch.mean() for batch in batches[:60]]
    assert np.std(first) > 20, "batches come in no order of length"


def test_unlike_batches_have_the_lengths_of_all():
    lengths = np.random.default_rng(0).integers(4, 128, 4000)
    shuffler = Shuffler(lengths, 32, seed=1, alike=False)
    means = [lengths[shuffler.at(step).examples].mean() for step in range(shuffler.steps_per_epoch)]
    assert np.std(means) < 10


@given(st.lists(st.integers(1, 32), min_size=1, max_size=80))
def test_packed_examples_lie_apart_in_rows_that_are_mostly_full(lengths):
    packing = pack(np.array(lengths), 32)
    places = slice_indices(packing.rows * 32 + packing.columns, np.array(lengths))
    assert len(np.unique(places)) == sum(lengths), "no two at one place"
    assert (packing.columns + lengths <= 32).all()
    assert set(packing.rows) == set(range(packing.num_rows))
    assert packing.num_rows <= 1 + 11 / 9 * -(-sum(lengths) // 32) + sum(length > 16 for length in lengths)


def test_no_examples_is_an_error():
    with pytest.raises(TrainingError, match="no example"):
        Shuffler(np.zeros(0, np.int64), 4, 1)


@given(st.lists(st.lists(st.integers(0, 9), max_size=20), min_size=1, max_size=8))
def test_padding_keeps_rows_and_fills_the_rest(rows):
    ragged = Ragged.from_rows(rows, np.uint16)
    padded = ragged.padded(np.arange(len(rows)), fill=-1)
    assert padded.shape[1] % 8 == 0
    for row, padded_row in zip(rows, padded.tolist(), strict=True):
        assert padded_row == row + [-1] * (padded.shape[1] - len(row))


def test_padding_to_a_given_width():
    result = pad_rows(np.arange(10), np.array([2, 5]), np.array([3, 1]), 0, width=4)
    assert result.tolist() == [[2, 3, 4, 0], [5, 0, 0, 0]]


def test_random_numbers_are_a_function_of_their_keys():
    table = uniform(7, np.arange(50)[:, None], np.arange(30))
    assert table.shape == (50, 30)
    assert uniform(7, 12, np.arange(30)).tolist() == table[12].tolist()
    assert uniform(8, 12, np.arange(30)).tolist() != table[12].tolist()


@pytest.mark.parametrize("axis", [0, 1])
def test_random_numbers_are_uniform_and_independent_along_each_key(axis):
    table = uniform(1, np.arange(400)[:, None], np.arange(400))
    assert stats.kstest(table.ravel(), "uniform").pvalue > 1e-3
    neighbours = np.corrcoef(table.take(range(399), axis).ravel(), table.take(range(1, 400), axis).ravel())[0, 1]
    assert abs(neighbours) < 4 / 400
