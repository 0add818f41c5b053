"""What a person sees of a run: a bar for every stage at work on a terminal, a line now and then in a log.

Stages write how far they are into a small file each (see stemma.progress); this only reads them.
"""

import json
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from stemma.progress import describe

__all__ = ["Display", "read_states"]

_LINE_SECONDS: Final = 15.0
_REDRAW_SECONDS: Final = 0.5


class Display:
    """Shows a run on `console`; without one, nothing (a served flow run has its log in Prefect's pages)."""

    def __init__(self, folder: Path, console: Console | None) -> None:
        self._folder, self._console = folder, console
        self._live = console is not None and console.is_terminal
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(30), TextColumn("{task.fields[text]}"))
        self._bars = Progress(*columns, TimeElapsedColumn(), console=console, disable=not self._live, transient=True)
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="display", daemon=True)

    def begin(self, stage: str) -> None:
        """A stage starts."""
        with self._lock:
            self._tasks[stage] = self._bars.add_task(stage, total=None, text="")
        if not self._live:
            self.say(f"{stage}: started")

    def end(self, stage: str, outcome: str, seconds: float) -> None:
        """A stage has ended."""
        with self._lock:
            if stage in self._tasks:
                self._bars.remove_task(self._tasks.pop(stage))
        mark = "[red]✗[/red]" if outcome == "failed" else "[green]✓[/green]"
        self.say(f"{mark} {escape(stage)}: {outcome}, {seconds:.1f} s", markup=True)

    def say(self, text: str, *, markup: bool = False) -> None:
        """Print a line above the bars."""
        if self._console is not None:
            self._console.print(text, markup=markup, highlight=False, soft_wrap=True)

    def __enter__(self) -> "Display":
        if self._console is not None:
            self._bars.start()
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        if self._console is not None:
            self._thread.join()
            self._bars.stop()

    def _follow(self) -> None:
        spoken = time.monotonic()
        while not self._closed.wait(_REDRAW_SECONDS):
            states = read_states(self._folder)
            if self._live:
                self._redraw(states)
            elif time.monotonic() - spoken >= _LINE_SECONDS:
                spoken = time.monotonic()
                for state in states.values():
                    self.say(describe(state))

    def _redraw(self, states: dict[str, dict[str, Any]]) -> None:
        with self._lock:
            for stage, task in self._tasks.items():
                if stage in states:
                    state = states[stage]
                    text = describe(state).removeprefix(f"{stage}: ")
                    self._bars.update(task, completed=state["done"], total=state["total"], text=text)


def read_states(folder: Path) -> dict[str, dict[str, Any]]:
    """How far each running stage says that it is."""
    states = {}
    for path in sorted(folder.glob("*.json")):
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # it ended, or the file is being replaced
            continue
        states[state["stage"]] = state
    return states


def open_console() -> Console:
    """The console of a run that a person started."""
    return Console(file=sys.stderr, width=None if sys.stderr.isatty() else 120)
