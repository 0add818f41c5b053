"""All n-grams of one order, on disk.

The n-grams of an order are numbered by their place in suffix order (compared by the last word, then the one before it, …);
the number is an n-gram's *node*. A unigram's node is its token's id. A longer n-gram is found by the node of its suffix
(itself without its first word) and its first word.

keys          suffix node × vocabulary size + first word
contexts.<n>  all words but the last, the one before the last first, packed
seen          how many tokens have an n-gram of this order that comes before this one; at the end, all
children      how many n-grams of the next order have a suffix that comes before this one; at the end, all

A count is the difference of two neighbours, so that n-grams can be written as they begin, however far they go on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from stemma.data.record_sort import Columns
from stemma.families.ngram.windows import Ids, Packing, Symbols

__all__ = ["ROWS", "Level", "LevelRows", "LevelWriter"]

ROWS = 1 << 15  # in one piece of work: few enough for the processor's cache

Counts = npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class LevelRows:
    """Some n-grams of one order, with numbers that count from the first of a block."""

    keys: Ids
    seen: Ids
    children: Ids
    contexts: Columns
    num_tokens: int  # of the block, that have an n-gram of this order


@dataclass(frozen=True, kw_only=True)
class Level:
    """All n-grams of one order; rows are read from `start` up to `stop`."""

    size: int
    folder: Path
    packing: Packing  # of the contexts

    @property
    def order(self) -> int:
        """How many words its n-grams have."""
        return self.packing.length + 1

    def spans(self, block: int) -> Iterator[tuple[int, int]]:
        """The starts and stops of blocks."""
        return ((start, min(start + block, self.size)) for start in range(0, self.size, block))

    def keys(self, start: int, stop: int) -> npt.NDArray[np.int64]:
        """Suffix node × vocabulary size + first word: ascending."""
        return self._read("keys", start, stop).view(np.int64)

    def counts(self, start: int, stop: int) -> Counts:
        """How often each was seen."""
        return np.diff(self._read("seen", start, stop + 1))

    def left(self, start: int, stop: int) -> Counts:
        """How many different words were seen before each; of the longest n-grams, which nothing is known of, the counts."""
        return np.diff(self._read("children", start, stop + 1))

    def contexts(self, start: int, stop: int) -> Columns:
        """All words but the last, packed."""
        return tuple(self._read(f"contexts.{index}", start, stop) for index in range(len(self.packing.widths)))

    def first_child(self, node: int) -> int:
        """The node of the next order's first n-gram whose suffix is this one or one after it."""
        return int(self._read("children", node, node + 1)[0])

    def _read(self, name: str, start: int, stop: int) -> npt.NDArray[np.uint64]:
        return np.fromfile(self.folder / name, np.uint64, stop - start, offset=8 * start)


class LevelWriter:
    """Writes the n-grams of one order, in blocks."""

    def __init__(self, order: int, symbols: Symbols, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder, self._symbols = folder, symbols
        self._packing = Packing(order - 1, symbols.size)
        names = ["keys", "seen", "children", *(f"contexts.{index}" for index in range(len(self._packing.widths)))]
        self._files: list[BinaryIO] = [(folder / name).open("wb") for name in names]
        self.size = self.num_tokens = 0

    def add(self, rows: LevelRows, suffixes: int, children: int) -> None:
        """Write a block's n-grams; before the block were so many possible suffixes and children."""
        keys = rows.keys + suffixes * self._symbols.size
        columns = (keys, rows.seen + self.num_tokens, rows.children + children, *rows.contexts)
        for file, column in zip(self._files, columns, strict=True):
            column.tofile(file)
        self.size += len(keys)
        self.num_tokens += rows.num_tokens

    def finish(self, children: int) -> Level:
        """Write the ends of the last n-gram, and close the files."""
        for file, end in zip(self._files[1:3], (self.num_tokens, children), strict=True):
            np.array([end]).tofile(file)
        for file in self._files:
            file.close()
        return Level(size=self.size, folder=self._folder, packing=self._packing)
