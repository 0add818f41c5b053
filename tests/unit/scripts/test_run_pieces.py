"""A run in pieces: what begins when, what is left for the next piece, and what is kept of it."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

from flows.stages import StageFailedError
from scripts import run_pieces
from scripts.run_pieces import PieceOfRun, RunRecord, StageRecord, group_cpu_seconds, listed_order
from scripts.run_results import write_results
from stemma.adapters.plan import Plan
from stemma.errors import InputError

GRAPH = """
stages:
  prepare: {cmd: x}
  pretrain: {foreach: "${variants}", do: {cmd: x}}
  evaluate: {cmd: x}
"""


class Stages:
    """Stages that end at once, fail, or go on until they are stopped."""

    def __init__(self, *, endless: str = "", failing: str = "", slow: str = "") -> None:
        self.endless, self.failing, self.slow = endless, failing, slow
        self.begun: list[str] = []
        self._stop = threading.Event()

    def __call__(self, *_: object) -> "Stages":
        self._stop.clear()
        return self

    def run(self, stage: str, _say: Callable[[str], None], tick: Callable[[], None]) -> str:
        self.begun.append(stage)
        tick()
        if stage == self.slow:
            time.sleep(0.3)
        if stage == self.endless:
            self._stop.wait(20)
        if stage in (self.endless, self.failing):
            raise StageFailedError(stage, ["stemma: it can't"])
        return "ran"

    def stop(self) -> None:
        self._stop.set()

    def group(self, _stage: str) -> int | None:
        return None


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "dvc.yaml").write_text(GRAPH)
    (tmp_path / "params.yaml").write_text("variants: {small: {}, large: {}}\n")
    RunRecord(root=tmp_path, commit="c", profile="p").save()
    return tmp_path


def test_the_whole_table_is_kept_once_evaluate_is_done(root: Path, tmp_path: Path) -> None:
    (root / "dvc.lock").write_text("stages: {prepare: {cmd: x}, evaluate: {cmd: x}}\n")
    names = [f"leaderboard.{ending}" for ending in ("html", "json", "md")]
    (root / "reports").mkdir()
    for name in names:
        (root / "reports" / name).write_text(name)
    record = RunRecord.read(root)
    write_results(root, tmp_path / "results", record, ["evaluate"])
    assert not list((tmp_path / "results").glob("leaderboard*"))
    write_results(root, tmp_path / "results", record, [])
    assert sorted(path.name for path in (tmp_path / "results").glob("leaderboard*")) == names


def run(
    root: Path, monkeypatch: pytest.MonkeyPatch, stages: Stages, seconds: float = 20, jobs: int = 1
) -> dict[str, str]:
    monkeypatch.setattr(run_pieces, "StageProcesses", stages)
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name in ("pretrain@small", "pretrain@large"):
        graph.add_edge("prepare", name)
        graph.add_edge(name, "evaluate")
    plan = Plan(steps=(), graph=graph, num_stages=4)
    return PieceOfRun(root, plan, RunRecord.read(root), seconds=seconds, jobs=jobs).run()


def states(root: Path) -> dict[str, str]:
    return {name: stage.state for name, stage in RunRecord.read(root).stages.items()}


def test_stages_run_as_the_graph_and_the_settings_list_them(root, monkeypatch):
    stages = Stages()
    assert run(root, monkeypatch, stages) == {}
    assert stages.begun == ["prepare", "pretrain@small", "pretrain@large", "evaluate"]
    assert set(states(root).values()) == {"done"}
    assert len(RunRecord.read(root).pieces) == 1
    assert listed_order(root, ["evaluate", "pretrain@gone", "pretrain@small"])[-2:] == ["pretrain@gone", "evaluate"]


def test_what_the_end_of_a_piece_stopped_comes_first_in_the_next(root, monkeypatch):
    assert run(root, monkeypatch, Stages(endless="pretrain@large"), seconds=0.5, jobs=1) == {}
    assert states(root) == {"prepare": "done", "pretrain@small": "done", "pretrain@large": "stopped"}
    stages = Stages()
    run(root, monkeypatch, stages)
    assert stages.begun == ["prepare", "pretrain@large", "pretrain@small", "evaluate"]
    assert RunRecord.read(root).stages["pretrain@large"].pieces == [1, 2]


def test_a_killed_runs_stage_counts_as_stopped(root, monkeypatch):
    record = RunRecord.read(root)
    record.stages["pretrain@large"] = StageRecord(state="running", cpu_seconds=7.0, pieces=[1])
    record.save()
    stages = Stages()
    run(root, monkeypatch, stages)
    assert stages.begun[1] == "pretrain@large"
    assert RunRecord.read(root).stages["pretrain@large"].cpu_seconds >= 7.0


def test_a_stage_without_checkpoints_is_not_begun_late_in_a_piece(root, monkeypatch):
    stages = Stages(slow="pretrain@large")
    assert run(root, monkeypatch, stages, seconds=0.5) == {}
    assert "evaluate" not in stages.begun


def test_a_stage_that_no_piece_is_long_enough_for_is_named(root, monkeypatch):
    record = RunRecord.read(root)
    record.stages["evaluate"] = StageRecord(state="stopped", last_seconds=60.0)
    record.save()
    with pytest.raises(InputError, match=r"evaluate: did not end within 1 minutes; give it more \(--minutes\)"):
        run(root, monkeypatch, Stages(), seconds=60)


def test_a_failure_stops_what_needs_it_and_nothing_else(root, monkeypatch):
    stages = Stages(failing="pretrain@small")
    assert run(root, monkeypatch, stages) == {"pretrain@small": "pretrain@small: it can't"}
    assert stages.begun == ["prepare", "pretrain@small", "pretrain@large"]
    assert states(root)["pretrain@small"] == "failed"


def test_a_groups_cpu_time_counts_children_that_have_ended():
    work = "sum(i * i for i in range(3_000_000))"
    code = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{work}']); print(flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    with process.stdout, process.stdin:
        process.stdout.readline()
        assert 0.05 < group_cpu_seconds(process.pid) < 20
    process.wait(10)


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(InputError, match="no run was begun here"):
        RunRecord.read(tmp_path)
