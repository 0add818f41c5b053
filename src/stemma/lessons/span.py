"""Span scoring: where an answer begins and ends, from one vector each and the states of a text's tokens."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import torch
from torch import Tensor

from stemma.layers.spans import best_spans

__all__ = ["END", "START", "STATES", "TOKENS", "best", "explain", "probabilities"]

TOKENS: Final = ("the", "river", "is", "twelve", "miles", "long")
STATES: Final = torch.tensor(
    [[0.0, 0.0], [0.5, 2.0], [0.0, 0.5], [2.0, 0.0], [1.0, 1.5], [0.0, 1.0]]
)  # T, a row a token
START: Final = torch.tensor([1.0, 0.0])  # S
END: Final = torch.tensor([0.0, 1.0])  # E
_LONGEST: Final = 4  # tokens


def probabilities(vector: Tensor) -> Tensor:
    """P_i = exp(S·T_i) / Σ_j exp(S·T_j)."""
    return torch.softmax(STATES @ vector, dim=0)


def best() -> tuple[int, int, float]:
    """The span with the highest S·T_i + E·T_j among those with j ≥ i, as tasks find it: its first token, its last, its score."""
    logits = torch.stack([STATES @ START, STATES @ END], dim=1)[None]  # (1, tokens, 2)
    first, last, score = best_spans(logits, np.array([0]), np.array([len(TOKENS)]), _LONGEST)
    return int(first[0]), int(last[0]), float(score[0])


def explain() -> Iterator[str]:
    """Scores, probabilities, and why the best start and the best end need not make a span."""
    starts, ends = probabilities(START), probabilities(END)
    yield "How long is the river? Every token i has a state T_i; a start vector S and an end vector E are learned."
    yield "P_i = exp(S·T_i) / Σ exp(S·T_j), and likewise with E for the end:"
    yield f"  {'i':>2} {'token':<8}{'S·T_i':>7}{'P start':>9}{'E·T_i':>7}{'P end':>8}"
    for i, token in enumerate(TOKENS):
        scores = float(STATES[i] @ START), float(STATES[i] @ END)
        yield f"  {i:>2} {token:<8}{scores[0]:7.2f}{starts[i]:9.4f}{scores[1]:7.2f}{ends[i]:8.4f}"
    i, j = int(starts.argmax()), int(ends.argmax())
    yield f"The likeliest start is '{TOKENS[i]}' ({i}) and the likeliest end '{TOKENS[j]}' ({j}): the end lies before the start."
    first, last, score = best()
    span = " ".join(TOKENS[first : last + 1])
    yield f"Of all spans with end ≥ start the best is '{span}' ({first} to {last}), with S·T_{first} + E·T_{last} = {score:.2f}."
    chance = float(starts[first] * ends[last])
    yield f"The loss of that answer is the mean of -log P start and -log P end: {-np.log(chance) / 2:.4f} nats."
