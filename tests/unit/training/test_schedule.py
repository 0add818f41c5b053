"""The learning rate's factor."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemma.training.schedule import linear_warmup_decay


def test_rises_to_one_and_falls_in_a_line():
    factors = [linear_warmup_decay(step, steps=10, warmup_share=0.2) for step in range(10)]
    assert factors == pytest.approx([0.5, 1, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8])


@given(st.integers(1, 300), st.floats(0, 1))
def test_every_factor_is_above_zero_and_at_most_one(steps, share):
    factors = [linear_warmup_decay(step, steps=steps, warmup_share=share) for step in range(steps)]
    assert all(0 < factor <= 1 for factor in factors)
    peak = factors.index(max(factors))
    assert all(left <= right for left, right in pairwise(factors[: peak + 1]))
    assert all(left >= right for left, right in pairwise(factors[peak:]))
