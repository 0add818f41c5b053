"""`dvc repro` and the flow are two engines for one graph: what one does, the other has done."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stemma.adapters import dvc
from tests import miniature

pytestmark = pytest.mark.xdist_group("prefect")


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in miniature on which `dvc repro` has run; not to be changed."""
    project = miniature.make_project(tmp_path_factory.mktemp("reproduced") / "project")
    miniature.run_dvc(project, "repro")
    return project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in miniature on which nothing has run."""
    return miniature.make_project(tmp_path / "project")


def test_both_engines_leave_the_same_lock_and_nothing_for_the_other(
    project: Path, reproduced: Path, prefect_url: str, tmp_path: Path
) -> None:
    result = miniature.run_flow(project, PREFECT_API_URL=prefect_url, STEMMA_JOBS="2", MINI_ORDER="quick slow")
    assert result.returncode == 0, result.stderr
    ended = [line.split()[1] for line in _trace(project) if line.startswith("end ")]
    assert ended.index("quick") < ended.index("slow"), "so that the lock's order is not the order of ending"
    assert (project / "dvc.lock").read_bytes() == (reproduced / "dvc.lock").read_bytes()
    miniature.ran(project)
    assert "didn't change" in miniature.run_dvc(project, "repro").stdout
    assert miniature.ran(project) == []
    copy = miniature.copy_project(reproduced, tmp_path / "copy")
    miniature.ran(copy)
    begun = time.monotonic()
    result = miniature.run_flow(copy)
    assert result.stdout.strip() == "Nothing to do: every stage is up to date."
    assert result.returncode == 0
    assert time.monotonic() - begun < 20
    assert miniature.ran(copy) == []
    assert not (copy / ".stemma" / "prefect" / "prefect.db").exists(), "nothing to do needs no server"


def test_a_new_item_lands_where_dvc_would_put_it(reproduced: Path, prefect_url: str, tmp_path: Path) -> None:
    by_flow = miniature.copy_project(reproduced, tmp_path / "flow")
    by_dvc = miniature.copy_project(reproduced, tmp_path / "dvc")
    for copy in (by_flow, by_dvc):
        miniature.change(copy, "sides.early", {"word": "e"})
        miniature.ran(copy)
    assert miniature.run_flow(by_flow, PREFECT_API_URL=prefect_url).returncode == 0
    miniature.run_dvc(by_dvc, "repro")
    assert miniature.ran(by_flow) == miniature.ran(by_dvc) == ["early", "both", "end"]
    assert list(dvc.read_lock(by_flow))[-1] == "side@early"
    assert (by_flow / "dvc.lock").read_bytes() == (by_dvc / "dvc.lock").read_bytes()


def test_a_failed_branch_leaves_the_healthy_one_and_names_what_did_not_run(
    project: Path, reproduced: Path, prefect_url: str
) -> None:
    miniature.change(project, "sides.quick.exit", 2)
    result = miniature.run_flow(project, PREFECT_API_URL=prefect_url)
    assert result.returncode != 0
    assert "stemma: failed: side@quick; not run because of that: both, end" in result.stderr
    assert "stemma: quick can't" in result.stderr
    assert sorted(miniature.ran(project)) == ["alone", "quick", "slow", "source"], (
        "and what exits with 2 is not tried again"
    )
    assert set(dvc.read_lock(project)) == {"source", "side@slow", "alone"}
    assert (project / "out/sides/slow/text").exists()
    miniature.write_settings(project, miniature.SETTINGS)
    result = miniature.run_flow(project, PREFECT_API_URL=prefect_url)
    assert result.returncode == 0, result.stderr
    assert miniature.ran(project) == ["quick", "both", "end"]
    assert (project / "dvc.lock").read_bytes() == (reproduced / "dvc.lock").read_bytes()


def test_what_may_pass_is_tried_again(project: Path, prefect_url: str) -> None:
    trouble = {"word": "b", "exit": 1, "once": True, "say": "sqlite3.OperationalError: database is locked"}
    miniature.change(project, "sides.quick", trouble)
    result = miniature.run_flow(project, PREFECT_API_URL=prefect_url)
    assert result.returncode == 0, result.stderr
    assert miniature.ran(project).count("quick") == 2


def test_a_killed_flow_leaves_no_process_and_the_next_goes_on(
    project: Path, reproduced: Path, prefect_url: str
) -> None:
    miniature.change(project, "sides.slow.sleep", 60)
    process = _start_flow(project, PREFECT_API_URL=prefect_url)
    stage = _process_of(project, "slow")
    process.kill()
    process.wait()
    _until(lambda: not Path(f"/proc/{stage}").exists(), seconds=3)
    miniature.write_settings(project, miniature.SETTINGS)
    done = miniature.ran(project)
    result = miniature.run_flow(project, PREFECT_API_URL=prefect_url)
    assert result.returncode == 0, result.stderr
    assert "source" in done
    assert "source" not in miniature.ran(project)
    assert (project / "dvc.lock").read_bytes() == (reproduced / "dvc.lock").read_bytes()


def test_a_flow_that_is_asked_to_stop_takes_its_stages_with_it(project: Path, prefect_url: str) -> None:
    miniature.change(project, "sides.slow.sleep", 60)
    process = _start_flow(project, PREFECT_API_URL=prefect_url)
    stage = _process_of(project, "slow")
    process.send_signal(signal.SIGINT)
    assert process.wait(40) != 0
    _until(lambda: not Path(f"/proc/{stage}").exists(), seconds=3)


def test_a_second_flow_is_told_that_there_is_one(project: Path, prefect_url: str) -> None:
    miniature.change(project, "stages.source", {"sleep": 60})
    process = _start_flow(project, PREFECT_API_URL=prefect_url)
    try:
        _process_of(project, "source")
        second = miniature.run_flow(project, PREFECT_API_URL=prefect_url)
        assert second.returncode == 2
        assert "DVC is busy" in second.stderr
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize(
    ("text", "message"),
    [("seed: one\n", "seed"), ("variants: {'a; touch pwned': {}}\n", "a; touch pwned"), ("", "params.yaml")],
)
def test_settings_that_cannot_be_are_refused_before_anything_runs(project: Path, text: str, message: str) -> None:
    (project / "params.yaml").write_text(text)
    result = miniature.run_flow(project)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert miniature.ran(project) == []
    assert not (project / "pwned").exists()


def test_a_server_that_is_not_there_is_said_at_once(project: Path) -> None:
    result = miniature.run_flow(project, PREFECT_API_URL="http://127.0.0.1:9/api")
    assert result.returncode == 2
    assert result.stderr.strip() == (
        "stemma: PREFECT_API_URL: no Prefect server answers at http://127.0.0.1:9/api; start it, or unset the variable"
    )


def _start_flow(project: Path, **variables: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "flows.pipeline"]
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would not hear it
    try:
        return subprocess.Popen(command, cwd=project, env={**miniature.environment(project), **variables})
    finally:
        signal.signal(signal.SIGINT, heard)


def _trace(project: Path) -> list[str]:
    path = project / ".stemma" / "trace.log"
    return path.read_text().splitlines() if path.exists() else []


def _process_of(project: Path, name: str) -> int:
    _until(lambda: any(line.startswith(f"start {name} ") for line in _trace(project)), seconds=120)
    return next(int(line.split()[2]) for line in _trace(project) if line.startswith(f"start {name} "))


def _until(condition: object, *, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
