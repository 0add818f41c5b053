"""A task's network on static word vectors: the mean of a text's vectors, or a BiLSTM with attention.

Two texts u and v are compared as [u; v; |u - v|; u * v] (Mou et al. 2016, Conneau et al. 2017), or as [u + v; |u - v|; u * v]
where they may change places; a text that is not there is zeros. What that gives goes through one hidden layer.

cbow     a text is the mean of its words' vectors. A token, for tags and spans, is [before; itself; behind; m; itself * m], where
         m is the mean of the first text: the question of a span, else the sentence itself
bilstm   every word is read with the mean of the other text's words, weighed by how alike they are (Chen et al. 2017, section
         3.2); a BiLSTM goes over both texts as one row; a text is the mean of what it gives, weighed by attention (Yang et al.
         2016); a token is what it gives there
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import torch
from torch import Tensor, nn

from stemma.layers.dropout import Masks, dropped, masks_for
from stemma.layers.lstm import Lstm, Turn, read_both_ways
from stemma.layers.word_table import Texts, WordTable
from stemma.protocols import HeadKind

__all__ = ["Asked", "Shape", "WordNetwork", "compare"]

_PER_TOKEN: Final[tuple[str, ...]] = ("span", "tagging")
_OUTPUTS: Final[dict[str, int]] = {"span": 2, "choice": 1, "regression": 1}  # others: one a label
_NUM_TYPES: Final = 2  # of tokens: those of a first and of a second text


class Shape(Protocol):
    """The settings that a network depends on."""

    @property
    def task_network(self) -> str:
        """`cbow` or `bilstm`."""

    @property
    def task_size(self) -> int:
        """The size of its hidden layer, and of a BiLSTM in each direction."""

    @property
    def task_dropout(self) -> float:
        """The share of vectors, and of what the last layer is given, that is dropped."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of a network."""

    kind: HeadKind
    labels: Sequence[str]
    symmetric: bool  # whether its two texts may change places

    @property
    def per_token(self) -> bool:
        """Whether every token has an answer, or the text."""
        return self.kind in _PER_TOKEN

    @property
    def num_outputs(self) -> int:
        """How many scores there are for each."""
        return _OUTPUTS.get(self.kind, len(self.labels))


class WordNetwork(nn.Module):
    """Word vectors with a network of a task on them; its forward is logits: a row an input, or a row a token."""

    def __init__(self, table: WordTable, shape: Shape, asked: Asked) -> None:
        super().__init__()
        self.table, self.asked = table, asked
        self.dropout = nn.Dropout(shape.task_dropout)
        reader = _Means if shape.task_network == "cbow" else _BiLstm
        self.reader: _Means | _BiLstm = reader(table.size, shape.task_size)
        width = self.reader.token_size if asked.per_token else (3 if asked.symmetric else 4) * self.reader.text_size
        self.hidden = nn.Linear(width, shape.task_size)
        self.output = nn.Linear(shape.task_size, asked.num_outputs)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Logits (rows, outputs), or (rows, length, outputs)."""
        masks = masks_for(self.dropout)
        texts: Texts = self.table(input_ids, attention_mask, token_type_ids)
        if self.asked.per_token:
            found = self.reader.tokens(texts, attention_mask, masks)
        else:
            found = compare(*self.reader.texts(texts, attention_mask, masks), symmetric=self.asked.symmetric)
        logits: Tensor = self.output(dropped(torch.relu(self.hidden(dropped(found, masks))), masks))
        return logits


def compare(first: Tensor, second: Tensor, *, symmetric: bool) -> Tensor:
    """Two texts (rows, size) each as one row of features."""
    themselves = [first + second] if symmetric else [first, second]
    return torch.cat([*themselves, (first - second).abs(), first * second], dim=1)


class _Means(nn.Module):
    """A text is the mean of its words."""

    def __init__(self, size: int, _: int) -> None:
        super().__init__()
        self.text_size, self.token_size = size, 5 * size

    def texts(self, texts: Texts, _: Tensor, __: Masks | None) -> tuple[Tensor, Tensor]:
        """Both texts, (rows, size) each."""
        return _mean(texts.vectors, texts.first), _mean(texts.vectors, texts.second)

    def tokens(self, texts: Texts, _: Tensor, __: Masks | None) -> Tensor:
        """Every token (rows, length, 5 × size)."""
        here = texts.vectors
        padded = nn.functional.pad(here, (0, 0, 1, 1))
        mean = _mean(here, texts.first)[:, None].expand_as(here)
        return torch.cat([padded[:, :-2], here, padded[:, 2:], mean, here * mean], dim=2)


class _BiLstm(nn.Module):
    """A text is what a BiLSTM finds in it."""

    def __init__(self, size: int, task_size: int) -> None:
        super().__init__()
        self.text_size = self.token_size = 2 * task_size
        self.alike = nn.Linear(size, size)  # what of words is compared, to see how alike they are
        self.types = nn.Parameter(torch.zeros(_NUM_TYPES, size))
        self.lstm = Lstm(2, 2 * size, task_size, task_size)
        self.attention = nn.Sequential(
            nn.Linear(2 * task_size, task_size), nn.Tanh(), nn.Linear(task_size, 1, bias=False)
        )

    def texts(self, texts: Texts, inside: Tensor, masks: Masks | None) -> tuple[Tensor, Tensor]:
        """Both texts, (rows, 2 × task size) each."""
        hidden = self.tokens(texts, inside, masks)
        scores = self.attention(hidden)[:, :, 0]
        first, second = ((_weights(scores, words)[:, None] @ hidden)[:, 0] for words in (texts.first, texts.second))
        return first, second

    def tokens(self, texts: Texts, inside: Tensor, masks: Masks | None) -> Tensor:
        """What the BiLSTM gives for every token (rows, length, 2 × task size)."""
        words = dropped(texts.vectors, masks)
        second = texts.second.cumsum(1) > 0  # marks behind the first text read as the first's
        typed = words + nn.functional.embedding(second.long(), self.types)
        features = torch.cat([typed, self._other(words, texts)], dim=2).transpose(0, 1)
        return read_both_ways(self.lstm, features, Turn(inside.sum(1), inside.shape[1]))

    def _other(self, words: Tensor, texts: Texts) -> Tensor:
        """For every word the mean of the other text's words, weighed by how alike they are; zeros if there is no other text."""
        if not bool(texts.second.any()):
            return torch.zeros_like(words)
        keys = torch.relu(self.alike(words))
        scores = keys @ keys.transpose(1, 2) / math.sqrt(words.shape[2])  # (rows, length, length)
        allowed = (texts.first[:, :, None] & texts.second[:, None]) | (texts.second[:, :, None] & texts.first[:, None])
        return _weights(scores, allowed) @ words


def _mean(vectors: Tensor, words: Tensor) -> Tensor:
    """The mean of the words of a text (rows, size); zeros of a text without any."""
    share = words / words.sum(1, keepdim=True).clamp(min=1)
    return (share[:, None] @ vectors)[:, 0]


def _weights(scores: Tensor, allowed: Tensor) -> Tensor:
    """The softmax over what is allowed; zeros where nothing is."""
    lowest = torch.finfo(scores.dtype).min
    return torch.softmax(scores.masked_fill(~allowed, lowest), dim=-1) * allowed
