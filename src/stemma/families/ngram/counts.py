"""N-gram counts of a corpus that is larger than memory.

The windows of all tokens (see `windows`), packed into 64-bit words with the *last* token first, are sorted and
tallied outside memory. In that order all n-grams that end alike lie together, so one pass gives the counts of every
order, and for each n-gram its suffix and the number of different words that were seen before it.

So the n-grams of order k are numbered by their place in suffix order; the number is an n-gram's *node*. A unigram's node
is its token's id. A longer n-gram is found by the node of its suffix (itself without its first word) and its first word.
"""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from stemma.data.record_sort import Columns, RecordSorter
from stemma.families.ngram.windows import Flags, Ids, Packing, SentenceBlock, Symbols, cut, pad, windows

__all__ = ["Level", "NgramCounts", "count_ngrams"]

_SORT_SHARE = 0.6  # of the memory; the rest is for the windows of a block and the pass over the merged ones


@dataclass(frozen=True, kw_only=True)
class Level:
    """All n-grams of one order, in suffix order, on disk: a file a column."""

    order: int
    size: int
    num_ending: int  # how many of them end in </s>
    first_ending: int  # the first of those; they lie side by side
    folder: Path
    packing: Packing

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column, memory-mapped: `keys` (suffix node × vocabulary size + first word), `counts`, `left` or `words.<n>`."""
        if not self.size:
            return np.empty(0, np.uint64)
        return np.memmap(self.folder / name, np.uint64, "r")

    def rows(self, block: int) -> Iterator[tuple[int, Columns, npt.NDArray[np.uint64], npt.NDArray[np.uint64]]]:
        """For each block of n-grams: the first node, their words (last word first, packed), counts, numbers of left words."""
        names = [f"words.{index}" for index in range(len(self.packing.widths))]
        for start in range(0, self.size, block):
            columns = [
                np.fromfile(self.folder / name, np.uint64, block, offset=8 * start)
                for name in (*names, "counts", "left")
            ]
            yield start, tuple(columns[:-2]), columns[-2], columns[-1]


@dataclass(frozen=True, kw_only=True)
class NgramCounts:
    """The counts of every order."""

    symbols: Symbols
    unigrams: npt.NDArray[np.uint64]  # (vocabulary,): how often each token was seen; `<s>` once a sentence
    left: npt.NDArray[np.uint64]  # (vocabulary,): how many different tokens were seen before each
    levels: tuple[Level, ...]  # orders 2 and up

    @property
    def order(self) -> int:
        """The longest n-grams' length."""
        return len(self.levels) + 1


def count_ngrams(
    blocks: Iterable[SentenceBlock], symbols: Symbols, order: int, scratch: Path, *, memory: int, threads: int = 1
) -> NgramCounts:
    """Count all n-grams up to `order`; `scratch` holds the result's files, and is emptied first."""
    shutil.rmtree(scratch, ignore_errors=True)
    packing = Packing(order, symbols.size)  # the vocabulary's size itself stands for "before the sentence"
    sorter = RecordSorter(
        scratch / "runs", widths=packing.widths, tally=True, memory=int(memory * _SORT_SHARE), threads=threads
    )
    for ids, offsets in cut(blocks, max(1, memory // (64 * (order + 4)))):
        padded, starts = pad(symbols.readable(ids), offsets, symbols)
        sorter.add(*packing.pack(windows(padded, starts, order, symbols.size)))
    builder = _Builder(symbols, order, scratch, packing)
    piece = max(1, memory // (64 * (order + 4)))
    for columns in sorter.blocks():
        for start in range(0, len(columns[0]), piece):
            builder.add(tuple(column[start : start + piece] for column in columns))
    return builder.finish()


class _Builder:
    """Turns distinct windows in suffix order, which come in blocks, into the levels of all orders."""

    def __init__(self, symbols: Symbols, order: int, folder: Path, packing: Packing) -> None:
        self._symbols, self._order, self._packing = symbols, order, packing
        self._writers = [_LevelWriter(length, symbols, folder / f"level-{length}") for length in range(1, order + 1)]
        self._last: list[int] | None = None  # the window before this block

    def add(self, columns: Columns) -> None:
        """Take the next block: packed windows, and how often each was seen."""
        digits = self._packing.unpack(columns[:-1])
        is_new = np.zeros(len(digits[0]), bool)
        firsts: list[Flags] = []  # for each order: where a new n-gram begins
        present: list[Flags] = []  # for each order: where the window is that long
        for index, digit in enumerate(digits):
            is_new[1:] |= digit[1:] != digit[:-1]
            is_new[0] |= self._last is None or int(digit[0]) != self._last[index]
            present.append(digit != self._symbols.size)
            firsts.append(is_new & present[-1])
        self._last = [int(digit[-1]) for digit in digits]
        suffixes = np.zeros(len(is_new), np.int64)
        for index, writer in enumerate(self._writers):
            longer = firsts[index + 1] if index + 1 < self._order else None
            suffixes = writer.add(digits[: index + 1], suffixes, firsts[index], present[index], columns[-1], longer)

    def finish(self) -> NgramCounts:
        """Close the files."""
        levels = [writer.finish() for writer in self._writers]
        unigrams, left = (np.zeros(self._symbols.size, np.uint64) for _ in range(2))
        ids = levels[0].column("keys")
        unigrams[ids] = levels[0].column("counts")
        left[ids] = levels[0].column("left")
        return NgramCounts(symbols=self._symbols, unigrams=unigrams, left=left, levels=tuple(levels[1:]))


class _LevelWriter:
    """Writes the n-grams of one order. The last one is kept back: the next block may hold more of its windows."""

    def __init__(self, order: int, symbols: Symbols, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._order, self._symbols, self._folder = order, symbols, folder
        self._packing = Packing(order, symbols.size)
        names = ["keys", "counts", "left", *(f"words.{index}" for index in range(len(self._packing.widths)))]
        self._files: list[BinaryIO] = [(folder / name).open("wb") for name in names]
        self._open_row: Columns = ()
        self._size = self._num_ending = self._first_ending = 0

    def add(
        self,
        digits: list[Ids],
        suffixes: Ids,
        firsts: Flags,
        present: Flags,
        counts: npt.NDArray[np.uint64],
        longer: Flags | None,
    ) -> Ids:
        """Take a block of windows; return the node of each window's n-gram of this order."""
        nodes = digits[0] if self._order == 1 else self._size - 1 + np.cumsum(firsts)
        starts = np.flatnonzero(firsts[present])
        sums = [self._sum(counts[present], starts)]
        sums.append(self._sum(longer[present].astype(np.uint64), starts) if longer is not None else sums[0])
        if self._open_row:
            for column, (carried, _) in zip(self._open_row[1:3], sums, strict=True):
                column += carried
        if len(starts):
            keys = suffixes[firsts] * self._symbols.size + digits[-1][firsts]
            words = self._packing.pack([digit[firsts] for digit in digits])
            self._note_endings(digits[0][firsts])
            self._write((keys.astype(np.uint64), sums[0][1], sums[1][1], *words))
        return nodes

    def finish(self) -> Level:
        """Write the last n-gram."""
        for file, column in zip(self._files, self._open_row, strict=False):
            column.tofile(file)
        for file in self._files:
            file.close()
        return Level(
            order=self._order,
            size=self._size,
            num_ending=self._num_ending,
            first_ending=self._first_ending,
            folder=self._folder,
            packing=self._packing,
        )

    @staticmethod
    def _sum(
        addends: npt.NDArray[np.uint64], starts: npt.NDArray[np.int64]
    ) -> tuple[np.uint64, npt.NDArray[np.uint64]]:
        """What belongs to the n-gram that was open before this block, and the sums of those that begin in it."""
        if not len(starts):
            return addends.sum(dtype=np.uint64), np.empty(0, np.uint64)
        return addends[: starts[0]].sum(dtype=np.uint64), np.add.reduceat(addends, starts)

    def _note_endings(self, last_words: Ids) -> None:
        endings = np.flatnonzero(last_words == self._symbols.end)
        if len(endings) and not self._num_ending:
            self._first_ending = self._size + int(endings[0])
        self._num_ending += len(endings)

    def _write(self, rows: Columns) -> None:
        for file, held, column in zip(self._files, self._open_row or rows, rows, strict=True):
            if self._open_row:
                held.tofile(file)
            column[:-1].tofile(file)
        self._open_row = tuple(column[-1:].copy() for column in rows)
        self._size += len(rows[0])
