"""The worked example of span scoring is the formula, and the best of all spans."""

import math

import pytest
from torch import Tensor

from stemma.lessons.span import END, START, STATES, TOKENS, best, explain, probabilities


def products(vector: Tensor) -> list[float]:
    return [sum(a * b for a, b in zip(state, vector.tolist(), strict=True)) for state in STATES.tolist()]


@pytest.mark.parametrize("vector", [START, END], ids=["start", "end"])
def test_probabilities_are_the_formula(vector):
    scores = products(vector)
    total = sum(math.exp(score) for score in scores)
    assert probabilities(vector).tolist() == pytest.approx([math.exp(score) / total for score in scores])
    assert sum(probabilities(vector).tolist()) == pytest.approx(1)


def test_the_best_span_ends_not_before_it_starts():
    starts, ends = products(START), products(END)
    assert ends.index(max(ends)) < starts.index(max(starts)), "taken apart, the best ends would make no span"
    spans = {(i, j): starts[i] + ends[j] for i in range(len(TOKENS)) for j in range(i, min(i + 4, len(TOKENS)))}
    i, j = max(spans, key=spans.__getitem__)
    first, last, score = best()
    assert (first, last) == (i, j)
    assert score == pytest.approx(spans[i, j])
    assert " ".join(TOKENS[i : j + 1]) == "twelve miles"
    told = "\n".join(explain())
    assert "'twelve miles' (3 to 4), with S·T_3 + E·T_4 = 3.50" in told
    chance = probabilities(START)[3] * probabilities(END)[4]
    assert f"{-math.log(chance) / 2:.4f} nats" in told
