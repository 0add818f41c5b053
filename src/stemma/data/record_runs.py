"""Sorted runs of numeric records on disk, and merging them block by block: the lower half of `record_sort`."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["MIN_RECORDS", "Array", "Columns", "Run", "Spool", "merge_runs"]

Array = npt.NDArray[Any]
Columns = tuple[Array, ...]

MIN_RECORDS = 64  # in memory, however little of it is given


class Spool:
    """Sorted chunks on disk, one after another, in a file a column."""

    def __init__(self, folder: Path, dtypes: Sequence[np.dtype[Any]]) -> None:
        # without a name a file goes away with the process, however that ends
        self._files = [tempfile.TemporaryFile(dir=folder, buffering=0) for _ in dtypes]  # noqa: SIM115 `close` does
        self._dtypes, self._size, self._lock = dtypes, 0, Lock()

    def append(self, records: Columns) -> range:
        """Write records; say where they are."""
        with self._lock:
            place = range(self._size, self._size + len(records[0]))
            self._size = place.stop
        for file, column in zip(self._files, records, strict=True):
            data = np.ascontiguousarray(column).data.cast("B")
            offset = place.start * column.itemsize
            while data:
                written = os.pwrite(file.fileno(), data, offset)
                data, offset = data[written:], offset + written
        return place

    def read(self, start: int, count: int) -> Columns:
        """Some records again."""
        return tuple(
            np.frombuffer(os.pread(file.fileno(), count * dtype.itemsize, start * dtype.itemsize), dtype)
            for file, dtype in zip(self._files, self._dtypes, strict=True)
        )

    def close(self) -> None:
        """Give the space on disk back."""
        for file in self._files:
            file.close()


class Run:
    """One sorted chunk of a spool, read from the front."""

    def __init__(self, spool: Spool, place: range) -> None:
        self._spool, self._left = spool, place
        self._block: Columns = ()

    def fill(self, count: int) -> bool:
        """Read on until there are so many records to take; false when the run is at its end.

        All runs are full at each step of a merge, so that a step merges nearly all that is in memory.
        """
        missing = count - len(self._block[0]) if self._block else count
        if missing and self._left:
            now, self._left = self._left[:missing], self._left[missing:]
            read = self._spool.read(now.start, len(now))
            self._block = tuple(map(np.concatenate, zip(self._block, read, strict=True))) if self._block else read
        return len(self._block[0]) > 0

    def bound(self, num_keys: int) -> tuple[int, ...] | None:
        """The key up to which this run can be merged before more of it must be read; none when all of it is here."""
        if not self._left:
            return None
        return tuple(int(column[-1]) for column in self._block[:num_keys])

    def take(self, bound: tuple[int, ...] | None) -> Columns:
        """Remove and return the records up to and with the key `bound`."""
        count = len(self._block[0]) if bound is None else _count_up_to(self._block, bound)
        taken = tuple(column[:count] for column in self._block)
        self._block = tuple(column[count:] for column in self._block)
        return taken


def merge_runs(runs: list[Run], capacity: int, num_keys: int) -> Iterator[Columns]:
    """Blocks that together hold all records; no key of a block is greater than one of the next."""
    count = max(MIN_RECORDS, capacity // len(runs))
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
        last = first + int(piece.searchsorted(key, side="right"))
        first = first + int(piece.searchsorted(key, side="left"))
    return last
