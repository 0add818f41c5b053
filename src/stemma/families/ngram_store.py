"""Arrays in a safetensors file, written and mapped without holding them in memory.

The `safetensors` library reads such a file; it writes one only from arrays that are in memory.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stemma.errors import CorruptionError
from stemma.files import atomic_path

__all__ = ["Stream", "map_tensors", "stream_file", "write_tensors"]

_NAMES = {"float32": "F32", "int64": "I64", "uint32": "U32", "uint64": "U64"}
_BLOCK = 1 << 18  # values at a time


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A one-dimensional array that comes in blocks."""

    dtype: npt.DTypeLike
    size: int
    blocks: Iterable[npt.NDArray[Any]]


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


def map_tensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a safetensors file, memory-mapped: what is not looked at is not read."""
    types = {code: np.dtype(name) for name, code in _NAMES.items()}
    try:
        data = np.memmap(path, np.uint8, "r")
        start = 8 + int.from_bytes(data[:8].tobytes(), "little")
        header = json.loads(data[8:start].tobytes())
        header.pop("__metadata__", None)
        return {
            name: data[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]].view(types[entry["dtype"]])
            for name, entry in header.items()
        }
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptionError(f"{path}: not a safetensors file of a known kind; make the model again") from error


def _write_block(block: npt.NDArray[Any], dtype: npt.DTypeLike, file: Any) -> int:
    np.ascontiguousarray(block, dtype).tofile(file)
    return len(block)
