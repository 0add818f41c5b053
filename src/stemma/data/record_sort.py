"""External sort of numeric records, for more of them than memory holds.

A record is one row of some columns: first its key (one or more `uint64` columns, compared from left to right), then its
values. Chunks that fit into the memory given are sorted, by several threads if wanted, and written as runs; the runs are
merged block by block. What comes out depends on neither the memory nor the threads. Everything is numpy: no Python a record.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Columns", "RecordSorter", "sort_order"]

Array = npt.NDArray[Any]
Columns = tuple[Array, ...]

_WORD = 64
_MIN_RECORDS = 64


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
        self._folder, self._widths, self._tally, self._memory = folder, tuple(widths), tally, memory
        self._added = [np.dtype(np.uint64)] * len(widths) + [np.dtype(value) for value in values]
        self._kept = [*self._added, np.dtype(np.uint64)] if tally else self._added
        in_flight = threads + 1 if threads > 1 else 1  # chunks being sorted, and the one being filled
        self._capacity = max(_MIN_RECORDS, memory // (in_flight * self._record_bytes()))
        self._buffer: Columns = ()
        self._filled = 0
        self._runs: list[Future[_Run]] = []
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._in_flight = in_flight

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
            if not self._runs:
                yield from self._only_chunk()
                return
            if self._filled:
                self._close_chunk()
            self._buffer = ()
            runs = [run.result() for run in self._runs]
            for merged in _merge(runs, self._memory // (2 * self._record_bytes()), len(self._widths)):
                yield self._in_order(merged)
            for run in runs:
                run.remove()
        finally:
            if self._pool is not None:
                self._pool.shutdown()

    def _only_chunk(self) -> Iterator[Columns]:
        """Without a single full chunk nothing goes to disk."""
        if self._filled:
            chunk = tuple(column[: self._filled] for column in self._buffer)
            self._buffer = ()
            yield self._in_order(chunk)

    def _close_chunk(self) -> None:
        chunk = tuple(column[: self._filled] for column in self._buffer)
        self._buffer, self._filled = (), 0
        path = self._folder / f"run-{len(self._runs):05d}"
        if self._pool is None:
            future: Future[_Run] = Future()
            future.set_result(self._write_run(path, chunk))
            self._runs.append(future)
            return
        if len(self._runs) >= self._in_flight - 1:
            self._runs[1 - self._in_flight].result()  # wait for the oldest: memory holds no more chunks than planned
        self._runs.append(self._pool.submit(self._write_run, path, chunk))

    def _write_run(self, path: Path, chunk: Columns) -> "_Run":
        records = self._in_order(chunk)
        run = _Run(path, [np.dtype(column.dtype) for column in records], len(records[0]))
        run.write(records)
        return run

    def _in_order(self, records: Columns) -> Columns:
        if self._tally and len(records) == 1:  # bare keys of one column: the fastest sort there is
            return _tally_sorted((np.sort(records[0]),), None)
        order = sort_order(records[: len(self._widths)], self._widths)
        records = tuple(column[order] for column in records)
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
    position_bits = (size - 1).bit_length()
    order = np.arange(size)
    if size < 2:
        return order
    positions = np.arange(size, dtype=np.uint64)
    ranks: npt.NDArray[np.uint64] | None = None
    for key, width in zip(keys, widths, strict=True):
        left = width
        while left and (ranks is None or int(ranks[-1]) < size - 1):
            rank_bits = 0 if ranks is None else int(ranks[-1]).bit_length()
            taken = min(left, _WORD - position_bits - rank_bits)
            left -= taken
            packed = (key[order] >> np.uint64(left)) & np.uint64((1 << taken) - 1)
            if ranks is not None and rank_bits:
                packed |= ranks << np.uint64(taken)
            packed = np.sort((packed << np.uint64(position_bits)) | positions)
            order = order[(packed & np.uint64((1 << position_bits) - 1)).astype(np.int64)]
            packed >>= np.uint64(position_bits)
            ranks = np.zeros(size, np.uint64)
            np.cumsum(packed[1:] != packed[:-1], out=ranks[1:])
    return order


class _Run:
    """Sorted records on disk, a file a column, read from the front."""

    def __init__(self, path: Path, dtypes: list[np.dtype[Any]], size: int) -> None:
        self._paths = [path.with_name(f"{path.name}.{index}") for index in range(len(dtypes))]
        self._dtypes, self._size, self._read = dtypes, size, 0
        self._block: Columns = ()

    def write(self, records: Columns) -> None:
        for path, column in zip(self._paths, records, strict=True):
            column.tofile(path)

    def remove(self) -> None:
        for path in self._paths:
            path.unlink()

    def fill(self, count: int) -> bool:
        """Make sure that there are records to take; false when the run is at its end."""
        if not self._block or not len(self._block[0]):
            count = min(count, self._size - self._read)
            self._block = tuple(
                np.fromfile(path, dtype, count, offset=self._read * dtype.itemsize)
                for path, dtype in zip(self._paths, self._dtypes, strict=True)
            )
            self._read += count
        return len(self._block[0]) > 0

    def bound(self, num_keys: int) -> tuple[int, ...] | None:
        """The key up to which this run can be merged before more of it must be read; none when all of it is here."""
        if self._read == self._size:
            return None
        return tuple(int(column[-1]) for column in self._block[:num_keys])

    def take(self, bound: tuple[int, ...] | None) -> Columns:
        """Remove and return the records up to and with the key `bound`."""
        count = len(self._block[0]) if bound is None else _count_up_to(self._block, bound)
        taken = tuple(column[:count] for column in self._block)
        self._block = tuple(column[count:] for column in self._block)
        return taken


def _merge(runs: list[_Run], capacity: int, num_keys: int) -> Iterator[Columns]:
    """Blocks that together hold all records; no key of a block is greater than one of the next."""
    count = max(_MIN_RECORDS, capacity // len(runs))
    runs = [run for run in runs if run.fill(count)]
    while runs:
        bounds = [bound for run in runs if (bound := run.bound(num_keys)) is not None]
        bound = min(bounds) if bounds else None
        pieces = [run.take(bound) for run in runs]
        yield tuple(np.concatenate(columns) for columns in zip(*pieces, strict=True))
        runs = [run for run in runs if run.fill(count)]


def _count_up_to(columns: Columns, bound: tuple[int, ...]) -> int:
    """How many of the sorted rows have a key that is not greater than `bound`."""
    first, last = 0, len(columns[0])
    for column, value in zip(columns, bound, strict=False):
        piece = column[first:last]
        key = np.uint64(value)
        last = first + int(np.searchsorted(piece, key, side="right"))
        first = first + int(np.searchsorted(piece, key, side="left"))
    return last


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
