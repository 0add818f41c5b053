"""Rows whose key stood somewhere before, found over any number of rows by an external sort of hashes."""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from stemma.data.record_sort import RecordSorter
from stemma.data.workspace import Workspace
from stemma.errors import InputError

__all__ = ["Places", "Repeats", "find_repeats"]

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Repeats:
    """The rows that repeat another, in order, and for each the first row with its key."""

    rows: Positions
    firsts: Positions

    def __len__(self) -> int:
        return len(self.rows)

    def count(self, start: int, stop: int) -> int:
        """How many rows from `start` up to `stop` repeat another."""
        first, last = np.searchsorted(self.rows, (start, stop))
        return int(last - first)

    def within(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The repeating rows from `start` up to `stop`, each with its first."""
        span = slice(*np.searchsorted(self.rows, (start, stop)))
        return zip(self.rows[span].tolist(), self.firsts[span].tolist(), strict=True)


@dataclass(frozen=True)
class Places:
    """The files that rows are numbered through, each with its first row's number."""

    names: Sequence[str]
    starts: Sequence[int]
    num_rows: int

    @classmethod
    def of(cls, paths: Iterable[Path]) -> "Places":
        """Number the rows of parquet files, in order."""
        names, starts, num_rows = [], [], 0
        for path in paths:
            names.append(path.name)
            starts.append(num_rows)
            num_rows += _count_rows(path)
        return cls(names, starts, num_rows)

    def start(self, name: str) -> int:
        """The number of a file's first row."""
        return self.starts[self.names.index(name)]

    def locate(self, row: int) -> tuple[str, int]:
        """The file that a row stands in, and its position there."""
        file = bisect_right(self.starts, row) - 1
        return self.names[file], row - self.starts[file]

    def name_row(self, row: int) -> str:
        """Where a row stands, in words."""
        name, position = self.locate(row)
        return f"{name} row {position}"

    def describe(
        self, repeats: Repeats, start: int, count: int, name_row: Callable[[int], str] | None = None
    ) -> pa.Array:
        """For each of `count` rows, where its first stands; null for a row that repeats nothing."""
        described: list[str | None] = [None] * count
        for row, first in repeats.within(start, start + count):
            described[row - start] = (name_row or self.name_row)(first)
        return pa.array(described, pa.string())

    def across_files(self, repeats: Repeats) -> Repeats:
        """Those repeats whose first stands in another file."""
        files, firsts = (np.searchsorted(self.starts, rows, side="right") for rows in (repeats.rows, repeats.firsts))
        across = files != firsts
        return Repeats(repeats.rows[across], repeats.firsts[across])


def _count_rows(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; run the stage that writes it") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: not readable as parquet: {' '.join(str(error).split())}") from None


def find_repeats(keys: Iterable[Sequence[str]], workspace: Workspace) -> Repeats:
    """Number the keys in the order of their blocks and find those that came before."""
    sorter = RecordSorter(workspace.folder, widths=(64, 64, 64), memory=workspace.memory_limit)
    start = 0
    for block in keys:
        hashes = _hash(block)
        positions = np.arange(start, start + len(block), dtype=np.uint64)
        sorter.add(hashes[:, 0], hashes[:, 1], positions)
        start += len(block)
    pairs = list(_repeats_of_sorted(sorter.blocks()))
    rows = np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in pairs)])
    firsts = np.concatenate([np.empty(0, np.int64), *(firsts for _, firsts in pairs)])
    order = np.argsort(rows)
    return Repeats(rows[order], firsts[order])


def _hash(keys: Sequence[str]) -> npt.NDArray[np.uint64]:
    data = b"".join(hashlib.blake2b(key.encode(), digest_size=16).digest() for key in keys)
    return np.frombuffer(data, "<u8").reshape(-1, 2)


def _repeats_of_sorted(blocks: Iterable[Sequence[npt.NDArray[np.uint64]]]) -> Iterator[tuple[Positions, Positions]]:
    """Of rows sorted by hash and position: all but the first of each hash; a hash may go on in the next block."""
    carried: tuple[int, int, int] | None = None  # the last hash, and the first position that it had
    for high, low, position in blocks:
        changed = np.ones(len(high), np.bool_)
        changed[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        goes_on = carried is not None and (int(high[0]), int(low[0])) == carried[:2]
        changed[0] = not goes_on
        group = np.cumsum(changed) - 1
        starts = position[changed].astype(np.int64)
        first = starts[group] if not goes_on else np.append(starts, carried[2] if carried else 0)[group]
        yield position[~changed].astype(np.int64), first[~changed]
        carried = (int(high[-1]), int(low[-1]), int(first[-1]))
