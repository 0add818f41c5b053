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

import zstandard

from stemma.errors import InputError

__all__ = ["open_binary", "plain_name"]

_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


@contextmanager
def open_binary(path: Path, name: str) -> Iterator[BinaryIO]:
    """Open a file, decompressed; while it is read, bytes that can't be decompressed are an error that says `name`."""
    try:
        with _open(path) as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except (EOFError, OSError, lzma.LZMAError, zlib.error, zstandard.ZstdError) as error:
        raise InputError(f"{name}: can't be read: {' '.join(str(error).split())}") from None


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
            return cast(BinaryIO, io.BufferedReader(_zstd_reader(path), 1 << 18))
    return path.open("rb")


def _zstd_reader(path: Path) -> io.RawIOBase:
    reader = zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True, closefd=True)
    return cast(io.RawIOBase, reader)
