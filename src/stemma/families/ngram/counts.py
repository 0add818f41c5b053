"""N-gram counts of a corpus that is larger than memory.

The windows of all tokens (see `windows`), packed into 64-bit words with the *last* token first, are sorted and
tallied outside memory. In that order all n-grams that end alike lie together, so one pass gives the n-grams of every
order, and for each its suffix, how often it was seen, and how many different words were seen before it (see `levels`).
"""

import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stemma.data.record_sort import Columns, RecordSorter, cut_rows
from stemma.data.sentence_blocks import SentenceBlock, cut
from stemma.families.ngram.levels import ROWS, Level, LevelRows, LevelWriter
from stemma.families.ngram.windows import Flags, Ids, Packing, Symbols, pad, windows

__all__ = ["NgramCounts", "count_ngrams"]

_SORT_SHARE = 0.6  # of the memory; the rest is for the windows of a block and the pass over the merged ones


@dataclass(frozen=True, kw_only=True)
class NgramCounts:
    """The counts of every order."""

    symbols: Symbols
    unigrams: npt.NDArray[np.uint64]  # (vocabulary,): how often each token was seen; `<s>` once a sentence
    left: npt.NDArray[np.uint64]  # (vocabulary,): how many different tokens were seen before each
    levels: tuple[Level, ...]  # orders 2 and up
    endings: tuple[range, ...]  # for each of them, the nodes of those that end in </s>: they lie side by side

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
    piece = max(1, min(ROWS, memory // (64 * threads * (order + 4))))
    for ids, offsets in cut(blocks, piece):
        padded, starts = pad(symbols.readable(ids), offsets, symbols)
        sorter.add(*packing.pack(windows(padded, starts, order, symbols.size)))
    return _Builder(symbols, packing, scratch).build(cut_rows(sorter.blocks(), piece), threads)


class _Builder:
    """Turns distinct windows in suffix order into the levels of all orders."""

    def __init__(self, symbols: Symbols, packing: Packing, folder: Path) -> None:
        self._symbols, self._packing = symbols, packing
        self._writers = [
            LevelWriter(length, symbols, folder / f"level-{length}") for length in range(1, packing.length + 1)
        ]

    def build(self, blocks: Iterable[Columns], threads: int) -> NgramCounts:
        """Find the n-grams of some blocks at a time, and write them in order."""
        work = _with_row_before(blocks)
        with ThreadPoolExecutor(threads) as pool:
            while some := list(islice(work, threads)):
                for levels in pool.map(partial(_find_ngrams, self._packing), *zip(*some, strict=True)):
                    self._write(levels)
        return self._finish()

    def _write(self, found: list[LevelRows]) -> None:
        # an id needs no shift, and the longest n-grams have their counts for children
        before = [0, 0, *(writer.size for writer in self._writers[1:]), self._writers[-1].num_tokens]
        for index, (writer, rows) in enumerate(zip(self._writers, found, strict=True)):
            writer.add(rows, suffixes=before[index], children=before[index + 2])

    def _finish(self) -> NgramCounts:
        sizes = [*(writer.size for writer in self._writers[1:]), self._writers[-1].num_tokens]
        first, *levels = (writer.finish(size) for writer, size in zip(self._writers, sizes, strict=True))
        unigrams, left = np.zeros((2, self._symbols.size), np.uint64)
        ids = first.keys(0, first.size)
        unigrams[ids] = first.counts(0, first.size)
        left[ids] = first.left(0, first.size)
        start, stop = ids.searchsorted([self._symbols.end, self._symbols.end + 1]).tolist()
        endings = []
        for level in (first, *levels)[:-1]:
            start, stop = level.first_child(start), level.first_child(stop)
            endings.append(range(start, stop))
        return NgramCounts(
            symbols=self._symbols, unigrams=unigrams, left=left, levels=tuple(levels), endings=tuple(endings)
        )


def _with_row_before(blocks: Iterable[Columns]) -> Iterator[tuple[Columns, Columns]]:
    """The row before each block (none before the first), and the block."""
    before: Columns = ()
    for columns in blocks:
        yield before, columns
        before = tuple(column[-1:] for column in columns)


def _find_ngrams(packing: Packing, before: Columns, columns: Columns) -> list[LevelRows]:
    """For each order the n-grams that begin in a block of windows."""
    digits, counts = packing.unpack(columns[:-1]), columns[-1].view(np.int64)
    present = [digit != packing.largest for digit in digits]
    firsts = [new & there for new, there in zip(_is_new(before, digits, packing), present, strict=True)]
    nodes = [digits[0], *(np.cumsum(first) - 1 for first in firsts[1:])]
    contexts = Packing(packing.length - 1, packing.largest)
    packed = contexts.pack(digits[1:])
    found = []
    for index, first in enumerate(firsts):
        at = np.flatnonzero(first)
        seen = np.cumsum(counts * present[index])
        seen_before = children_before = seen.take(at) - counts.take(at)
        if index + 1 < len(firsts):
            children_before = nodes[index + 1].take(at) + ~firsts[index + 1].take(at)
        suffixes = nodes[index - 1].take(at) if index else 0
        rows = LevelRows(
            keys=suffixes * packing.largest + digits[index].take(at),
            seen=seen_before,
            children=children_before,
            contexts=contexts.begin(tuple(column.take(at) for column in packed), index),
            num_tokens=int(seen[-1]),
        )
        found.append(rows)
    return found


def _is_new(before: Columns, digits: list[Ids], packing: Packing) -> Iterator[Flags]:
    """For each order, whether a window's n-gram (or the lack of one) differs from that of the window before."""
    last = packing.unpack(before[:-1]) if before else None
    flags = np.zeros(len(digits[0]), bool)
    for index, digit in enumerate(digits):
        flags[1:] |= digit[1:] != digit[:-1]
        flags[0] |= last is None or digit[0] != last[index][0]
        yield flags
