"""One stage at a time through DVC, each in a process group of its own that dies with this process."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from stemma.adapters import dvc
from stemma.errors import StageError

__all__ = ["FENCED", "StageFailedError", "StageProcesses", "is_chatter"]

Say = Callable[[str], None]

_TAIL_LINES: Final = 15
_TICK_SECONDS: Final = 2.0
_STOP_SECONDS: Final = 5.0
# PR_SET_PDEATHSIG outlives exec, so DVC itself dies when the flow is killed
FENCED: Final = (
    "import os, sys; from stemma.fence import die_with_parent; die_with_parent(); os.execv(sys.argv[1], sys.argv[1:])"
)
_TRANSIENT: Final = re.compile(
    r"Unable to acquire lock|is busy, it is being blocked by|database is locked"
    r"|Temporary failure in name resolution|Connection reset|ConnectTimeout|ReadTimeout|Read timed out"
)
_USER_ERROR: Final = re.compile(r"exited with 2\b")
_CHATTER: Final = re.compile(
    r"\s*|Running stage '.*|> .*|(Generating|Updating) lock file .*|To track the changes with git, run:|\s*git add .*"
    r"|To enable auto staging, run:|\s*dvc config core.autostage true|Use `dvc push` .*|Stage '.*' didn't change, skipping"
    r"|Data and pipelines are up to date\.|Stage '.*' is cached - skipping run, checking out outputs"
)


class StageFailedError(StageError):
    """A stage ended with an error; `transient` when trying again may help."""

    def __init__(self, stage: str, tail: list[str]) -> None:
        text = "\n".join(tail)
        self.stage, self.tail = stage, tail
        self.transient = bool(_TRANSIENT.search(text)) and not _USER_ERROR.search(text)
        super().__init__(f"{stage}: {_last_words(tail)}")


class StageProcesses:
    """The stages that run now; `stop` ends them all and lets no further one start."""

    def __init__(self, root: Path, variables: Mapping[str, str]) -> None:
        self._root, self._variables = root, dict(variables)
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, stage: str, say: Say, tick: Callable[[], None]) -> str:
        """Run one stage to its end; its lines go to `say`. Returns whether it `ran`, was `restored` or was `unchanged`."""
        process = self._start(stage)
        lines: list[str] = []
        reader = threading.Thread(target=_read_lines, args=(process, lines, say), daemon=True)
        reader.start()
        try:
            while _still_running(process):
                tick()
        finally:
            with self._lock:
                del self._running[stage]
        reader.join()
        if process.returncode:
            raise StageFailedError(stage, lines[-_TAIL_LINES:])
        return _outcome(lines)

    def group(self, stage: str) -> int | None:
        """The process group of a stage that runs now."""
        with self._lock:
            return self._running[stage].pid if stage in self._running else None

    def stop(self) -> None:
        """End every stage: politely, then not."""
        with self._lock:
            self._stopped = True
            processes = list(self._running.values())
        for kind in (signal.SIGTERM, signal.SIGKILL):
            for process in processes:
                _signal_group(process, kind)
            deadline = time.monotonic() + _STOP_SECONDS
            while any(process.poll() is None for process in processes) and time.monotonic() < deadline:
                time.sleep(0.05)

    def _start(self, stage: str) -> "subprocess.Popen[str]":
        command = dvc.command("--wait-for-lock", "repro", "--single-item", stage)
        with self._lock:
            if self._stopped:
                raise StageError(f"{stage}: not started, the run was stopped")
            process = subprocess.Popen(
                [sys.executable, "-c", FENCED, *command],
                cwd=self._root,
                env={**dvc.environment(self._root), **self._variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
            self._running[stage] = process
        return process


def is_chatter(line: str) -> bool:
    """Whether a line is DVC's own small talk, not a stage's."""
    return _CHATTER.fullmatch(line) is not None


def _read_lines(process: "subprocess.Popen[str]", lines: list[str], say: Say) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.append(line.rstrip())
            del lines[: max(0, len(lines) - 1000)]  # a stage may talk for hours
            say(lines[-1])


def _still_running(process: "subprocess.Popen[str]") -> bool:
    try:
        process.wait(_TICK_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def _signal_group(process: "subprocess.Popen[str]", kind: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, kind)


def _outcome(lines: list[str]) -> str:
    said = deque((line for line in lines if line.startswith("Stage '")), maxlen=1)
    if said and said[0].endswith("didn't change, skipping"):
        return "unchanged"
    if said and "is cached - skipping run" in said[0]:
        return "restored"
    return "ran"


def _last_words(tail: list[str]) -> str:
    """The line that says why: the stage's own error if it printed one, else the last that is no small talk."""
    own = [line for line in tail if line.startswith("stemma: ")]
    other = [line for line in tail if not is_chatter(line)]
    return (own or other or ["ended without a word"])[-1].removeprefix("stemma: ")
