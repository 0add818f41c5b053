"""Predictions of a token store: every word and `</s>` with the words before it, shuffled, by step.

A sentence is read as `<s> … <s> w1 … wn </s>`, with a `<s>` for every word of context that is not there. An epoch goes
through blocks of sentences in a new order; some blocks at a time are held and all their predictions mixed. So memory does
not grow with the corpus, and a corpus of up to a million words is shuffled as a whole. A batch is a function of the step.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stemma.data.batches import slice_indices
from stemma.data.sentence_blocks import cut
from stemma.data.token_store import TokenStore
from stemma.errors import TrainingError
from stemma.text.symbols import Symbols

__all__ = ["Predictions", "Windows", "read_windows"]

Ints = npt.NDArray[np.int64]
_BLOCK: Final = 1 << 15  # predictions, or one sentence if that has more
_HELD: Final = 1 << 20  # predictions that are mixed


@dataclass(frozen=True)
class Windows:
    """Sentences laid end to end with their `<s>` and `</s>`, and where each prediction's window begins."""

    stream: Ints
    starts: Ints  # (predictions,)
    width: int  # of a window: the context and the word itself

    @classmethod
    def of(cls, ids: npt.NDArray[Any], offsets: Ints, symbols: Symbols, context: int) -> "Windows":
        """The windows of whole sentences: their ids, where each begins, and the end."""
        lengths = np.diff(offsets)
        before = offsets[:-1] - offsets[0] + (context + 1) * np.arange(len(lengths))
        stream = np.full(len(ids) + (context + 1) * len(lengths), symbols.begin, np.int64)
        stream[slice_indices(before + context, lengths)] = symbols.readable(ids)
        stream[before + context + lengths] = symbols.end
        return cls(stream, slice_indices(before, lengths + 1), context + 1)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, chosen: slice) -> Ints:
        """Some windows as rows (predictions, width): the context in the order of the text, then the word."""
        every = np.lib.stride_tricks.sliding_window_view(self.stream, self.width)
        return np.asarray(every[self.starts[chosen]])

    @property
    def words(self) -> Ints:
        """The word that each window is a prediction of."""
        return self.stream[self.starts + self.width - 1]

    def shuffled(self, rng: np.random.Generator) -> "Windows":
        """The same windows in another order."""
        return Windows(self.stream, rng.permutation(self.starts), self.width)


@dataclass(frozen=True, kw_only=True)
class _Blocks:
    """Stretches of whole sentences of a store, which together are all of it."""

    shards: Ints
    first: Ints  # the first sentence of each, counted within its shard
    last: Ints  # one past its last
    sizes: Ints  # predictions

    @classmethod
    def of(cls, store: TokenStore) -> "_Blocks":
        parts = []
        for number, shard in enumerate(store.shards()):
            ends = np.asarray(shard.sentences) + np.arange(len(shard.sentences))  # in predictions
            wanted = np.arange(0, ends[-1], _BLOCK)
            bounds = np.unique(np.append(np.searchsorted(ends, wanted, side="right") - 1, len(ends) - 1))
            parts.append((np.full(len(bounds) - 1, number), bounds[:-1], bounds[1:], np.diff(ends[bounds])))
        shards, first, last, sizes = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cls(shards=shards, first=first, last=last, sizes=sizes)


class Predictions:
    """All predictions of a store, in batches."""

    def __init__(self, store: TokenStore, symbols: Symbols, *, context: int, batch_size: int, seed: int) -> None:
        if not store.num_sentences:
            raise TrainingError("there is no sentence to train on; add text to the corpus")
        self._store, self._symbols, self._context = store, symbols, context
        self._batch_size, self._seed = batch_size, seed % 2**63  # numpy takes no negative seed
        self._blocks = _Blocks.of(store)
        self._size = int(self._blocks.sizes.sum())
        self._epoch = -1
        self._order = self._bounds = self._ends = np.zeros(
            0, np.int64
        )  # blocks; groups among them; groups in predictions
        self._held: tuple[tuple[int, int], Windows] | None = None

    def __len__(self) -> int:
        return self._size

    @property
    def steps_per_epoch(self) -> int:
        """How many batches hold every prediction once."""
        return -(-self._size // self._batch_size)

    def at(self, step: int) -> tuple[str, Ints]:
        """The batch of a step, counted from 0: its name for messages, and its windows (predictions, context + 1)."""
        epoch, batch = divmod(step, self.steps_per_epoch)
        self._begin(epoch)
        place, end = batch * self._batch_size, min((batch + 1) * self._batch_size, self._size)
        rows = []
        while place < end:  # once, or twice where a group ends
            group = int(np.searchsorted(self._ends, place, side="right"))
            windows = self._group(epoch, group)
            first = place - (int(self._ends[group]) - len(windows))
            rows.append(windows[first : first + end - place])
            place += len(rows[-1])
        return f"epoch {epoch + 1}, batch {batch + 1}", np.concatenate(rows)

    def _begin(self, epoch: int) -> None:
        """Order the blocks of an epoch, and say which of them are held together."""
        if epoch == self._epoch:
            return
        self._epoch = epoch
        self._order = np.random.default_rng([self._seed, epoch]).permutation(len(self._blocks.sizes))
        done = np.cumsum(self._blocks.sizes[self._order])
        group = (done - 1) // _HELD  # of each block
        last = np.flatnonzero(np.diff(group, append=group[-1] + 1))
        self._bounds, self._ends = np.append(0, last + 1), done[last]

    def _group(self, epoch: int, group: int) -> Windows:
        """The windows of the blocks that are held together, mixed."""
        if self._held is None or self._held[0] != (epoch, group):
            self._held = None  # before the next, so that there are never two
            blocks = self._order[self._bounds[group] : self._bounds[group + 1]]
            ids, offsets = self._read(blocks)
            windows = Windows.of(ids, offsets, self._symbols, self._context)
            self._held = (epoch, group), windows.shuffled(np.random.default_rng([self._seed, epoch, group]))
        return self._held[1]

    def _read(self, blocks: Ints) -> tuple[npt.NDArray[Any], Ints]:
        """The sentences of some blocks, laid end to end."""
        ids, lengths = [], []
        for number, shard in enumerate(self._store.shards()):
            for block in blocks[self._blocks.shards[blocks] == number]:
                bounds = shard.sentences[self._blocks.first[block] : self._blocks.last[block] + 1]
                ids.append(shard.ids[bounds[0] : bounds[-1]])
                lengths.append(np.diff(bounds))
        return np.concatenate(ids), np.append(0, np.cumsum(np.concatenate(lengths)))


def read_windows(store: TokenStore, symbols: Symbols, context: int) -> Iterator[Windows]:
    """All predictions of a store in the order of the text, a block at a time."""
    shards = ((shard.ids, shard.sentences) for shard in store.shards())
    for ids, offsets in cut(shards, _BLOCK):
        yield Windows.of(ids, offsets, symbols, context)
