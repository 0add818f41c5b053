"""The last layer: from a hidden layer to the probability of every word, the loss, and the loss's gradient.

`Full` is the softmax of the paper over all words (see `stemma.layers.word_loss`). `Adaptive` is PyTorch's module of Grave et al.
(2017): rare words, which have few of the predictions, share a class of the first softmax and get smaller hidden layers;
another model, whose probabilities sum to 1 all the same.
"""

import math
from typing import Final

import torch
from torch import Tensor, nn

from stemma.errors import SettingsError
from stemma.layers.word_loss import stretches, word_loss

__all__ = ["Adaptive", "Full"]

_SMALLER: Final = 4  # by which a class's layer is smaller than that of the class before


class Full(nn.Module):
    """Scores of all words, by one matrix; its last column is for the bias, since the last of all features is 1."""

    def __init__(self, num_features: int, num_words: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_words, num_features))
        nn.init.normal_(self.weight, std=1 / math.sqrt(num_features) / 2)
        nn.init.zeros_(self.weight[:, -1])

    def loss(self, features: Tensor, words: Tensor, share: float) -> Tensor:
        """`share` of the nats of all predictions, with a gradient."""
        return word_loss(features, self.weight, None, words, share)

    def log_probabilities(self, features: Tensor) -> Tensor:
        """Of every word (predictions, words)."""
        return torch.log_softmax(features @ self.weight.t(), dim=1)

    def nats(self, features: Tensor, words: Tensor) -> Tensor:
        """Minus the log-probability of each prediction."""
        parts = [
            self.log_probabilities(features[rows]).gather(1, words[rows, None])[:, 0]
            for rows in stretches(len(features), len(self.weight))
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
