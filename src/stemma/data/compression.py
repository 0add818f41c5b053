"""Files read as bytes whether or not they are compressed; the file name's ending says how."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from stemma.errors import InputError

__all__ = ["is_compressed", "open_binary", "plain_name"]

_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


@contextmanager
def open_binary(path: Path, name: str) -> Iterator[BinaryIO]:
    """Open a file, decompressed; while it is read, bytes that can't be decompressed are an error that says `name`."""
    try:
        with _open(path) as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{name}: can't be read: {' '.join(str(error).split())}") from None


def is_compressed(path: Path) -> bool:
    """Whether a file's ending says that it is compressed."""
    return path.suffix in _SUFFIXES


def plain_name(name: str) -> str:
    """A file's name without the ending that says how it is compressed."""
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)


def _open(path: Path) -> BinaryIO:
    match path.suffix:
        case ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        case ".bz2":
            return cast(BinaryIO, bz2.open(path, "rb"))
        case ".xz":
            return cast(BinaryIO, lzma.open(path, "rb"))
        case ".zst":
            # Unlike the zstandard package's reader, Arrow's says when a file ends too early.
            return cast(BinaryIO, io.BufferedReader(pa.input_stream(str(path), compression="zstd"), 1 << 18))
    return path.open("rb")
