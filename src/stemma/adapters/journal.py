"""A training run's record on this disk, one JSON line an event, before anything is sent anywhere.

The writer holds a lock on its file for as long as it lives, so that a file without an end and without a lock is the
record of a process that was killed. A line torn by a kill or a full disk is passed over; the lines around it are whole.
"""

import fcntl
import json
import logging
import math
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["JOURNALS", "Journal", "JournalReader", "JournalTracker", "now_in_milliseconds"]

JOURNALS = Path(".stemma/journal")
_log = logging.getLogger(__name__)


def now_in_milliseconds() -> int:
    """The time as MLflow keeps it."""
    return time.time_ns() // 1_000_000


class Journal:
    """The writer's side: appends events, and lives as long as its lock is held."""

    def __init__(self, folder: Path, stage: str, clock: Callable[[], int] = now_in_milliseconds) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.id = f"{stage}-{uuid.uuid4().hex[:12]}"
        self.path = folder / f"{self.id}.jsonl"
        self._clock = clock
        self._torn = self._warned = False
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)  # waits only for a sender that is just having a look

    def append(self, kind: str, **values: object) -> None:
        """Add one event; a disk that is full costs a warning and the event, never the caller."""
        event = {"kind": kind, "time": self._clock(), **values}
        line = json.dumps(event, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
        try:
            self._write(b"\n" + line if self._torn else line)
        except OSError as error:
            self._torn = True
            self._warn(error)

    def close(self) -> None:
        """Make the record safe on disk and let go of it."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            self._warn(error)
        os.close(self._descriptor)

    def _write(self, line: bytes) -> None:
        written = os.write(self._descriptor, line)
        if written != len(line):
            raise OSError("only a part of a line could be written")
        self._torn = False

    def _warn(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("%s: events of this run are lost, training goes on: %s", self.path, error)


class JournalTracker:
    """A `Tracker` that writes to a journal and to nothing else."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def log_params(self, params: Mapping[str, object]) -> None:
        """Keep settings."""
        self._journal.append("params", values={str(name): str(value) for name, value in params.items()})

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> None:
        """Keep one point of one or more curves."""
        self._journal.append(
            "metrics", step=int(step), values={name: _number(value) for name, value in metrics.items()}
        )

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Keep facts to find the run by."""
        self._journal.append("tags", values={name: str(value) for name, value in tags.items()})


@dataclass
class JournalReader:
    """The sender's side: the events of a journal that were not read yet."""

    path: Path
    _offset: int = 0
    _warned: bool = field(default=False, repr=False)

    def events(self) -> Iterator[dict[str, Any]]:
        """Every whole line since the last call."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return  # still being written, or torn by a kill
                self._offset += len(line)
                event = self._parse(line)
                if event is not None:
                    yield event

    def rewind(self) -> None:
        """Read from the start again."""
        self._offset = 0

    def writer_lives(self) -> bool:
        """Whether the process that writes this journal still holds it."""
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(descriptor)

    def _parse(self, line: bytes) -> dict[str, Any] | None:
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if isinstance(event, dict) and "kind" in event:
            return event
        if line.strip() and not self._warned:
            self._warned = True
            _log.warning("%s: a torn line is passed over", self.path)
        return None


def _number(value: float) -> float | str:
    """A float, or the name of one that JSON has no number for; `float()` reads both."""
    number = float(value)
    return number if math.isfinite(number) else str(number)
