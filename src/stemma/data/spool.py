"""Scratch files to put things aside in one order and take them up in another."""

import os
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["RowFile", "TextSpool"]

_JOINED = 1 << 18  # bytes up to which rows that lie side by side are read at once


class TextSpool:
    """Texts appended to a file and read back by position; reads are no memory maps, which would count as memory."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b", buffering=1 << 18)
        self._size = 0

    def append(self, data: bytes) -> int:
        """Add bytes and say where they begin."""
        begin = self._size
        self._file.write(data)
        self._size += len(data)
        return begin

    def read(self, begin: int, length: int) -> bytes:
        """The bytes from a position."""
        self._file.flush()
        data = os.pread(self._file.fileno(), length, begin)
        assert len(data) == length
        return data

    def __enter__(self) -> "TextSpool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


class RowFile:
    """Rows of one numpy type appended to a file, and read back by number."""

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self._file = path.open("w+b", buffering=1 << 18)
        self._dtype: np.dtype[Any] = np.dtype(dtype)
        self.num_rows = 0

    def append(self, rows: npt.NDArray[Any]) -> None:
        """Add rows."""
        self._file.write(rows.astype(self._dtype, copy=False).tobytes())
        self.num_rows += len(rows)

    def read(self, begin: int, count: int) -> npt.NDArray[Any]:
        """Rows side by side."""
        self._file.flush()
        size = self._dtype.itemsize
        return np.frombuffer(os.pread(self._file.fileno(), count * size, begin * size), dtype=self._dtype)

    def gather(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Rows by number, in the order asked for."""
        distinct, places = np.unique(numbers, return_inverse=True)
        rows = np.empty(len(distinct), dtype=self._dtype)
        most = max(1, _JOINED // self._dtype.itemsize)
        begin = 0
        while begin < len(distinct):
            reach = int(np.searchsorted(distinct, distinct[begin] + most))
            found = self.read(int(distinct[begin]), int(distinct[reach - 1] - distinct[begin]) + 1)
            rows[begin:reach] = found[distinct[begin:reach] - distinct[begin]]
            begin = reach
        return rows[places]

    def __enter__(self) -> "RowFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
