"""Sentences with their translations, from a token store whose documents are of two sentences: the source and the target."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from stemma.data.batches import pad_rows
from stemma.data.token_store import Shard, TokenStore
from stemma.errors import TrainingError
from stemma.text.symbols import Symbols

__all__ = ["Pairs"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Side:
    """Where the tokens of one side of every pair lie in its shard."""

    starts: Ints
    lengths: Ints


class Pairs:
    """The pairs of a store of which neither side is empty or longer than `max_length` tokens."""

    def __init__(self, store: TokenStore, symbols: Symbols, *, max_length: int) -> None:
        parts = [_sides(shard) for shard in store.shards()]
        sides = np.concatenate([*parts, np.zeros((2, 2, 0), np.int64)], axis=2)  # (sides, begin and end, pairs)
        shards = np.repeat(np.arange(len(parts)), [part.shape[2] for part in parts])
        lengths = sides[:, 1] - sides[:, 0]
        fits = ((lengths > 0) & (lengths <= max_length)).all(axis=0)
        self._store, self._symbols, self._shards = store, symbols, shards[fits]
        self._source, self._target = (
            _Side(side[0, fits], size[fits]) for side, size in zip(sides, lengths, strict=True)
        )
        self.num_left_out = int(np.count_nonzero(~fits))

    def __len__(self) -> int:
        return len(self._shards)

    @property
    def source_lengths(self) -> Ints:
        """Tokens of each source, with its `</s>`."""
        return self._source.lengths + 1

    @property
    def target_lengths(self) -> Ints:
        """Tokens to predict of each target, its `</s>` among them."""
        return self._target.lengths + 1

    def tensors(self, examples: Ints) -> dict[str, Tensor]:
        """Some pairs as the network takes them.

        `source` (rows, width) is `x1 … xn </s>`, with its `lengths`; `target` is `<s> y1 … ym`; and `words` are what follows
        each of these, `y1 … ym </s>`, end to end, which `inside` says where to find.
        """
        source, lengths = self._read(self._source, examples), self.source_lengths[examples]
        source[np.arange(len(examples)), lengths - 1] = self._symbols.end
        following, sizes = self._read(self._target, examples), self.target_lengths[examples]
        following[np.arange(len(examples)), sizes - 1] = self._symbols.end
        inside = np.arange(following.shape[1]) < sizes[:, None]
        target = np.roll(following, 1, axis=1)
        target[:, 0] = self._symbols.begin
        arrays: dict[str, npt.NDArray[Any]] = {"source": source, "lengths": lengths, "target": target}
        arrays |= {"inside": inside, "words": following[inside]}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def _read(self, side: _Side, examples: Ints) -> Ints:
        """The tokens of one side in rows, with room for one more."""
        width = int(side.lengths[examples].max()) + 1
        rows = np.full((len(examples), width), self._symbols.end, np.int64)
        for number in np.unique(self._shards[examples]):
            mine = self._shards[examples] == number
            starts, lengths = side.starts[examples[mine]], side.lengths[examples[mine]]
            ids = self._store.shard(int(number)).ids
            rows[mine] = pad_rows(ids, starts, lengths, self._symbols.end, width)
        inside = np.arange(width) < side.lengths[examples][:, None]
        rows[inside] = self._symbols.readable(rows[inside])
        return rows


def _sides(shard: Shard) -> Ints:
    """Where source and target of a shard's documents begin and end: (sides, begin and end, documents)."""
    sentences, documents = np.asarray(shard.sentences), np.asarray(shard.documents)
    wrong = np.flatnonzero(np.diff(documents) != 2)
    if len(wrong):
        found = int(documents[wrong[0] + 1] - documents[wrong[0]])
        raise TrainingError(
            f"a document of {found} sentences, where a source and its target were expected; train on a corpus of kind 'parallel'"
        )
    bounds = np.stack([sentences[:-1], sentences[1:]]).reshape(2, -1, 2)  # (begin and end, documents, sides)
    return bounds.transpose(2, 0, 1)
