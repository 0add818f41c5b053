"""Arrays in a safetensors file, written and mapped without holding them in memory.

The `safetensors` library reads such a file; it writes one only from arrays that are in memory.
"""

import json
import mmap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stemma.errors import CorruptionError
from stemma.files import atomic_path

__all__ = ["MappedTensors", "Stream", "stream_file", "write_tensors"]

_NAMES = {"float32": "F32", "int64": "I64", "uint32": "U32", "uint64": "U64"}
_BLOCK = 1 << 16  # values at a time
_PIECE = 1 << 17  # of an array that is mapped at a time


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A one-dimensional array that comes in blocks."""

    dtype: npt.DTypeLike
    size: int
    blocks: Iterable[npt.NDArray[Any]]


class MappedTensors:
    """The arrays of a safetensors file, memory-mapped: what is not looked at is not read.

    A mapped page counts as the process's memory until it is given back. A `frugal` reader looks things up a piece of an
    array at a time, and gives each piece back when it is done with it.
    """

    def __init__(self, path: Path, *, frugal: bool = False) -> None:
        self._frugal = frugal
        types = {code: np.dtype(name) for name, code in _NAMES.items()}
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            data = np.frombuffer(self._map, np.uint8)
            start = 8 + int.from_bytes(data[:8].tobytes(), "little")
            header = json.loads(data[8:start].tobytes())
            header.pop("__metadata__", None)
            self._arrays = {
                name: data[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]].view(
                    types[entry["dtype"]]
                )
                for name, entry in header.items()
            }
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptionError(f"{path}: not a safetensors file of a known kind; make the model again") from error

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._arrays[name]

    def find(self, name: str, wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Where each wanted value is in a sorted array, -1 where it is not."""
        keys, places = self[name], np.full(len(wanted), -1)
        order = np.argsort(wanted)
        in_order = wanted[order]
        for start, piece in self._pieces(keys):
            first, last = in_order.searchsorted(piece[0]), in_order.searchsorted(piece[-1], side="right")
            found = piece.searchsorted(in_order[first:last])
            places[order[first:last]] = np.where(piece[found] == in_order[first:last], start + found, -1)
        return places

    def take(self, name: str, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """The values at some places; 0 at the place -1."""
        array = self[name]
        values = np.zeros(len(places), array.dtype)
        order = np.argsort(places)
        in_order = places[order]
        for start, piece in self._pieces(array):
            first, last = in_order.searchsorted([start, start + len(piece)])
            values[order[first:last]] = piece[in_order[first:last] - start]
        return values

    def _pieces(self, array: npt.NDArray[Any]) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        step = _PIECE if self._frugal else max(1, len(array))
        for start in range(0, len(array), step):
            yield start, array[start : start + step]
            if self._frugal:
                self._map.madvise(mmap.MADV_DONTNEED)


def stream_file(path: Path, stored: npt.DTypeLike) -> Iterator[npt.NDArray[Any]]:
    """The values of a raw file, in blocks."""
    dtype = np.dtype(stored)
    with path.open("rb") as file:
        while len(block := np.fromfile(file, dtype, _BLOCK)):
            yield block


def write_tensors(path: Path, tensors: Mapping[str, Stream]) -> None:
    """Write arrays in the format of safetensors, wide types first, so that each array lies aligned."""
    names = sorted(tensors, key=lambda name: (-np.dtype(tensors[name].dtype).itemsize, name))
    header: dict[str, object] = {}
    end = 0
    for name in names:
        dtype, size = np.dtype(tensors[name].dtype), tensors[name].size
        begin, end = end, end + dtype.itemsize * size
        header[name] = {"dtype": _NAMES[dtype.name], "shape": [size], "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            written = sum(_write_block(block, tensors[name].dtype, file) for block in tensors[name].blocks)
            assert written == tensors[name].size, f"{name}: {written} values instead of {tensors[name].size}"


def _write_block(block: npt.NDArray[Any], dtype: npt.DTypeLike, file: Any) -> int:
    np.ascontiguousarray(block, dtype).tofile(file)
    return len(block)
