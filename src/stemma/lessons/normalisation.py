"""Batch against layer normalisation: the mean and variance of a feature over examples, or of an example over features."""

from collections.abc import Iterator
from typing import Final

import torch
from torch import Tensor
from torch.nn.functional import batch_norm, layer_norm

__all__ = ["BATCH", "explain", "over_batch", "over_layer"]

BATCH: Final = ((1.0, 2.0, 3.0, 6.0), (2.0, 4.0, 6.0, 12.0), (3.0, 0.0, 9.0, 0.0))  # three examples of four features


def over_batch(values: Tensor) -> Tensor:
    """Every feature less its mean over the examples, by their standard deviation, as in training."""
    return batch_norm(values, None, None, training=True)


def over_layer(values: Tensor) -> Tensor:
    """Every example less the mean of its features, by their standard deviation."""
    return layer_norm(values, values.shape[1:])


def explain() -> Iterator[str]:
    """Both on the same three examples, and what becomes of the first when the others change."""
    batch = torch.tensor(BATCH)
    yield "Three examples of four features, a row each:"
    yield from _rows(batch, "g")
    yield "Batch normalisation makes every column's mean 0 and variance 1:"
    yield from _rows(over_batch(batch), ".3f")
    yield "Layer normalisation makes every row's mean 0 and variance 1; the second row is twice the first, and so the same:"
    yield from _rows(over_layer(batch), ".3f")
    yield "With another third example, the first becomes:"
    other = batch.clone()
    other[2] = torch.tensor([30.0, 20.0, 0.0, 5.0])
    yield f"   batch: {_numbers(over_batch(other)[0], '.3f')}"
    yield f"   layer: {_numbers(over_layer(other)[0], '.3f')}, as before"
    yield "With a single example, a column's only value is its own mean:"
    alone = batch[:1]
    yield f"   batch: {_numbers(_alone(alone)[0], '.3f')}"
    yield f"   layer: {_numbers(over_layer(alone)[0], '.3f')}"
    yield (
        "So a Transformer normalises by layer: sentences have unequal lengths, batches may be small, and what is written"
        " word by word must not depend on who else is written."
    )


def _alone(values: Tensor) -> Tensor:
    """Batch normalisation by its formula, which torch refuses for one example: there is nothing to learn from it."""
    centred = values - values.mean(0)
    return centred / (centred.square().mean(0) + 1e-5).sqrt()


def _rows(values: Tensor, form: str) -> Iterator[str]:
    yield from (f"   {_numbers(row, form)}" for row in values)


def _numbers(values: Tensor, form: str) -> str:
    return "  ".join(f"{round(value, 3) + 0.0:{form}}" for value in values.tolist())  # no -0.000
