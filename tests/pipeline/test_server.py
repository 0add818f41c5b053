"""Against a real Prefect server: schedules, overlap, late runs, failures, and the work pool's deployments."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests import miniature

pytestmark = pytest.mark.xdist_group("prefect")
NEVER = "0 0 29 2 *"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in miniature on which nothing has run."""
    return miniature.make_project(tmp_path / "project")


@pytest.fixture(autouse=True)
def _nothing_left_to_run(prefect_url: str) -> None:
    """What an earlier test has served goes, with the runs that were still to come."""
    for deployment in call(prefect_url, "deployments/filter", {}):
        call(prefect_url, f"deployments/{deployment['id']}", method="DELETE")


def test_a_schedule_fires_by_itself_and_a_second_firing_during_a_run_is_cancelled(
    project: Path, prefect_url: str
) -> None:
    miniature.change(project, "sides.slow.sleep", 15)
    since = datetime.now(UTC)
    with serving(project, prefect_url, "--interval", "8"):
        wait_until(lambda: "Completed" in states(prefect_url, since))
        seen = runs(prefect_url, since)
    completed = next(run for run in seen if run["state"]["name"] == "Completed")
    cancelled = [run for run in seen if run["state"]["name"] == "Cancelled"]
    assert completed["auto_scheduled"], "nobody asked for it"
    assert cancelled, "the run took longer than the interval"
    assert all(run["run_count"] == 0 for run in cancelled), cancelled
    artifacts = call(prefect_url, "artifacts/filter", {"artifacts": {"flow_run_id": {"any_": [completed["id"]]}}})
    bar = next(artifact for artifact in artifacts if artifact["type"] == "progress")
    assert bar["key"] == "side-slow"
    assert bar["data"] > 20
    assert "side@slow: waiting" in bar["description"]
    assert miniature.ran(project).count("slow") == 1
    assert (project / "out/end/text").exists()


def test_late_runs_become_one_and_a_polite_stop_is_clean(project: Path, prefect_url: str) -> None:
    miniature.change(project, "sides.slow.sleep", 60)
    with serving(project, prefect_url, "--cron", NEVER):
        stopped = schedule_run(prefect_url, datetime.now(UTC))
        wait_until(lambda: "start slow" in trace(project))
    assert call(prefect_url, f"flow_runs/{stopped}")["state"]["name"] == "Crashed", "its process ended with the stop"
    miniature.write_settings(project, miniature.SETTINGS)
    since = datetime.now(UTC)
    late = [schedule_run(prefect_url, datetime.now(UTC) - timedelta(hours=hours)) for hours in (3, 2, 1)]
    taken = call(prefect_url, f"flow_runs/{late[0]}/set_state", {"state": {"type": "PENDING"}})
    assert taken["status"] == "ACCEPT", "it has the only place, and nobody who would begin it"
    with serving(project, prefect_url, "--cron", NEVER):
        wait_until(lambda: sorted(states(prefect_url, since)) == ["Cancelled", "Cancelled", "Completed"])
    assert {run["id"] for run in runs(prefect_url, since)} == set(late)
    assert miniature.ran(project).count("end") == 1


def test_a_failure_is_told_stage_by_stage_with_each_ones_log(project: Path, prefect_url: str) -> None:
    miniature.change(project, "sides.quick.exit", 1)
    since = datetime.now(UTC)
    assert miniature.run_flow(project, PREFECT_API_URL=prefect_url).returncode != 0
    (run,) = runs(prefect_url, since)
    assert run["state"]["type"] == "FAILED"
    assert "failed: side@quick; not run because of that: both, end" in run["state"]["message"]
    tasks = {"flow_runs": {"id": {"any_": [run["id"]]}}}
    wait_until(lambda: len(call(prefect_url, "task_runs/filter", tasks)) == len(miniature.ORDER))
    by_name = {task["name"]: task["state"]["name"] for task in call(prefect_url, "task_runs/filter", tasks)}
    good = dict.fromkeys(["source", "side@slow", "alone"], "Completed")
    assert by_name == {**good, "side@quick": "Failed", "both": "NotReady", "end": "NotReady"}
    logs = call(prefect_url, "logs/filter", {"logs": {"flow_run_id": {"any_": [run["id"]]}}})
    messages = [log["message"] for log in logs]
    assert "this is slow speaking" in messages
    assert "stemma: quick can't" in messages


def test_a_run_whose_process_was_killed_is_marked_by_the_next(project: Path, prefect_url: str) -> None:
    miniature.change(project, "sides.slow.sleep", 60)
    since = datetime.now(UTC)
    command = [sys.executable, "-m", "flows.pipeline"]
    environment = {**miniature.environment(project), "PREFECT_API_URL": prefect_url}
    process = subprocess.Popen(command, cwd=project, env=environment, stderr=subprocess.DEVNULL)
    wait_until(lambda: "start slow" in trace(project))
    process.kill()
    process.wait()
    (killed,) = runs(prefect_url, since)
    assert killed["state"]["name"] == "Running", "nobody has told the server"
    miniature.write_settings(project, miniature.SETTINGS)
    assert miniature.run_flow(project, PREFECT_API_URL=prefect_url).returncode == 0
    by_id = {run["id"]: run["state"]["name"] for run in runs(prefect_url, since)}
    assert by_id.pop(killed["id"]) == "Crashed"
    assert list(by_id.values()) == ["Completed"]


def test_when_the_server_dies_the_work_is_done_and_the_exit_code_is_true(project: Path, tmp_path: Path) -> None:
    """On the temporary server that a run starts for itself, which is killed in the middle."""
    miniature.change(project, "sides.slow.sleep", 8)
    environment = miniature.environment(project)
    flow = subprocess.Popen(
        [sys.executable, "-m", "flows.pipeline"], cwd=project, env=environment, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: "start slow" in trace(project))
    server = next(process for process in children(flow.pid) if "prefect.server.api.server:create_app" in process[1])
    os.kill(server[0], signal.SIGKILL)
    wait_until(lambda: "end end" in trace(project))
    begun = time.monotonic()
    _, said = flow.communicate(timeout=120)
    assert flow.returncode == 0, said
    assert time.monotonic() - begun < 90
    assert "the Prefect server is gone" in said


def test_the_work_pools_deployments_are_those_of_make_serve(prefect_url: str, tmp_path: Path) -> None:
    variables = {"PREFECT_API_URL": prefect_url, "PREFECT_HOME": str(tmp_path), "STEMMA_ROOT": str(miniature.CODE)}
    environment = {**miniature.environment(tmp_path), **variables}
    for arguments in (["work-pool", "create", "stemma", "--type", "process"], ["--no-prompt", "deploy", "--all"]):
        command = [sys.executable, "-m", "prefect", *arguments]
        subprocess.run(command, cwd=miniature.CODE, env=environment, check=True, capture_output=True)
    found = call(prefect_url, "deployments/filter", {"deployments": {"name": {"any_": ["pool"]}}})
    assert {deployment["entrypoint"] for deployment in found} == {
        "flows/pipeline.py:pipeline",
        "flows/release.py:release",
    }
    for deployment in found:
        assert deployment["global_concurrency_limit"]["limit"] == 1
        assert deployment["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
        assert deployment["schedules"][0]["schedule"]["cron"]


@contextmanager
def serving(project: Path, url: str, *arguments: str) -> Iterator[None]:
    """`make serve` on a server that is there already, until the end of the block."""
    variables = {
        "PREFECT_API_URL": url,
        "MLFLOW_TRACKING_URI": "http://127.0.0.1:9",
        "PREFECT_RUNNER_POLL_FREQUENCY": "1",
    }
    log = project / ".stemma" / "serve.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "flows.deploy", *arguments],
            cwd=project,
            env={**miniature.environment(project), **variables},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: "Serving" in log.read_text() or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        yield
        process.terminate()
        assert process.wait(60) == 0, log.read_text()
        assert log.read_text().rstrip().endswith("Stopped."), log.read_text()
    finally:
        process.kill()
        process.wait()


def schedule_run(url: str, when: datetime) -> str:
    """Ask for a run of the served pipeline at a time, which may be past."""
    found = call(url, "deployments/name/pipeline/scheduled")
    state = {"type": "SCHEDULED", "state_details": {"scheduled_time": when.isoformat()}}
    run: dict[str, Any] = call(url, f"deployments/{found['id']}/create_flow_run", {"state": state})
    return str(run["id"])


def runs(url: str, since: datetime) -> list[dict[str, Any]]:
    """The runs of the pipeline that are no longer to come, made since then, the oldest first."""
    future = {"not_any_": ["Scheduled", "Late", "Pending", "AwaitingConcurrencySlot"]}
    body = {"flow_runs": {"state": {"name": future}}, "flows": {"name": {"any_": ["pipeline"]}}, "limit": 200}
    found: list[dict[str, Any]] = call(url, "flow_runs/filter", body)
    recent = [run for run in found if datetime.fromisoformat(run["created"]) >= since]
    return sorted(recent, key=lambda run: str(run["created"]))


def states(url: str, since: datetime) -> list[str]:
    return [run["state"]["name"] for run in runs(url, since)]


def call(url: str, path: str, body: object | None = None, *, method: str | None = None) -> Any:
    """The server's answer, asked for again, as Prefect's own client does, where its database was busy: that changes nothing."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/{path}", data, {"Content-Type": "application/json"}, method=method)
    for pause in (1, 2, 4, 8, 16):
        try:
            return _answer(request)
        except urllib.error.HTTPError as error:
            if error.code != HTTPStatus.SERVICE_UNAVAILABLE:
                raise
        time.sleep(pause)
    return _answer(request)


def _answer(request: urllib.request.Request) -> Any:
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read() or b"null")


def trace(project: Path) -> str:
    path = project / ".stemma" / "trace.log"
    return path.read_text() if path.exists() else ""


def children(process: int) -> list[tuple[int, str]]:
    listing = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(process)], capture_output=True, text=True, check=False
    )
    lines = [line.strip().partition(" ") for line in listing.stdout.splitlines()]
    return [(int(number), arguments) for number, _, arguments in lines]


def wait_until(condition: Callable[[], object], *, seconds: float = 200) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.3)
