"""Tracking under faults: a server killed or hanging in the middle of training, a killed stage, two stages at once.

The first is the real pretraining of a toy BERT against a real `mlflow server` on loopback; the others use the real
tracker in a process that only pretends to train, and SQLite.
"""

import contextlib
import csv
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stemma.adapters.store import create_database
from stemma.config import load_params
from stemma.files import digest_tree
from tests import toy_bert
from tests.miniature import CODE

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("tracking"), pytest.mark.timeout(600)]

STEPS = 400
WORK = """
import sys, time
from pathlib import Path
from stemma.adapters.mlflow import open_tracker

stage, steps = sys.argv[1], int(sys.argv[2])
out = Path("out") / stage
out.mkdir(parents=True, exist_ok=True)
with open_tracker(stage, inputs=[], out=out) as tracker:
    for step in range(steps):
        tracker.log_metrics({"loss": 1 / (step + 1)}, step)
        while step == steps // 2 and not Path("go").exists():
            time.sleep(0.05)
    (out / "result").write_text("done")
"""


class Server:
    """A real `mlflow server` on loopback over an SQLite file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        database, artifacts = f"sqlite:///{self._folder}/mlflow.db", str(self._folder / "artifacts")
        command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", database, "--artifacts-destination"]
        command += [artifacts, "--host", "127.0.0.1", "--port", str(self._port), "--workers", "1"]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        wait_until(self._answers)

    def kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        import requests

        with contextlib.suppress(requests.RequestException):
            return bool(requests.get(f"{self.uri}/health", timeout=5).ok)
        return False


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database, made once."""
    path = tmp_path_factory.mktemp("template") / "mlflow.db"
    create_database(path)
    return path


@pytest.fixture
def server(tmp_path: Path, template: Path) -> Iterator[Server]:
    folder = tmp_path / "server"
    folder.mkdir()
    shutil.copy(template, folder / "mlflow.db")
    server = Server(folder)
    try:
        yield server
    finally:
        server.kill()


STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    """Whatever a test that failed has left running, ends with it."""
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        if process.stderr is not None and not process.stderr.closed:
            process.communicate()


def start(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    command, variables = [sys.executable, *arguments], clean_environment(**environment)
    process = subprocess.Popen(command, cwd=folder, env=variables, stderr=subprocess.PIPE, text=True)
    STARTED.append(process)
    return process


def start_pretraining(folder: Path, **environment: str) -> subprocess.Popen[str]:
    """The real stage, on a toy corpus."""
    folder.mkdir()
    tokens, tokenizer = toy_bert.write_corpus(folder)
    values = load_params(CODE / "params.yaml").model_dump()
    values["families"]["bert"] = {**toy_bert.SETTINGS, "steps": STEPS, "checkpoint_every": 100}
    (folder / "params.yaml").write_text(yaml.safe_dump(values))
    paths = ["--tokens", str(tokens), "--tokenizer", str(tokenizer), "--out", "out"]
    return start(folder, "-m", "stemma", "pretrain", "bert", *paths, **environment)


def start_work(folder: Path, stage: str, steps: int, **environment: str) -> subprocess.Popen[str]:
    """A stage that stops in the middle until there is a file `go`."""
    return start(folder, "-c", WORK, stage, str(steps), **environment)


def clean_environment(**environment: str) -> dict[str, str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "STEMMA_"))}
    return {**variables, **environment}


def finish(process: subprocess.Popen[str]) -> str:
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    return errors


def wait_until(condition: Any, seconds: float = 200) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.1)


def runs(uri: str) -> dict[str, list[Any]]:
    """The store's runs by name, oldest first."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("stemma")
    found: dict[str, list[Any]] = {}
    if experiment is not None:
        for run in client.search_runs([experiment.experiment_id], order_by=["start_time"]):
            found.setdefault(run.info.run_name, []).append(run)
    return found


def curve(uri: str, run: Any, metric: str) -> list[tuple[int, float]]:
    from mlflow.tracking import MlflowClient

    return sorted((point.step, point.value) for point in MlflowClient(uri).get_metric_history(run.info.run_id, metric))


def num_points(uri: str, stage: str) -> int:
    found = runs(uri).get(stage)
    return len(curve(uri, found[0], "loss")) if found else 0


def test_a_killed_server_costs_no_weight_no_point_and_little_time(tmp_path: Path, server: Server) -> None:
    untracked, tracked = tmp_path / "untracked", tmp_path / "tracked"
    finish(start_pretraining(untracked, STEMMA_TRACKING="off"))

    server.start()
    training = start_pretraining(tracked, MLFLOW_TRACKING_URI=server.uri)
    wait_until(lambda: any(path.read_bytes().count(b'"metrics"') > 20 for path in journals(tracked)))
    training.send_signal(signal.SIGSTOP)  # so that the server surely is killed in the middle
    wait_until(lambda: num_points(server.uri, "pretrain@bert") > 20)
    server.kill()
    training.send_signal(signal.SIGCONT)
    started = time.monotonic()
    errors = finish(training)
    assert time.monotonic() - started < 30
    assert errors.count("does not answer") == 1
    assert digest_tree([tracked / "out"]) == digest_tree([untracked / "out"])

    server.start()
    (half,) = runs(server.uri)["pretrain@bert"]
    lines = (tracked / "out/curve.csv").read_text().splitlines()
    points = [(int(row["step"]), float(row["loss"])) for row in csv.DictReader(lines)]
    assert (len(points), points[-1][0]) == (200, STEPS)
    assert 20 < num_points(server.uri, "pretrain@bert") < len(points)
    assert half.info.status == "RUNNING"
    (tracked / "go").touch()
    finish(start_work(tracked, "finetune@next", 3, MLFLOW_TRACKING_URI=server.uri))
    send_the_rest(tracked, MLFLOW_TRACKING_URI=server.uri)
    (run,) = runs(server.uri)["pretrain@bert"]
    assert curve(server.uri, run, "loss") == points
    assert {len(curve(server.uri, run, name)) for name in ("mlm", "nsp", "tokens_per_second")} == {len(points)}
    assert run.info.status == "FINISHED"
    assert run.data.params["steps"] == str(STEPS)
    assert run.data.tags["stemma.output_digest"] == digest_tree([untracked / "out"])
    assert run.data.tags["stemma.threads"] == "1"


def test_a_server_that_hangs_holds_training_up_for_less_than_thirty_seconds(tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    with socket.create_server(("127.0.0.1", 0)) as deaf:  # connections are made, and nothing is ever said
        uri = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        training = start_work(tmp_path, "pretrain@a", 3, MLFLOW_TRACKING_URI=uri)
        wait_until((tmp_path / "out/pretrain@a/result").exists)
        started = time.monotonic()
        errors = finish(training)
    assert time.monotonic() - started < 30
    assert "tracking:" in errors
    assert len(journals(tmp_path)) == 1


def test_a_killed_stage_is_marked_by_the_next_start_and_its_points_arrive(tmp_path: Path, template: Path) -> None:
    (tmp_path / ".stemma").mkdir()
    shutil.copy(template, tmp_path / ".stemma")
    victim = start_work(tmp_path, "pretrain@a", 100, STEMMA_RUN_ID="one")
    wait_until(lambda: any(path.read_bytes().count(b'"metrics"') == 51 for path in journals(tmp_path)))
    victim.kill()
    victim.communicate()

    (tmp_path / "go").touch()
    pair = [start_work(tmp_path, f"finetune@{name}", 5, STEMMA_RUN_ID="two") for name in ("a", "b")]
    for process in pair:
        finish(process)
    send_the_rest(tmp_path)
    uri = f"sqlite:///{tmp_path}/.stemma/mlflow.db"
    found = runs(uri)
    assert found["pretrain@a"][0].info.status == "KILLED"
    assert [step for step, _ in curve(uri, found["pretrain@a"][0], "loss")] == list(range(51))
    assert [run.info.status for run in found["pipeline one"]] == ["KILLED"]
    (parent,) = found["pipeline two"]
    assert parent.info.status == "FINISHED"
    for name in ("finetune@a", "finetune@b"):
        (run,) = found[name]
        assert run.data.tags["mlflow.parentRunId"] == parent.info.run_id
        assert [step for step, _ in curve(uri, run, "loss")] == list(range(5))


def journals(folder: Path) -> list[Path]:
    return list((folder / ".stemma/journal").glob("*.jsonl"))


def send_the_rest(folder: Path, **environment: str) -> None:
    """On a busy machine the sender of a short stage has had no time for all; the next start has."""
    program = "from stemma.adapters.sender import SenderProcess as S; s = S(); s.start(); s.finish(100)"
    while journals(folder):
        subprocess.run([sys.executable, "-c", program], cwd=folder, env=clean_environment(**environment), check=True)
