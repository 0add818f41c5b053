"""The last layer: from a hidden layer to the probability of every word, the loss, and the loss's gradient.

`Full` is the softmax of the paper over all words. Its loss and gradient come from one pass over some rows at a time, in place:
of the scores (predictions × words), by far the largest values of a step, only those rows are ever held. `Adaptive` is
PyTorch's module of Grave et al. (2017): rare words, which have few of the predictions, share a class of the first softmax and
get smaller hidden layers; another model, whose probabilities sum to 1 all the same.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from stemma.errors import SettingsError

__all__ = ["Adaptive", "Full"]

_SMALLER: Final = 4  # by which a class's layer is smaller than that of the class before
_SCORES: Final = 1 << 21  # held at once: a few MB, which the processor's caches keep


class Full(nn.Module):
    """Scores of all words, by one matrix; its last column is for the bias, since the last of all features is 1."""

    def __init__(self, num_features: int, num_words: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_words, num_features))
        nn.init.normal_(self.weight, std=1 / math.sqrt(num_features) / 2)
        nn.init.zeros_(self.weight[:, -1])

    def loss(self, features: Tensor, words: Tensor, share: float) -> Tensor:
        """`share` of the nats of all predictions, with a gradient."""
        total: Tensor = _Loss.apply(features, self.weight, words, share)  # type: ignore[no-untyped-call]
        return total

    def log_probabilities(self, features: Tensor) -> Tensor:
        """Of every word (predictions, words)."""
        return torch.log_softmax(features @ self.weight.t(), dim=1)

    def nats(self, features: Tensor, words: Tensor) -> Tensor:
        """Minus the log-probability of each prediction."""
        parts = [
            self.log_probabilities(features[rows]).gather(1, words[rows, None])[:, 0]
            for rows in _stretches(len(features), len(self.weight))
        ]
        return -torch.cat(parts)


class Adaptive(nn.Module):
    """A softmax over frequent words and classes of rare ones, and one over the words of each class."""

    def __init__(self, num_features: int, num_words: int, cutoffs: list[int]) -> None:
        super().__init__()
        if cutoffs[-1] >= num_words:
            raise SettingsError(
                f"cutoffs: the last is {cutoffs[-1]}, but there are {num_words} words to predict; lower it"
            )
        if num_features < _SMALLER ** len(cutoffs):
            raise SettingsError(
                f"cutoffs: {len(cutoffs)} classes, each with a layer a quarter as large, are too many for {num_features}"
                " features; give fewer, or raise hidden_size"
            )
        self._inside = nn.AdaptiveLogSoftmaxWithLoss(
            num_features, num_words, cutoffs, div_value=_SMALLER, head_bias=True
        )

    def loss(self, features: Tensor, words: Tensor, share: float) -> Tensor:
        """`share` of the nats of all predictions, with a gradient."""
        return self.nats(features, words).sum() * share

    def log_probabilities(self, features: Tensor) -> Tensor:
        """Of every word (predictions, words)."""
        result: Tensor = self._inside.log_prob(features)
        return result

    def nats(self, features: Tensor, words: Tensor) -> Tensor:
        """Minus the log-probability of each prediction."""
        result: Tensor = -self._inside(features, words).output
        return result


class _Loss(torch.autograd.Function):
    """The cross-entropy of a softmax; forward computes the gradients too, while the scores of some rows are at hand."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, words: Tensor, share: float) -> Tensor:
        gradients = torch.empty_like(features), torch.empty_like(weight)
        stretches = list(_stretches(len(features), len(weight)))
        held = features.new_empty(stretches[0].stop, len(weight))
        nats = features.new_zeros(())
        for rows in stretches:
            inputs, wanted = features[rows], words[rows, None]
            scores = torch.mm(inputs, weight.t(), out=held[: len(inputs)])
            torch.log_softmax(scores, dim=1, out=scores)
            nats -= scores.gather(1, wanted).sum()
            errors = scores.exp_().scatter_add_(1, wanted, scores.new_full(wanted.shape, -1))
            torch.mm(errors, weight, out=gradients[0][rows])
            gradients[1].addmm_(errors.t(), inputs, beta=float(rows.start > 0), alpha=share)  # the first one fills it
        gradients[0].mul_(share)
        ctx.gradients = gradients
        return nats * share

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, factor: Tensor) -> tuple[Tensor | None, ...]:
        if float(factor) == 1.0:  # as in training, where a copy of the largest gradient would be a waste
            return (*ctx.gradients, None, None)
        return (*(gradient * factor for gradient in ctx.gradients), None, None)


def _stretches(num_rows: int, num_words: int) -> Iterator[slice]:
    """Equal parts of the rows, few enough at a time that their scores stay in the caches."""
    count = max(1, -(-num_rows * num_words // _SCORES))
    step = -(-num_rows // count)
    return (slice(start, min(start + step, num_rows)) for start in range(0, num_rows, step))
