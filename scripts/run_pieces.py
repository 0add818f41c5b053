"""A piece of a long run: stale stages, in their order, until the time is over; and the record of all pieces.

A stage is a process group that dies with this process, so that a kill at any moment leaves what a killed stage leaves:
checkpoints and whole outputs. CPU time is read from /proc every two seconds, also of what is stopped or killed later.
"""

import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from flows.stages import StageFailedError, StageProcesses, is_chatter
from stemma.adapters.plan import Plan
from stemma.adapters.settings import PARAMS
from stemma.errors import InputError, StageError
from stemma.files import read_json, write_json

__all__ = ["PieceOfRun", "RunRecord", "StageRecord", "group_cpu_seconds", "listed_order"]

_FILE: Final = Path(".stemma/real-run.json")
_RESUMABLE: Final = frozenset({"pretrain", "finetune"})  # by kind of stage: those that go on from a checkpoint
_SAVE_SECONDS: Final = 20.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass
class StageRecord:
    """What a stage has taken so far, over all pieces, and how it ended in the last of them."""

    state: str = "running"  # done, stopped (the time was over), failed
    cpu_seconds: float = 0.0
    seconds: float = 0.0
    last_seconds: float = 0.0  # of the last piece that it was in
    pieces: list[int] = field(default_factory=list)


@dataclass
class RunRecord:
    """What the pieces of a run have done; kept in its folder."""

    root: Path
    commit: str
    profile: str
    pieces: list[dict[str, Any]] = field(default_factory=list)
    stages: dict[str, StageRecord] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path) -> "RunRecord":
        """The record of a folder, or why there is none."""
        if not (root / _FILE).exists():
            raise InputError(f"{root}: no run was begun here; name another folder with --clone")
        values = read_json(root / _FILE)
        stages = {name: StageRecord(**stage) for name, stage in values.pop("stages").items()}
        return cls(root=root, stages=stages, **values)

    def save(self) -> None:
        """Keep it, whole or not at all."""
        values = asdict(self)
        del values["root"]
        write_json(self.root / _FILE, values)


class PieceOfRun:
    """One piece: stages of a plan until all are done or the time is over."""

    def __init__(self, root: Path, plan: Plan, record: RunRecord, *, seconds: float, jobs: int) -> None:
        self._plan, self._record, self._seconds, self._jobs = plan, record, seconds, jobs
        variables = {"PYTHONPATH": str(root.resolve() / "src")} if (root / "src").is_dir() else {}
        self._processes = StageProcesses(root, variables)
        self._order = listed_order(root, list(plan.graph))
        self._done: set[str] = set()
        self._failures: dict[str, str] = {}
        self._lock = threading.Lock()
        self._begun = self._saved = time.monotonic()
        self._over = False

    def run(self) -> dict[str, str]:
        """Run stages; what went wrong, by stage."""
        self._refuse_what_can_not_end()
        self._record.pieces.append({"begun": int(time.time()), "limit": self._seconds, "seconds": 0.0})
        self._record.save()
        try:
            with ThreadPoolExecutor(self._jobs) as pool:
                try:
                    self._run_in(pool)
                finally:
                    self._over = True
                    self._processes.stop()
        finally:
            self._record.pieces[-1]["seconds"] = round(time.monotonic() - self._begun, 1)
            self._record.save()
        return self._failures

    def _run_in(self, pool: ThreadPoolExecutor) -> None:
        running: dict[Future[None], str] = {}
        while True:
            for stage in self._ready(set(running.values()))[: self._jobs - len(running)]:
                print(f"{self._elapsed() / 60:5.1f} min  {stage}", flush=True)
                running[pool.submit(self._run_stage, stage)] = stage
            if not running:
                return
            ended, _ = wait(running, max(0.0, self._seconds - self._elapsed()), FIRST_COMPLETED)
            if not ended:
                self._over = True
                self._processes.stop()
                wait(running)
                return
            for future in ended:
                future.result()  # a stage's own failure is noted, and none of these
                del running[future]

    def _ready(self, running: set[str]) -> list[str]:
        """What may begin now: all before it is done, and there is time for it."""
        if self._elapsed() >= self._seconds:
            return []
        waiting = [name for name in self._order if name not in self._done | running | set(self._failures)]
        free = [name for name in waiting if not set(self._plan.graph.predecessors(name)) - self._done]
        fitting = [name for name in free if _resumable(name) or self._elapsed() <= self._seconds / 2 or not self._done]
        begun = [name for name in fitting if self._state(name) in ("stopped", "running")]
        return [*begun, *(name for name in fitting if name not in begun)]

    def _run_stage(self, stage: str) -> None:
        before = self._record.stages.setdefault(stage, StageRecord())
        meter = _Meter(before, len(self._record.pieces), self._processes, stage)
        self._save()  # so that a piece that is killed right now is known to have begun it
        try:
            self._processes.run(stage, _say, lambda: self._tick(meter))
            meter.end("done")
            self._done.add(stage)
        except StageFailedError as error:
            meter.end("stopped" if self._over else "failed")
            if not self._over:
                self._failures[stage] = str(error)
        except StageError:  # it was not started, for the piece is over
            meter.end("stopped")
        self._save()

    def _tick(self, meter: "_Meter") -> None:
        meter.update()
        if time.monotonic() - self._saved > _SAVE_SECONDS:
            self._save()

    def _save(self) -> None:
        with self._lock:
            self._saved = time.monotonic()
            self._record.pieces[-1]["seconds"] = round(self._elapsed(), 1)
            self._record.save()

    def _elapsed(self) -> float:
        return time.monotonic() - self._begun

    def _state(self, stage: str) -> str:
        return self._record.stages[stage].state if stage in self._record.stages else ""

    def _refuse_what_can_not_end(self) -> None:
        """A stage without checkpoints that had such a piece to itself would be stopped for ever."""
        for stage in self._order:
            last = self._record.stages.get(stage)
            if last and last.state == "stopped" and not _resumable(stage) and last.last_seconds >= 0.9 * self._seconds:
                raise InputError(
                    f"{stage}: did not end within {last.last_seconds / 60:.0f} minutes; give it more (--minutes)"
                )


class _Meter:
    """What a stage takes in this piece, added to what it took before."""

    def __init__(self, record: StageRecord, piece: int, processes: StageProcesses, stage: str) -> None:
        self._record, self._processes, self._stage = record, processes, stage
        self._cpu, self._wall, self._begun = record.cpu_seconds, record.seconds, time.monotonic()
        record.state = "running"
        record.pieces = [*record.pieces, piece]

    def update(self) -> None:
        group = self._processes.group(self._stage)
        used = group_cpu_seconds(group) if group is not None else 0.0
        self._record.cpu_seconds = round(max(self._record.cpu_seconds, self._cpu + used), 2)
        self._record.last_seconds = round(time.monotonic() - self._begun, 1)
        self._record.seconds = round(self._wall + self._record.last_seconds, 1)

    def end(self, state: str) -> None:
        self.update()
        self._record.state = state


def listed_order(root: Path, stages: list[str]) -> list[str]:
    """Stages by where `dvc.yaml` lists them, and those of one kind by where the settings list their names."""
    graph = yaml.safe_load((root / "dvc.yaml").read_text(encoding="utf-8"))
    files = [str(PARAMS), *(name for name in graph.get("vars", []) if isinstance(name, str))]
    settings: dict[str, Any] = {}
    for name in files:
        if (root / name).exists():
            settings |= yaml.safe_load((root / name).read_text(encoding="utf-8")) or {}
    kinds = list(graph["stages"])

    def place(stage: str) -> tuple[int, int]:
        kind, _, key = stage.partition("@")
        keys = _keys(graph["stages"][kind].get("foreach"), settings)
        return kinds.index(kind), keys.index(key) if key in keys else len(keys)

    return sorted(stages, key=place)


def group_cpu_seconds(group: int, proc: Path = Path("/proc")) -> float:
    """What the processes of a group have taken, with what those that they waited for had."""
    ticks = 0
    for path in proc.glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[2]) == group:
            ticks += sum(int(value) for value in fields[11:15])
    return ticks / _TICKS


def _keys(over: object, settings: Mapping[str, Any]) -> list[str]:
    if isinstance(over, str):
        over = settings.get(over.removeprefix("${").removesuffix("}"), [])
    return [str(key) for key in over] if isinstance(over, dict | list) else []


def _resumable(stage: str) -> bool:
    return stage.partition("@")[0] in _RESUMABLE


def _say(line: str) -> None:
    if not is_chatter(line):
        print(f"           {line}", flush=True)
