"""The parts of the flow that need neither Prefect nor DVC."""

import io
import json
import threading
import time
from pathlib import Path

from rich.console import Console

from flows.display import Display, read_states
from flows.record import LockOrder, Record, read_records
from flows.results import read_results
from flows.slots import Slots
from flows.stages import StageFailedError, is_chatter
from stemma.files import write_json


def test_slots_hold_no_more_than_there_are_and_let_the_most_urgent_in_first() -> None:
    slots, order, running, most = Slots(2), [], [0], [0]
    gate = threading.Event()

    def work(name: str, number: int, urgency: float) -> None:
        with slots.take(number, urgency):
            order.append(name)
            running[0] += number
            most[0] = max(most[0], running[0])
            gate.wait(10)
            running[0] -= number

    first = threading.Thread(target=work, args=("first", 2, 0.0))
    first.start()
    wait_for(lambda: order == ["first"])
    threads = [
        threading.Thread(target=work, args=(name, 2, urgency)) for name, urgency in (("low", 1.0), ("high", 9.0))
    ]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    gate.set()
    for thread in [first, *threads]:
        thread.join(10)
    assert order == ["first", "high", "low"]
    assert most == [2]


def test_a_stage_that_wants_more_than_all_gets_all() -> None:
    with Slots(2).take(5, 0.0):
        pass


def test_a_record_names_what_failed_and_what_was_not_run(tmp_path: Path) -> None:
    record = Record(root=tmp_path, run_id="a", flow_run_id="b", planned=["x", "y", "z"])
    record.note("x", "ran")
    record.note("y", "failed")
    record.finish()
    (kept,) = read_records(tmp_path)
    assert kept == record
    assert kept.failure == "failed: y; not run because of that: z"
    record.note("y", "ran")
    assert record.failure == "not run: z"
    record.note("z", "restored")
    assert record.succeeded
    assert record.failure == ""


def test_old_records_are_dropped(tmp_path: Path) -> None:
    for number in range(25):
        Record(root=tmp_path, run_id=str(number), flow_run_id="b").save()
    assert len(list(read_records(tmp_path))) == 20


def test_the_order_before_a_failed_run_is_kept_until_one_succeeds(tmp_path: Path) -> None:
    lock = tmp_path / "dvc.lock"
    lock.write_text("one")
    LockOrder(tmp_path, ["a"]).close(succeeded=False)
    again = LockOrder(tmp_path, ["a", "c"])
    assert again.names == ["a"]
    again.close(succeeded=True)
    assert LockOrder(tmp_path, ["a", "c"]).names == ["a", "c"]


def test_the_order_before_a_killed_run_is_kept_and_not_when_others_have_written_since(tmp_path: Path) -> None:
    LockOrder(tmp_path, [])
    killed = LockOrder(tmp_path, ["c"])
    assert killed.names == []
    killed.close(succeeded=False)
    (tmp_path / "dvc.lock").write_text("written by another")
    assert LockOrder(tmp_path, ["c", "a"]).names == ["c", "a"]


def test_a_failure_says_the_stages_own_words_and_whether_it_may_pass() -> None:
    tail = ["stemma: data/x: no such file", "ERROR: failed to reproduce 'a': failed to run: python, exited with 2"]
    assert str(StageFailedError("a", tail)) == "a: data/x: no such file"
    assert not StageFailedError("a", tail).transient
    assert StageFailedError("a", ["ERROR: Unable to acquire lock. Most likely"]).transient
    assert StageFailedError("a", ["sqlite3: database is locked", "exited with 1"]).transient
    assert not StageFailedError("a", ["database is locked", "python, exited with 2"]).transient
    assert not StageFailedError("a", ["ValueError", "exited with 1"]).transient


def test_dvcs_small_talk_is_told_from_a_stages_words() -> None:
    talk = ["", "Running stage 'a':", "> python x", "Updating lock file 'dvc.lock'", "\tgit add dvc.lock"]
    assert all(is_chatter(line) for line in talk)
    assert not any(is_chatter(line) for line in ["ERROR: failed", "loss 3.2", "stemma: no such file"])


def test_a_log_gets_lines_and_a_broken_state_file_harms_nothing(tmp_path: Path) -> None:
    state = {
        "stage": "a",
        "what": "training",
        "unit": "steps",
        "done": 1,
        "total": 2,
        "seconds_left": 60.0,
        "values": {},
    }
    (tmp_path / "a.json").write_text(json.dumps(state))
    (tmp_path / "b.json").write_text('{"stage"')
    assert list(read_states(tmp_path)) == ["a"]
    text = io.StringIO()
    with Display(tmp_path, Console(file=text)) as display:
        display.begin("a")
        display.end("a", "ran", 1.25)
    assert text.getvalue().splitlines() == ["a: started", "✓ a: ran, 1.2 s"]


def test_bars_show_every_stage_at_work(tmp_path: Path) -> None:
    state = {
        "stage": "pretrain@bert",
        "what": "pretraining",
        "unit": "steps",
        "done": 50,
        "total": 200,
        "seconds_left": 61.0,
        "values": {"loss": 3.25, "tokens_per_second": 12000.0},
    }
    (tmp_path / "pretrain@bert.json").write_text(json.dumps(state))
    text = io.StringIO()
    with Display(tmp_path, Console(file=text, force_terminal=True, width=160)) as display:
        display.begin("pretrain@bert")
        display.begin("evaluate")
        wait_for(lambda: "1:01 left" in text.getvalue())
    shown = text.getvalue()
    assert "pretraining 50/200 steps" in shown
    assert "loss 3.25" in shown
    assert "tokens per second 1.2e+04" in shown or "tokens per second 12,000" in shown
    assert "evaluate" in shown


def test_results_become_rows_whatever_their_shape(tmp_path: Path) -> None:
    assert read_results(tmp_path) == []
    write_json(tmp_path / "reports/evaluation/metrics.json", {"a": {"b": {"x": 1.0, "y": [0, 2]}}, "n": 3})
    assert read_results(tmp_path) == [{"what": "", "n": 3}, {"what": "a b", "x": 1.0, "y": [0, 2]}]


def wait_for(condition: object) -> None:
    deadline = time.monotonic() + 10
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)
