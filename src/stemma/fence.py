"""Two fences around a process that writes: it dies with the process that started it, and keeps a second writer out.

`kill -9` of `dvc repro` leaves the running stage behind as an orphan, and the next `dvc repro` would start the same stage
beside it. The kernel kills a stage whose parent has died (Linux only; elsewhere the lock alone fences it).
"""

import ctypes
import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO

from stemma.errors import BusyError

__all__ = ["LOCKS", "die_with_parent", "hold"]

LOCKS = Path(".stemma/locks")
_PR_SET_PDEATHSIG = 1
_SHELLS = frozenset({"ash", "bash", "busybox", "dash", "fish", "ksh", "sh", "zsh"})
_POLL_SECONDS = 0.5


@cache
def die_with_parent() -> None:
    """Let this process be killed as soon as the one that started it is gone; call it early, from the main thread.

    A shell that stands between DVC and the stage lives on when DVC is killed, so then its own parent is watched as well.
    A stage that a person started from a shell, outside DVC, is left alone: it may be meant to survive the terminal.
    """
    if sys.platform != "linux":
        return
    parent = os.getppid()
    behind_shell = _command(parent) in _SHELLS
    if behind_shell and "DVC_STAGE" not in os.environ:
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the kernel knew
        _die()
    if behind_shell:
        grandparent = _parent(parent)
        watched = (grandparent, _start_time(grandparent))
        threading.Thread(target=_watch, args=watched, name="die-with-parent", daemon=True).start()


@contextmanager
def hold(name: str, *, folder: Path = LOCKS, wait: float = 3.0) -> Iterator[None]:
    """Hold the lock `name` of this project, or say who does after `wait` seconds. The kernel frees it when we die."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.lock"
    with path.open("a+", encoding="utf-8") as file:
        _acquire(file, path, wait)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _acquire(file: IO[str], path: Path, wait: float) -> None:
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                file.seek(0)
                holder = file.read().strip() or "unknown"
                raise BusyError(
                    f"{path}: process {holder} is at work on {path.stem!r}; wait until it ends, or stop it"
                ) from None
            time.sleep(0.05)
        else:
            return


def _watch(process: int, started: str) -> None:
    while _start_time(process) == started:
        time.sleep(_POLL_SECONDS)
    _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _command(process: int) -> str:
    return _stat(process)[0]


def _parent(process: int) -> int:
    return int(_stat(process)[2] or 0)


def _start_time(process: int) -> str:
    """Clock ticks from boot to the process's start: with its id, what tells it from a later one of the same id."""
    return _stat(process)[20]


def _stat(process: int) -> list[str]:
    """The fields of /proc/PID/stat from the command on, all empty when there is no such process any more."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return [""] * 50
    _, _, rest = text.partition("(")
    command, _, rest = rest.rpartition(")")
    fields = rest.split()
    return [command, *fields] if fields[0] != "Z" else [""] * 50
