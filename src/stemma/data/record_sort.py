"""External sort of numeric records, for more of them than memory holds.

A record is one row of some columns: first its key (one or more `uint64` columns, compared from left to right), then its
values. What fits into the memory given is sorted, by several threads if wanted, and written as runs; the runs are merged
block by block. What comes out depends on neither the memory nor the threads. Everything is numpy: no Python a record.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stemma.data.record_runs import MIN_RECORDS, Array, Columns, Run, Spool, merge_runs

__all__ = ["Columns", "RecordSorter", "cut_rows", "sort_order"]

_WORD = 64
_RECORDS_OF_A_RUN = 1024  # that are in memory while runs are merged: with fewer, a step costs more than its records
_LEAST_MERGED = 16


class RecordSorter:
    """Takes records in blocks, in any order, and gives them back in blocks, sorted.

    With `tally`, records are bare keys, and what comes back is each distinct key once, with how often it was added.
    `widths` says how many bits of each key column are used.
    """

    def __init__(
        self,
        folder: Path,
        *,
        widths: Sequence[int],
        values: Sequence[type[np.generic]] = (),
        tally: bool = False,
        memory: int,
        threads: int = 1,
    ) -> None:
        assert not (tally and values)
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._widths, self._tally = folder, tuple(widths), tally
        self._added = [np.dtype(np.uint64)] * len(widths) + [np.dtype(value) for value in values]
        self._kept = [*self._added, np.dtype(np.uint64)] if tally else self._added
        self._threads = threads
        self._capacity = max(MIN_RECORDS, memory // self._record_bytes())
        self._merged_at_once = max(_LEAST_MERGED, self._capacity // (2 * _RECORDS_OF_A_RUN))
        self._buffer: Columns = ()
        self._filled = 0
        self._spool: Spool | None = None
        self._runs: list[range] = []

    def add(self, *columns: Array) -> None:
        """Take a block of records."""
        start, size = 0, len(columns[0])
        while start < size:
            if not self._buffer:
                self._buffer = tuple(np.empty(self._capacity, dtype) for dtype in self._added)
            taken = min(size - start, self._capacity - self._filled)
            for target, column in zip(self._buffer, columns, strict=True):
                target[self._filled : self._filled + taken] = column[start : start + taken]
            self._filled += taken
            start += taken
            if self._filled == self._capacity:
                self._close_chunk()

    def blocks(self) -> Iterator[Columns]:
        """Give the records back in order, once; the scratch files are gone afterwards."""
        try:
            if self._spool is None:
                yield from self._only_chunk()
                return
            if self._filled:
                self._close_chunk()
            self._buffer = ()
            runs = self._runs
            while len(runs) > self._merged_at_once:
                runs = self._merge_some(runs)
            yield from self._merge(self._spool, runs)
        finally:
            if self._spool is not None:
                self._spool.close()

    def _only_chunk(self) -> Iterator[Columns]:
        """Without a single full chunk nothing goes to disk."""
        if self._filled:
            chunk = tuple(column[: self._filled] for column in self._buffer)
            self._buffer = ()
            yield self._in_order(chunk)

    def _close_chunk(self) -> None:
        """Write what memory holds as sorted runs, one a thread."""
        spool = self._spool = self._spool or Spool(self._folder, self._kept)
        size = -(-self._filled // self._threads)
        starts = range(0, self._filled, size)
        chunks = [tuple(column[start : min(start + size, self._filled)] for column in self._buffer) for start in starts]
        with ThreadPoolExecutor(self._threads) as pool:
            self._runs += pool.map(lambda chunk: spool.append(self._in_order(chunk)), chunks)
        self._filled = 0

    def _merge_some(self, runs: list[range]) -> list[range]:
        """Fewer, longer runs: of very many at once, too little of each would fit into memory."""
        before, self._spool = self._spool, Spool(self._folder, self._kept)
        assert before is not None
        merged = []
        for first in range(0, len(runs), self._merged_at_once):
            together = runs[first : first + self._merged_at_once]
            places = [self._spool.append(block) for block in self._merge(before, together)]
            merged.append(range(places[0].start, places[-1].stop))
        before.close()
        return merged

    def _merge(self, spool: Spool, runs: Sequence[range]) -> Iterator[Columns]:
        for block in merge_runs([Run(spool, run) for run in runs], self._capacity // 2, len(self._widths)):
            yield self._in_order(block)

    def _in_order(self, records: Columns) -> Columns:
        if self._tally and len(records) == 1:  # bare keys of one column: the fastest sort there is
            return _tally_sorted((np.sort(records[0]),), None)
        order = sort_order(records[: len(self._widths)], self._widths)
        records = tuple(column.take(order) for column in records)
        if not self._tally:
            return records
        keys = records[: len(self._widths)]
        return _tally_sorted(keys, records[-1] if len(records) > len(keys) else None)

    def _record_bytes(self) -> int:
        """What a record takes while its chunk is sorted: the chunk, its sorted copy, and what `sort_order` works with."""
        return 2 * sum(dtype.itemsize for dtype in self._kept) + 6 * 8


def sort_order(keys: Columns, widths: Sequence[int]) -> npt.NDArray[np.int64]:
    """The stable order of rows of `uint64` key columns, of which the low `widths` bits are used.

    Numpy sorts plain 64-bit numbers several times faster than it argsorts them. So the key is taken a few bits at a time,
    packed above the row's position and below the rank that the bits before gave it, and the packed numbers are sorted.
    """
    size = len(keys[0])
    order = np.arange(size)
    if size < 2:
        return order
    position_bits = (size - 1).bit_length()
    ranks: npt.NDArray[np.uint64] | None = None
    for key, width in zip(keys, widths, strict=True):
        left = width
        while left and (ranks is None or int(ranks[-1]) < size - 1):
            rank_bits = 0 if ranks is None else int(ranks[-1]).bit_length()
            taken = min(left, _WORD - position_bits - rank_bits)
            left -= taken
            packed = ((key if ranks is None else key.take(order)) >> np.uint64(left)) & np.uint64((1 << taken) - 1)
            if ranks is not None and rank_bits:
                packed |= ranks << np.uint64(taken)
            packed = (packed << np.uint64(position_bits)) | order.view(np.uint64)
            packed.sort()
            order = (packed & np.uint64((1 << position_bits) - 1)).view(np.int64)
            packed >>= np.uint64(position_bits)
            ranks = np.zeros(size, np.uint64)
            np.cumsum(packed[1:] != packed[:-1], out=ranks[1:])
    return order


def _tally_sorted(keys: Columns, counts: Array | None) -> Columns:
    """Each distinct key of sorted rows once, and the sum of its counts (or number of its rows)."""
    changed = np.zeros(len(keys[0]), bool)
    changed[0] = True
    for key in keys:
        changed[1:] |= key[1:] != key[:-1]
    starts = np.flatnonzero(changed)
    rows_of_each = np.diff(starts, append=len(changed)).astype(np.uint64)
    sums = rows_of_each if counts is None else np.add.reduceat(counts, starts)
    return (*(key[starts] for key in keys), sums)


def cut_rows(blocks: Iterable[Columns], size: int) -> Iterator[Columns]:
    """The same rows in smaller blocks."""
    for columns in blocks:
        for start in range(0, len(columns[0]), size):
            yield tuple(column[start : start + size] for column in columns)
