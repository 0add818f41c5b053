"""Which examples make a batch, and how rows of unequal length become a rectangle.

A batch is a function of a seed and the step's number, so that training that goes on after a kill needs no replay. Random
numbers are likewise functions of their keys (a hash of seed, epoch, example and position), not of who asked before.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stemma.errors import TrainingError

__all__ = ["Packing", "Place", "Ragged", "Shuffler", "pack", "pad_rows", "round_up", "slice_indices", "uniform"]

Ints = npt.NDArray[np.integer[Any]]
_BATCHES_PER_GROUP: Final = 64  # examples are sorted by length among this many batches
_WIDTH_STEP: Final = 8  # widths are multiples of it, for the sake of the matrix kernels


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a step stands in the data."""

    epoch: int
    batch: int  # of the epoch
    examples: npt.NDArray[np.int64]  # (batch,)

    @property
    def name(self) -> str:
        """Epoch and batch, counted from 1, for messages."""
        return f"epoch {self.epoch + 1}, batch {self.batch + 1}"


class Shuffler:
    """An order of all examples, anew each epoch; if they are to be padded, in batches of similar length."""

    def __init__(self, lengths: Ints, batch_size: int, seed: int, *, alike: bool = True) -> None:
        if not len(lengths):
            raise TrainingError("there is no example to train on")
        self._lengths, self._batch_size, self._seed, self._alike = lengths, batch_size, seed, alike
        self._epoch, self._order, self._batches = -1, np.zeros(0, np.int64), np.zeros(0, np.int64)

    @property
    def steps_per_epoch(self) -> int:
        """How many batches hold every example once."""
        return -(-len(self._lengths) // self._batch_size)

    def at(self, step: int) -> Place:
        """The examples of a step, counted from 0."""
        epoch, batch = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            self._shuffle(epoch)
        start = int(self._batches[batch]) * self._batch_size
        return Place(epoch=epoch, batch=batch, examples=self._order[start : start + self._batch_size])

    def _shuffle(self, epoch: int) -> None:
        rng = np.random.default_rng([self._seed % 2**63, epoch])  # which takes no negative seed
        order = rng.permutation(len(self._lengths))
        size = self._batch_size * _BATCHES_PER_GROUP
        for start in range(0, len(order) if self._alike else 0, size):
            group = order[start : start + size]
            order[start : start + size] = group[np.argsort(self._lengths[group], kind="stable")]
        self._epoch, self._order, self._batches = epoch, order, rng.permutation(self.steps_per_epoch)


@dataclass(frozen=True)
class Ragged:
    """Rows of unequal length, end to end."""

    values: Ints
    offsets: npt.NDArray[np.int64]  # (rows + 1,)

    @classmethod
    def from_rows(cls, rows: list[Any], dtype: npt.DTypeLike) -> "Ragged":
        """Lay rows, each a list or an array, end to end."""
        lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        values = np.concatenate([np.asarray(row, dtype) for row in rows]) if rows else np.zeros(0, dtype)
        return cls(values, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))

    @classmethod
    def concatenate(cls, parts: list["Ragged"]) -> "Ragged":
        """The rows of all parts."""
        lengths = np.concatenate([part.lengths for part in parts])
        values = np.concatenate([part.values for part in parts])
        return cls(values, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))

    def take(self, rows: Ints) -> "Ragged":
        """Some rows, in the order given."""
        lengths = self.lengths[rows]
        values = self.values[slice_indices(self.offsets[rows], lengths)]
        return Ragged(values, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The length of every row."""
        return np.diff(self.offsets)

    def padded(self, rows: npt.NDArray[np.int64], fill: int) -> npt.NDArray[np.int64]:
        """Some rows as a rectangle, `fill` behind their ends."""
        return pad_rows(self.values, self.offsets[rows], self.lengths[rows], fill)


@dataclass(frozen=True, kw_only=True)
class Packing:
    """Examples laid into rows of one width, more than one in a row where they fit."""

    num_rows: int
    rows: npt.NDArray[np.int64]  # (examples,): the row of each
    columns: npt.NDArray[np.int64]  # (examples,): where it begins there


def pack(lengths: Ints, width: int) -> Packing:
    """Lay each example, the longest first, into the first row that has room for it."""
    room = np.full(len(lengths), width)
    rows, columns = np.zeros((2, len(lengths)), np.int64)
    for example in np.argsort(-lengths, kind="stable"):
        row = int(np.argmax(room >= lengths[example]))
        rows[example], columns[example] = row, width - room[row]
        room[row] -= lengths[example]
    return Packing(num_rows=int(np.count_nonzero(room < width)), rows=rows, columns=columns)


def pad_rows(values: Ints, starts: Ints, lengths: Ints, fill: int, width: int | None = None) -> npt.NDArray[np.int64]:
    """Slices of a flat array as the rows of a rectangle: as wide as the longest, or as `width` says."""
    if width is None:
        width = round_up(int(lengths.max(initial=1)))
    columns = np.arange(width)
    inside = columns < np.asarray(lengths)[:, None]  # (rows, width)
    result = np.full(inside.shape, fill, np.int64)
    result[inside] = values[(np.asarray(starts)[:, None] + columns)[inside]]
    return result


def slice_indices(starts: Ints, lengths: Ints) -> npt.NDArray[np.int64]:
    """The positions that some slices of a flat array cover, end to end."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(np.sum(lengths)))


def round_up(width: int) -> int:
    """The next multiple of 8."""
    return -(-width // _WIDTH_STEP) * _WIDTH_STEP


def uniform(seed: int, *keys: int | Ints) -> npt.NDArray[np.float64]:
    """Numbers in [0, 1) that are a function of the seed and the keys, which are broadcast (SplitMix64 at each key)."""
    state = np.full(1, seed, np.int64).view(np.uint64)
    for key in keys:
        state = _mix(state ^ _mix(np.atleast_1d(np.asarray(key, np.int64)).view(np.uint64)))
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scramble 64 bits (Steele, Lea and Flood 2014, section 4.2); products wrap, as they should."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
