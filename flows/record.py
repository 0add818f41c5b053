"""What a pipeline run leaves in `.stemma/runs`: how each stage ended, whatever becomes of the Prefect server."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stemma.files import digest_file, read_json, write_json

__all__ = ["LockOrder", "Record", "read_records"]

RUNS = Path(".stemma/runs")
LOCK_ORDER = Path(".stemma/lock-order.json")
_KEPT = 20
_SAVING = threading.Lock()  # stages that run side by side end at the same moment


@dataclass
class Record:
    """One run; written to disk at every change."""

    root: Path
    run_id: str
    flow_run_id: str
    planned: list[str] = field(default_factory=list)
    outcomes: dict[str, str] = field(default_factory=dict)
    finished: bool = False

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.root / RUNS / f"{self.run_id}.json"

    @property
    def succeeded(self) -> bool:
        """Whether every stage ended well."""
        return not self.failed and not self.not_run

    @property
    def failed(self) -> list[str]:
        """The stages that ended with an error."""
        return [stage for stage in self.planned if self.outcomes.get(stage) == "failed"]

    @property
    def not_run(self) -> list[str]:
        """The stages that never started."""
        return [stage for stage in self.planned if stage not in self.outcomes]

    def note(self, stage: str, outcome: str) -> None:
        """Keep how a stage ended."""
        self.outcomes[stage] = outcome
        self.save()

    def finish(self) -> None:
        """Keep that the run came to its end, good or bad, by itself."""
        self.finished = True
        self.save()

    def save(self) -> None:
        """Write it, and drop the oldest."""
        with _SAVING:
            values = {name: value for name, value in vars(self).items() if name != "root"}
            write_json(self.path, values)
            for path in sorted(self.path.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)[:-_KEPT]:
                path.unlink(missing_ok=True)

    @property
    def failure(self) -> str:
        """The stages that failed, and those that could not run because of them; empty when all is well."""
        parts = [f"failed: {', '.join(self.failed)}"] if self.failed else []
        if self.not_run:
            parts.append(f"not run{' because of that' if self.failed else ''}: {', '.join(self.not_run)}")
        return "; ".join(parts)


def read_records(root: Path) -> Iterable[Record]:
    """The records that are there, in no order."""
    for path in (root / RUNS).glob("*.json"):
        values: dict[str, Any] = read_json(path)
        yield Record(root=root, **values)


class LockOrder:
    """The order of `dvc.lock` before a run, kept until one succeeds.

    Stages that run side by side end in any order. A run that failed or was killed has left the lock in such an order, so
    the next must know what came before; unless somebody else has written the lock since.
    """

    def __init__(self, root: Path, names: list[str]) -> None:
        self._path, self._lock = root / LOCK_ORDER, root / "dvc.lock"
        kept = read_json(self._path) if self._path.exists() else None
        if kept is not None and kept["lock"] in (None, self._digest()):
            names = kept["names"]
        self.names: list[str] = names
        write_json(self._path, {"names": names, "lock": None})

    def close(self, *, succeeded: bool) -> None:
        """Forget it, or keep it for the next attempt."""
        if succeeded:
            self._path.unlink()
        else:
            write_json(self._path, {"names": self.names, "lock": self._digest()})

    def _digest(self) -> str:
        return digest_file(self._lock) if self._lock.exists() else ""
