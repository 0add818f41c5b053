"""Scaled dot-product attention step by step on two words, then with several heads, and with the future hidden.

Queries, keys and values have 64 numbers each, as in the paper's heads, so that scores are divided by √64 = 8. They are chosen to
give round scores: what a trained network has there is learned. Sums are by `stemma.layers.attention`, as the Transformer's are.
"""

from collections.abc import Iterator
from typing import Final

import torch
from torch import Tensor

from stemma.layers.attention import attend

__all__ = ["SIZE", "WORDS", "causal", "example", "explain", "weights"]

WORDS: Final = ("thinking", "machines")
SIZE: Final = 64
_SCORES: Final = ((112.0, 96.0), (96.0, 104.0))  # query times key, of each word with each


def example() -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values (words, size): the first two numbers of a query and a key make the scores."""
    queries, keys, values = torch.zeros(3, len(WORDS), SIZE)
    queries[:, :2] = torch.eye(2)
    keys[:, :2] = torch.tensor(_SCORES).T
    values[:, 0], values[0, 1], values[1, 2] = torch.tensor([2.0, 4.0]), 1.0, 1.0
    return queries, keys, values


def weights(scores: Tensor, bias: Tensor | None = None) -> Tensor:
    """How much each word looks at each, from scores that are scaled: softmax of every row."""
    return torch.softmax(scores if bias is None else scores + bias, dim=-1)


def causal(length: int) -> Tensor:
    """What is added to scores so that no word sees one after it."""
    return torch.full((length, length), -torch.inf).triu(1)


def explain() -> Iterator[str]:
    """From scores to weights to what a word becomes."""
    queries, keys, values = example()
    scores = queries @ keys.T
    scaled = scores / SIZE**0.5
    found = weights(scaled)
    context = _attend(queries, keys, values)
    yield f"The words: {', '.join(WORDS)}. Each has a query, a key and a value of {SIZE} numbers."
    yield "1. Scores, query times key:"
    yield from _table(scores, "g")
    yield f"2. Divided by √{SIZE} = {SIZE**0.5:g}, or the softmax of large products would look at one word alone:"
    yield from _table(scaled, "g")
    yield "3. Softmax, a row a query:"
    yield from _table(found, ".2f")
    yield f"   Undivided, the first row were {', '.join(f'{value:.7f}' for value in weights(scores)[0])}."
    yield "4. The mean of the values by these weights, their first three numbers:"
    for word, row in zip(WORDS, context, strict=True):
        yield f"   {word}: {_numbers(row[:3])}"
    yield "Key-value attention: a word is found by its key, and what is read is its value; here keys and values differ."
    yield from _heads(queries, keys, values)
    yield "Masked attention, for a decoder: what comes later gets the score -inf, and so the weight 0:"
    yield from _table(weights(scaled, causal(len(WORDS))), ".2f")
    yield f"   {WORDS[0]}: {_numbers(_attend(queries, keys, values, causal(len(WORDS)))[0, :3])}, its own value"


def _heads(queries: Tensor, keys: Tensor, values: Tensor) -> Iterator[str]:
    """The same in two heads, of which the second looks where the first does not."""
    both = torch.stack([keys, keys.flip(0)])
    yield "Multi-head attention: each head has queries, keys and values of its own, and looks elsewhere; a second one:"
    yield from _table(weights(queries @ both[1].T / SIZE**0.5), ".2f")
    asked = (queries / SIZE**0.5)[:, None].expand(-1, 2, -1)  # (words, heads, size), as keys and values below
    answers = torch.stack([both.transpose(0, 1), values[:, None].expand(-1, 2, -1)], dim=1)
    heads = attend(asked[None], answers[None], None, None)[0]
    yield (
        f"   side by side they are {heads.shape[1]} numbers a word, which one more matrix mixes:"
        f" {WORDS[0]} has {_numbers(heads[0, :3])} … from the first and {_numbers(heads[0, SIZE : SIZE + 3])} … from the second"
    )


def _attend(queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None = None) -> Tensor:
    """One head over one row of words."""
    answers = torch.stack([keys, values], dim=1)[None, :, :, None]  # (rows, words, keys and values, heads, size)
    return attend((queries / SIZE**0.5)[None, :, None], answers, bias, None)[0]


def _table(rows: Tensor, form: str) -> Iterator[str]:
    for word, row in zip(WORDS, rows.tolist(), strict=True):
        yield f"   {word:<9} {'  '.join(f'{other} {value:{form}}' for other, value in zip(WORDS, row, strict=True))}"


def _numbers(values: Tensor) -> str:
    return "(" + ", ".join(f"{value:.2f}" for value in values.tolist()) + ")"
