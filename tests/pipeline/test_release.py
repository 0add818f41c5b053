"""From an empty registry to a served champion: the whole release with real fine-tuned toy BERTs and a real server."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stemma.adapters.evidence import Sources
from stemma.adapters.registry import CHALLENGER, CHAMPION, Registry
from stemma.adapters.release import Outcome, Releaser, roll_back
from stemma.config import Params
from stemma.errors import ReleaseError
from stemma.release.ledger import LEDGER, Ledger
from tests import miniature, toy_release
from tests.toy_release import FINETUNED, PREDICTIONS, REPORT, TASKS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("release"), pytest.mark.timeout(600)]

PAIR = "bert-first"
SOURCES = Sources(tasks=TASKS, finetuned=FINETUNED, evaluation=REPORT, predictions=PREDICTIONS)


class Project:
    """A project in the present folder, released step by step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.params = toy_release.make_project(folder)
        self._registry: Registry | None = None

    @property
    def registry(self) -> Registry:
        self._registry = self._registry or Registry()
        return self._registry

    @property
    def ledger(self) -> Ledger:
        return Ledger(LEDGER)

    def train(self, *, epochs: int = 4, learning_rate: float = 0.01, wrong: str = "") -> None:
        """Fine-tune and evaluate anew."""
        toy_release.write_rows(self.folder, "first", wrong)
        changes = {"epochs": epochs, "learning_rate": learning_rate}
        tuning = self.params.finetuning.model_copy(update=changes)
        toy_release.tune(self.folder, self.params.model_copy(update={"finetuning": tuning}), "first")
        toy_release.measure(self.folder, self.params)

    def release(self, params: Params | None = None) -> Outcome:
        lock = Path("requirements.lock")
        return Releaser(params or self.params, SOURCES, self.registry, self.ledger, lock).release(PAIR)

    def champion(self) -> str | None:
        version = self.registry.at(PAIR, CHAMPION)
        return version.number if version else None


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("release")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield Project(folder)


def test_the_first_release_sets_the_champion_and_finds_its_maker(project: Project) -> None:
    project.train()
    before = {path: path.read_bytes() for path in (FINETUNED / PAIR).rglob("*") if path.is_file()}
    command = [sys.executable, "-m", "stemma", "finetune", PAIR, "--pretrained", "models/pretrained/bert"]
    command += ["--task", "data/valid/tasks/first", "--out", str(FINETUNED / PAIR)]
    tracked = miniature.environment(project.folder) | {"STEMMA_TRACKING": "on"}
    subprocess.run(command, env=tracked, check=True, capture_output=True)
    assert {path: path.read_bytes() for path in (FINETUNED / PAIR).rglob("*") if path.is_file()} == before
    send_journals(project.folder)

    outcome = project.release()
    assert outcome.promoted
    assert outcome.seed in (1, 2, 3)
    assert project.champion() == outcome.version.number == "1"
    assert project.registry.at(PAIR, CHALLENGER) == project.registry.at(PAIR, CHAMPION)
    assert [entry.kind for entry in project.ledger.entries()] == ["decision", "promotion"]

    from mlflow.tracking import MlflowClient

    client = MlflowClient()
    version = client.get_model_version(PAIR, "1")
    assert version.run_id is not None
    run = client.get_run(version.run_id)
    assert run.info.run_name == f"finetune@{PAIR}"
    assert run.data.metrics.keys() >= {"seed-1/loss", "seed-1/validation_accuracy"}
    assert version.tags["stemma.ledger_entry"] == project.ledger.entries()[-1].hash


def test_what_is_registered_has_all_that_it_needs_and_no_pickle(project: Project) -> None:
    from mlflow.artifacts import download_artifacts

    folder = Path(download_artifacts(artifact_uri=f"models:/{PAIR}@{CHAMPION}", dst_path="downloaded"))
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    seed = project.registry.at(PAIR, CHAMPION).tags["stemma.seed"]  # type: ignore[union-attr]
    assert files >= {
        "MLmodel", "served_model.py", "input_example.json", "requirements.txt", "artifacts/README.md",
        "code/stemma/tasks/predictor.py",
        *(f"artifacts/seed-{seed}/{name}" for name in ("model.safetensors", "config.json", "tokenizer.json", "task.json")),
    }  # fmt: skip
    assert not [name for name in files if name.endswith((".pkl", ".pickle", ".pt", ".bin", ".pyc"))]
    described = (folder / "MLmodel").read_text()
    assert '"name": "text_pair", "required": false' in " ".join(described.split())
    card = (folder / "artifacts/README.md").read_text()
    assert card.startswith("---\n")
    assert "| 3 | " in card


def test_the_same_bytes_are_not_registered_again(project: Project) -> None:
    entries = len(project.ledger.entries())
    outcome = project.release()
    assert (outcome.version.number, outcome.decision, project.champion()) == ("1", None, "1")
    assert len(project.ledger.entries()) == entries
    assert "champion already" in outcome.lines()[0]


def test_a_worse_challenger_is_refused_by_the_flow_with_every_reason(project: Project) -> None:
    project.train(wrong="abcdefg")
    environment = miniature.environment(project.folder)
    command = [sys.executable, "-m", "flows.release"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{PAIR} version 2" in done.stdout
    assert "REFUSED; version 1 stays" in done.stdout
    for line in ("passed  evidence:", "passed  floor:", "FAILED  majority:", "FAILED  champion:"):
        assert line in done.stdout
    assert "on the same test examples: worse beyond the interval" in done.stdout
    assert project.champion() == "1"
    assert project.registry.at(PAIR, CHALLENGER).number == "2"  # type: ignore[union-attr]
    entries = project.ledger.entries()
    assert [entry.kind for entry in entries] == ["decision", "promotion", "decision"]
    assert entries[-1].facts["promote"] is False
    again = project.release()
    assert (again.promoted, again.is_new) == (False, False)
    assert len(project.ledger.entries()) == len(entries)


def test_a_better_challenger_moves_the_alias(project: Project) -> None:
    project.train(epochs=6, learning_rate=0.006)
    outcome = project.release()
    assert outcome.promoted
    assert outcome.lines()[0].endswith("PROMOTED in place of version 1")
    assert project.champion() == "3"
    means = [entry.facts["scorecard"]["mean"] for entry in project.ledger.entries() if entry.kind == "decision"]
    assert means[1] < means[0] < means[2]


def test_the_served_champion_gives_the_stored_answers(project: Project) -> None:
    import requests

    rows, stored = stored_answers(project)
    with serving(project.folder, f"models:/{PAIR}@{CHAMPION}") as url:
        records = [{"id": row["id"], "text": row["text"]} for row in rows]
        split = {"columns": ["id", "text"], "data": [[row["id"], row["text"]] for row in rows]}
        alone_asked = {"dataframe_records": [{"text": rows[0]["text"]}]}
        bodies: list[Any] = [{"dataframe_records": records}, {"dataframe_split": split}, alone_asked]
        answers = [requests.post(url, json=body, timeout=60).json() for body in bodies]
        refused = requests.post(url, json={"dataframe_records": [{"words": "a b"}]}, timeout=60)
    assert answers[0]["predictions"] == stored
    assert answers[1]["predictions"] == stored
    (alone,) = answers[2]["predictions"]
    assert alone["label"] == stored[0]["label"]
    assert alone["probabilities"] == pytest.approx(stored[0]["probabilities"], abs=1e-5)
    assert refused.status_code == 400


def test_predict_gives_them_without_a_server(project: Project) -> None:
    rows, stored = stored_answers(project)
    lines = "".join(json.dumps({"id": row["id"], "text": row["text"]}) + "\n" for row in rows)
    command = [sys.executable, "-m", "stemma", "predict", f"models:/{PAIR}@{CHAMPION}", "-"]
    environment = miniature.environment(project.folder)
    done = subprocess.run(command, env=environment, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == stored


def test_a_rollback_goes_back_and_the_same_bytes_do_not_return(project: Project) -> None:
    present, earlier = roll_back(PAIR, project.registry, project.ledger)
    assert (present.number, earlier.number, project.champion()) == ("3", "1", "1")
    assert project.ledger.entries()[-1].kind == "rollback"
    outcome = project.release()
    assert not outcome.promoted
    assert "rolled back" in outcome.lines()[1]
    assert project.champion() == "1"
    with pytest.raises(ReleaseError, match="no earlier champion"):
        roll_back(PAIR, project.registry, project.ledger)


def test_an_alias_moved_by_hand_is_written_down(project: Project) -> None:
    project.registry.set_alias(project.registry.get(PAIR, "3"), CHAMPION)
    assert project.release().decision is None
    entry = project.ledger.entries()[-1]
    assert (entry.kind, entry.facts["version"], entry.facts["over"]) == ("promotion", "3", "1")
    assert "by hand" in entry.facts["note"]


def test_a_ledger_that_was_cut_shows_against_the_registry(project: Project) -> None:
    whole = LEDGER.read_bytes()
    LEDGER.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    assert len(project.ledger.entries()) == 2  # by itself it looks whole
    project.release()
    assert "cut" in project.ledger.entries()[-1].facts["note"]
    LEDGER.write_bytes(whole)


def test_a_report_of_other_bytes_is_no_evidence(project: Project) -> None:
    path = REPORT / "metrics.json"
    report = json.loads(path.read_text())
    report["tasks"]["first"]["rows"]["bert"]["seeds"][0] = 0.123
    path.write_text(json.dumps(report))
    with pytest.raises(ReleaseError, match="not those of its predictions"):
        project.release()


def test_stored_answers_that_the_model_does_not_give_stop_the_release(project: Project) -> None:
    project.train(epochs=5, learning_rate=0.006)
    for path in (FINETUNED / PAIR / "predictions").glob("*.parquet"):
        table = pq.read_table(path)
        pq.write_table(table.set_column(1, "label", table["label"].take(list(range(59, -1, -1)))), path)
    champion = project.champion()
    with pytest.raises(ReleaseError, match="does not give the stored answers: row"):
        project.release()
    assert project.champion() == champion
    assert project.registry.at(PAIR, CHALLENGER).number == "3"  # type: ignore[union-attr]


def stored_answers(project: Project) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The validation rows, and what the champion's seed answered when it was fine-tuned."""
    champion = project.registry.at(PAIR, CHAMPION)
    assert champion is not None
    path = FINETUNED / PAIR / "predictions" / f"validation-seed-{champion.tags['stemma.seed']}.parquet"
    return pq.read_table(TASKS / "first/validation.parquet").to_pylist(), pq.read_table(path).to_pylist()


def send_journals(folder: Path) -> None:
    program = "from stemma.adapters.sender import SenderProcess as S; s = S(); s.start(); s.finish(100)"
    while list((folder / ".stemma/journal").glob("*.jsonl")):
        subprocess.run([sys.executable, "-c", program], env=miniature.environment(folder), check=True)


@contextlib.contextmanager
def serving(folder: Path, uri: str) -> Iterator[str]:
    """`mlflow models serve` on loopback, for as long as the block runs."""
    import requests

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "models", "serve", "--env-manager", "local", "-m", uri]
    command += ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    environment = miniature.environment(folder) | {
        "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/.stemma/mlflow.db",
        "MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false",
    }
    with (folder / "serve.log").open("ab") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        deadline = time.monotonic() + 200
        while True:
            with contextlib.suppress(requests.RequestException):
                if requests.get(f"http://127.0.0.1:{port}/ping", timeout=5).ok:
                    break
            assert server.poll() is None, (folder / "serve.log").read_text()
            assert time.monotonic() < deadline, "the server did not come up"
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/invocations"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()
