"""Scratch files to put things aside in one order and take them up in another."""

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

__all__ = ["RowFile", "TextSpool"]

_JOINED = 1 << 18  # bytes up to which rows that lie side by side are read at once


class TextSpool:
    """Texts appended to files of a folder, one a process, and read back by place; no memory maps, which count as memory.

    Any process may append: it needs the folder alone.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._files: dict[int, BinaryIO] = {}

    @staticmethod
    def append(folder: Path, pieces: Iterable[bytes | bytearray]) -> tuple[int, int]:
        """Add pieces, end to end, to this process's file; say which that is, and where they begin."""
        process = os.getpid()
        with (folder / str(process)).open("ab") as file:
            begin = file.tell()
            file.writelines(pieces)
        return process, begin

    def read(self, process: int, begin: int, length: int) -> bytes:
        """The bytes from a place."""
        if process not in self._files:
            self._files[process] = (self._folder / str(process)).open("rb")
        data = os.pread(self._files[process].fileno(), length, begin)
        assert len(data) == length
        return data

    def __enter__(self) -> "TextSpool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()


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
