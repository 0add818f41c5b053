"""Where a long-running step says how far it is.

A stage reports to one `Progress`; who shows it decides the process's environment: a bar on a terminal, a line now and then
in a log, and, under a flow, a small file in `STEMMA_PROGRESS_DIR` that the flow reads to draw the bars of all stages.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Protocol

__all__ = ["NullProgress", "Progress", "StageProgress", "describe", "open_progress"]


class Progress(Protocol):
    """Told of the work done so far; cheap to call on every step."""

    def start(self, what: str, total: int | None, unit: str) -> None:
        """Begin a part of the work: `what` it is, and how many `unit`s it takes if that is known."""

    def update(self, done: int, values: Mapping[str, float] | None = None) -> None:
        """Say that `done` units are behind, with figures of interest (loss, tokens_per_second)."""


class NullProgress:
    """Shows nothing."""

    def start(self, what: str, total: int | None, unit: str) -> None:
        """Begin a part of the work."""

    def update(self, done: int, values: Mapping[str, float] | None = None) -> None:
        """Say how much is behind."""


class StageProgress:
    """Writes a line every few seconds, or redraws one on a terminal, or a state file for a flow to read."""

    def __init__(self, stage: str, *, directory: Path | None, interval: float, clock: Callable[[], float]) -> None:
        self._stage, self._directory, self._interval, self._clock = stage, directory, interval, clock
        self._what, self._unit = "", ""
        self._total: int | None = None
        self._begun = self._shown = clock()
        self._live = sys.stderr.isatty() and directory is None

    def start(self, what: str, total: int | None, unit: str) -> None:
        """Begin a part of the work."""
        self._what, self._total, self._unit = what, total, unit
        self._begun = self._clock()
        self._shown = self._begun - self._interval
        self.update(0)

    def update(self, done: int, values: Mapping[str, float] | None = None) -> None:
        """Show the state, at most once an interval."""
        now = self._clock()
        finished = self._total is not None and done >= self._total
        if now - self._shown < self._interval and not finished:
            return
        self._shown = now
        elapsed = now - self._begun
        left = elapsed / done * (self._total - done) if self._total and done else None
        state = {
            "stage": self._stage,
            "what": self._what,
            "unit": self._unit,
            "done": done,
            "total": self._total,
            "seconds_left": left,
            "values": dict(values or {}),
        }
        self._show(state)

    def close(self) -> None:
        """Leave the terminal on a fresh line, and no state file behind."""
        if self._live:
            print(file=sys.stderr)
        if self._directory is not None:
            self._state_path(self._directory).unlink(missing_ok=True)

    def __enter__(self) -> "StageProgress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _show(self, state: dict[str, object]) -> None:
        if self._directory is not None:
            path = self._state_path(self._directory)
            temporary = path.with_suffix(".tmp")
            temporary.write_text(json.dumps(state), encoding="utf-8")  # a glimpse, not a result: no fsync
            temporary.replace(path)
        elif self._live:
            print(f"\r\033[2K{describe(state)}", end="", file=sys.stderr, flush=True)
        else:
            print(describe(state), file=sys.stderr, flush=True)

    def _state_path(self, directory: Path) -> Path:
        return directory / f"{self._stage}.json"


@contextmanager
def open_progress(stage: str) -> Iterator[StageProgress]:
    """The progress of a stage's process, shown as its environment asks."""
    folder = os.environ.get("STEMMA_PROGRESS_DIR")
    directory = Path(folder) if folder and Path(folder).is_dir() else None
    interval = 0.5 if directory is not None or sys.stderr.isatty() else 10.0
    with StageProgress(stage, directory=directory, interval=interval, clock=time.monotonic) as progress:
        yield progress


def describe(state: Mapping[str, object]) -> str:
    """One line for a person: stage, what, done of total, figures, time left."""
    total = state["total"]
    done = state["done"]
    parts = [f"{state['stage']}: {state['what']} {done:,}" + (f"/{total:,}" if total else "") + f" {state['unit']}"]
    values = state["values"]
    assert isinstance(values, dict)
    parts += [f"{name.replace('_', ' ')} {_figure(value)}" for name, value in values.items()]
    left = state["seconds_left"]
    if isinstance(left, float):
        parts.append(f"{int(left // 60)}:{int(left % 60):02d} left")
    return " · ".join(parts)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
