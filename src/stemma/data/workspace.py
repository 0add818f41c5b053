"""What whole-corpus work may use: a scratch folder that goes away, and so much memory."""

import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from stemma.errors import SettingsError

__all__ = [
    "Workspace",
    "data_threads",
    "keep_freed_memory",
    "keep_no_large_blocks",
    "memory_limit",
    "open_workspace",
    "return_freed_memory",
    "scratch_root",
]

_DEFAULT_MEMORY: Final = 256 << 20
_M_TRIM_THRESHOLD: Final = -1  # of malloc.h
_M_MMAP_THRESHOLD: Final = -3
_NEVER: Final = (1 << 31) - 1


@dataclass(frozen=True)
class Workspace:
    """A scratch folder and a number of bytes."""

    folder: Path
    memory_limit: int


@contextmanager
def open_workspace(stage: str) -> Iterator[Workspace]:
    """A fresh folder below `STEMMA_SCRATCH`, and the bytes that `STEMMA_MEMORY_LIMIT` allows; neither changes a result."""
    root = scratch_root()
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{stage}-", dir=root) as folder:
        yield Workspace(Path(folder), memory_limit())


def scratch_root() -> Path:
    """The folder for what need not be kept: `STEMMA_SCRATCH`, or the project's own, which `make clean` removes."""
    return Path(os.environ.get("STEMMA_SCRATCH") or ".stemma/scratch")


def memory_limit() -> int:
    """The bytes that `STEMMA_MEMORY_LIMIT` allows for sorting and the like."""
    return _positive("STEMMA_MEMORY_LIMIT", _DEFAULT_MEMORY, "bytes")


def data_threads() -> int:
    """How many threads the data path may use (`STEMMA_DATA_THREADS`): as many as there are cores, if it does not say."""
    return _positive("STEMMA_DATA_THREADS", os.cpu_count() or 1, "threads")


def keep_no_large_blocks() -> None:
    """Let the C library give blocks of a MiB and more back to the system as soon as they are free, and let Arrow use it too.

    By itself the library learns from the largest block that was freed to keep blocks up to that size, and Arrow keeps what it
    may need again. For work on strings: arrays that come again and again would be slow.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    for setting in (_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD):
        _call_malloc("mallopt", setting, 1 << 20)


def keep_freed_memory() -> None:
    """Let the C library keep what is freed, for work whose arrays come again and again.

    By itself it gives large blocks back to the system, which then clears every page of them anew.
    """
    for setting, size in ((_M_TRIM_THRESHOLD, _NEVER), (_M_MMAP_THRESHOLD, 1 << 30)):
        _call_malloc("mallopt", setting, size)


def return_freed_memory() -> None:
    """Give what is free back to the system, once: between long-lived blocks the C library would keep it."""
    _call_malloc("malloc_trim", 0)


def _call_malloc(function: str, *arguments: int) -> None:
    if sys.platform == "linux":
        with suppress(AttributeError):  # another C library than glibc
            getattr(ctypes.CDLL(None), function)(*arguments)


def _positive(variable: str, default: int, unit: str) -> int:
    value = os.environ.get(variable) or str(default)
    if not value.isdecimal() or int(value) == 0:
        raise SettingsError(f"{variable}: {value!r} is not a number of {unit}")
    return int(value)
