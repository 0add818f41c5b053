"""A stage's tracker: a journal with all that is known, whatever becomes of the stage, the sender or the disk."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stemma.adapters import mlflow, sender
from stemma.adapters.journal import JOURNALS, JournalTracker
from stemma.adapters.mlflow import open_tracker
from stemma.adapters.sender import SenderProcess
from stemma.files import digest_tree
from stemma.training.tracker import NullTracker


class FakeSender:
    """A sender that only counts, or fails."""

    calls: list[str] = []  # noqa: RUF012 - reset by the fixture
    broken = False

    def start(self) -> None:
        self.calls.append("start")
        if self.broken:
            raise OSError("no more processes")

    def finish(self) -> None:
        self.calls.append("finish")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mlflow, "SenderProcess", FakeSender)
    monkeypatch.setattr(FakeSender, "calls", [])
    for name in ("STEMMA_TRACKING", "STEMMA_RUN_ID", "STEMMA_FLOW_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "weights").write_text("1 2 3")
    return tmp_path


def events() -> list[dict[str, Any]]:
    (path,) = JOURNALS.glob("*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_good_end_is_written_with_the_digest_of_what_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMMA_RUN_ID", "run-1")
    monkeypatch.setenv("STEMMA_FLOW_RUN_ID", "flow-1")
    with open_tracker("pretrain@bert", inputs=[Path("data")], out=Path("out")) as tracker:
        assert isinstance(tracker, JournalTracker)
        tracker.log_params({"steps": 3})
        tracker.log_metrics({"loss": 0.5}, 1)
        assert FakeSender.calls == ["start"]
    begin, params, metrics, tags, end = events()
    assert (begin["kind"], begin["stage"], begin["parent"]) == ("run", "pretrain@bert", "run-1")
    assert begin["tags"]["stemma.flow_run_id"] == begin["parent_tags"]["stemma.flow_run_id"] == "flow-1"
    assert begin["tags"].keys() >= {"stemma.torch", "stemma.python", "stemma.cpu_flags"}
    assert (params["values"], metrics["values"], metrics["step"]) == ({"steps": "3"}, {"loss": 0.5}, 1)
    assert tags["values"]["stemma.output_digest"] == digest_tree([Path("out")])
    assert (end["kind"], end["status"]) == ("end", "FINISHED")
    assert FakeSender.calls == ["start", "finish"]


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("a bug"), "FAILED"), (KeyboardInterrupt(), "KILLED"), (SystemExit(2), "FAILED")]
)
def test_a_bad_end_is_written_and_the_error_goes_on(error: BaseException, status: str) -> None:
    with pytest.raises(type(error)), open_tracker("pretrain@bert", inputs=[], out=Path("out")):
        raise error
    assert events()[-1]["status"] == status
    assert not any("stemma.output_digest" in event.get("values", {}) for event in events())
    assert FakeSender.calls == ["start", "finish"]


def test_tracking_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMMA_TRACKING", "off")
    with open_tracker("pretrain@bert", inputs=[], out=Path("out")) as tracker:
        assert isinstance(tracker, NullTracker)
    assert not JOURNALS.exists()


def test_a_journal_that_can_not_be_made_costs_a_warning(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    (project / ".stemma").write_text("a file in the way")
    with open_tracker("pretrain@bert", inputs=[], out=Path("out")) as tracker:
        assert isinstance(tracker, NullTracker)
    assert caplog.text.count("no record is kept") == 1


def test_a_sender_that_does_not_start_costs_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(FakeSender, "broken", True)
    with open_tracker("pretrain@bert", inputs=[], out=Path("out")) as tracker:
        tracker.log_metrics({"loss": 0.5}, 1)
    assert [event["kind"] for event in events()] == ["run", "metrics", "tags", "end"]
    assert "could not start the sender: no more processes" in caplog.text


def test_outputs_that_are_not_there_cost_a_warning_and_the_end_is_written(caplog: pytest.LogCaptureFixture) -> None:
    with open_tracker("pretrain@bert", inputs=[], out=Path("nowhere")):
        pass
    assert events()[-1]["kind"] == "end"
    assert "could not finish the record" in caplog.text


def test_where_a_sender_serves_no_second_one_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a second sender was started"))
    with sender._lock(JOURNALS) as free:
        assert free
        other = SenderProcess()
        other.start()
        other.finish()


def test_two_senders_of_one_folder_exclude_each_other() -> None:
    with sender._lock(JOURNALS) as first, sender._lock(JOURNALS) as second:
        assert (first, second) == (True, False)
    with sender._lock(JOURNALS) as again:
        assert again


def test_journals_of_writers_that_died_at_birth_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    JOURNALS.mkdir(parents=True)
    (JOURNALS / "old.jsonl").touch()
    sender._remove_stillborn(JOURNALS)
    assert (JOURNALS / "old.jsonl").exists()
    monkeypatch.setattr(sender, "_BIRTH_SECONDS", -1.0)
    (JOURNALS / "full.jsonl").write_text("{}\n")
    sender._remove_stillborn(JOURNALS)
    assert [path.name for path in JOURNALS.glob("*.jsonl")] == ["full.jsonl"]


def test_a_flow_goes_on_without_a_sender(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (project / ".stemma").write_text("a file in the way")
    with sender.open_sender():
        pass
    assert "runs stay in their journals for now" in caplog.text
