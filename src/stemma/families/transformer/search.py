"""From probabilities of the next token to a translation: the best token every time, or a beam of the best beginnings.

A translation ends with `</s>`; one that has as many tokens as it may have must end. A beam ends when as many translations as it
is wide have ended, each while it was among the best. Of these the one with the highest log P / ((5 + tokens) / 6)^penalty is
taken (Wu et al. 2016), so that long ones are not at a loss; `</s>` counts as a token.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

__all__ = ["Bounds", "Steps", "beam_search", "greedy_search"]


class Steps(Protocol):
    """Some translations on their way, a row each."""

    def step(self, tokens: Tensor) -> Tensor:
        """Add a token to every row; the log-probabilities (rows, words) of what comes next."""

    def keep(self, rows: Tensor) -> None:
        """Go on with some rows, in the order given; one may be there more than once."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a translation begins and ends with, what it never holds, and how long each may be."""

    begin: int
    end: int
    silent: tuple[int, ...]
    limits: Tensor  # (sentences,): tokens before the end

    def apply(self, scores: Tensor, sentences: Tensor, length: int) -> Tensor:
        """Log-probabilities (rows, words) after so many tokens, with -inf for what may not follow."""
        scores[:, list(self.silent)] = -torch.inf
        full = self.limits[sentences] <= length
        ends = scores[full, self.end]
        scores[full] = -torch.inf
        scores[full, self.end] = ends
        return scores


def greedy_search(steps: Steps, bounds: Bounds) -> list[list[int]]:
    """The best next token, again and again."""
    going = torch.arange(len(bounds.limits))
    found: list[list[int]] = [[] for _ in going]
    tokens, length = torch.full_like(going, bounds.begin), 0
    while len(going):
        tokens = bounds.apply(steps.step(tokens), going, length).argmax(dim=1)
        (kept,) = torch.nonzero(tokens != bounds.end, as_tuple=True)
        going, tokens, length = going[kept], tokens[kept], length + 1
        steps.keep(kept)
        for sentence, token in zip(going.tolist(), tokens.tolist(), strict=True):
            found[sentence].append(token)
    return found


def beam_search(steps: Steps, bounds: Bounds, *, width: int, penalty: float) -> list[list[int]]:
    """Hold the `width` best beginnings of every translation."""
    every = [_Beam(width, penalty) for _ in bounds.limits]
    going = dict(enumerate(every))
    length = 0
    while going:
        sentences = torch.tensor([sentence for sentence, beam in going.items() for _ in beam.live])
        tokens = torch.tensor([[bounds.begin, *one.tokens][-1] for beam in going.values() for one in beam.live])
        scores = bounds.apply(steps.step(tokens), sentences, length)
        best = scores.topk(min(2 * width, scores.shape[1]), dim=1)  # enough, if every second one were an end
        values, words = best.values.tolist(), best.indices.tolist()
        rows, first = [], 0
        for beam in going.values():
            last = first + len(beam.live)
            rows += [first + row for row in beam.advance(values[first:last], words[first:last], bounds.end)]
            first = last
        steps.keep(torch.tensor(rows, dtype=torch.int64))
        going = {sentence: beam for sentence, beam in going.items() if beam.live}
        length += 1
    return [beam.best() for beam in every]


@dataclass(frozen=True)
class _Beginning:
    """The tokens of a translation so far, and their log-probability."""

    tokens: list[int]
    score: float


class _Beam:
    """The best beginnings of one translation, and those that have ended."""

    def __init__(self, width: int, penalty: float) -> None:
        self.live = [_Beginning([], 0.0)]
        self._ended: list[_Beginning] = []
        self._width, self._penalty = width, penalty

    def advance(self, values: Sequence[Sequence[float]], words: Sequence[Sequence[int]], end: int) -> list[int]:
        """Go on by one token, given the best that can follow each beginning; says which beginning each new one goes on from."""
        candidates = sorted(
            (-one.score - value, row, word)
            for row, one in enumerate(self.live)
            for value, word in zip(values[row], words[row], strict=True)
            if value > -math.inf
        )
        self._ended += [
            _Beginning(self.live[row].tokens, -nats) for nats, row, word in candidates[: self._width] if word == end
        ]
        chosen = [one for one in candidates if one[2] != end][: self._width]
        if len(self._ended) >= self._width:
            chosen = []
        self.live = [_Beginning([*self.live[row].tokens, word], -nats) for nats, row, word in chosen]
        return [row for _, row, _ in chosen]

    def best(self) -> list[int]:
        """The tokens of the best that has ended."""
        return max(self._ended, key=lambda one: one.score / ((6 + len(one.tokens)) / 6) ** self._penalty).tokens
