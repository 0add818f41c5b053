"""The cross-entropy of a softmax over all words, with its gradients at hand when the loss is.

Scores (predictions × words) are by far the largest values of a step. Here loss and gradients come from one pass over some rows
of them at a time, in place: only those rows are ever held, in memory that the processor's caches keep.
"""

from collections.abc import Iterator
from typing import Any, Final

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["stretches", "word_loss"]

_SCORES: Final = 1 << 21  # held at once: a few MB
_ROWS: Final = 256  # or so many rows, if that is more: fewer would read all weights, which no cache holds, too often
_RARE: Final = 1e-30  # below this a probability has too few digits for its logarithm


def word_loss(
    features: Tensor, weight: Tensor, bias: Tensor | None, words: Tensor, share: float, *, smoothing: float = 0.0
) -> Tensor:
    """`share` of the nats of all predictions, from features (predictions, size) and weights (words, size).

    With `smoothing`, that share of what is asked of each prediction is spread over all words alike (Szegedy et al. 2016).
    """
    device = features.device.type
    lowered = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
    with torch.autocast(device, enabled=False):  # only products: sums of so many exponentials ask for all digits
        total: Tensor = _Loss.apply(features.to(weight.dtype), weight, bias, words, share, smoothing, lowered)  # type: ignore[no-untyped-call]
    return total


def stretches(num_rows: int, num_words: int) -> Iterator[slice]:
    """Equal parts of the rows, few enough at a time that their scores stay in the caches, unless weights are larger by far."""
    count = max(1, -(-num_rows * num_words // max(_SCORES, _ROWS * num_words)))
    step = max(1, -(-num_rows // count))
    return (slice(start, min(start + step, num_rows)) for start in range(0, num_rows, step))


class _Loss(torch.autograd.Function):
    """Forward computes the gradients too, while the scores of some rows are at hand."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        words: Tensor,
        share: float,
        smoothing: float,
        lowered: torch.dtype,
    ) -> Tensor:
        of_features, of_weight = torch.empty_like(features), torch.zeros_like(weight)
        of_bias = None if bias is None else torch.zeros_like(bias)
        nats = features.new_zeros(())
        factors = weight.to(lowered), None if bias is None else bias.to(lowered)
        for rows in stretches(len(features), len(weight)):
            inputs, wanted = features[rows].to(lowered), words[rows, None]
            scores = torch.nn.functional.linear(inputs, *factors).to(weight.dtype)
            spread = scores.sum() - len(weight) * scores.gather(1, wanted).sum() if smoothing else 0.0
            torch.softmax(scores, dim=1, out=scores)
            right = _logarithms(scores.gather(1, wanted), inputs, factors, wanted).sum()
            # the logarithms of all words' probabilities add up to spread + words x right
            nats -= right + smoothing / len(weight) * spread
            errors = scores.scatter_add_(1, wanted, scores.new_full(wanted.shape, smoothing - 1))
            if smoothing:
                errors -= smoothing / len(weight)
            if of_bias is not None:
                of_bias.add_(errors.sum(0), alpha=share)
            if lowered == weight.dtype:
                torch.mm(errors, weight, out=of_features[rows])
                of_weight.addmm_(errors.t(), inputs, beta=float(rows.start > 0), alpha=share)  # the first one fills it
            else:
                errors = errors.to(lowered)
                of_features[rows] = torch.mm(errors, factors[0])
                of_weight.add_(torch.mm(errors.t(), inputs), alpha=share)
        ctx.gradients = of_features.mul_(share), of_weight, of_bias
        return nats * share

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, factor: Tensor) -> tuple[Tensor | None, ...]:
        if float(factor) == 1.0:  # as in training, where a copy of the largest gradient would be a waste
            return (*ctx.gradients, *[None] * 4)
        return (*(None if one is None else one * factor for one in ctx.gradients), *[None] * 4)


def _logarithms(right: Tensor, inputs: Tensor, factors: tuple[Tensor, Tensor | None], wanted: Tensor) -> Tensor:
    """Of the probabilities (rows, 1) of the right words; those that are too small to tell are computed again, as logarithms."""
    logarithms, rare = right.log(), (right[:, 0] < _RARE).nonzero()[:, 0]
    if len(rare):
        scores = torch.nn.functional.linear(inputs[rare], *factors).to(right.dtype)
        logarithms[rare] = torch.log_softmax(scores, dim=1).gather(1, wanted[rare])
    return logarithms
