"""A journal keeps whole events, tells a living writer from a dead one, and never raises."""

import errno
import json
import logging
import math
import os
from pathlib import Path

import pytest

from stemma.adapters.journal import Journal, JournalReader, JournalTracker


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path, "pretrain@bert", clock=lambda: 1_000)


def test_events_are_read_once_in_order_while_the_writer_goes_on(journal: Journal) -> None:
    tracker, reader = JournalTracker(journal), JournalReader(journal.path)
    tracker.log_params({"steps": 10, "share": 0.1})
    tracker.log_metrics({"loss": 2.5}, step=1)
    assert [event["kind"] for event in reader.events()] == ["params", "metrics"]
    assert list(reader.events()) == []
    tracker.set_tags({"kind": "test"})
    assert list(reader.events()) == [{"kind": "tags", "time": 1_000, "values": {"kind": "test"}}]
    reader.rewind()
    assert len(list(reader.events())) == 3


def test_numbers_that_json_lacks_survive(journal: Journal) -> None:
    JournalTracker(journal).log_metrics({"a": math.nan, "b": -math.inf, "c": 0.1}, step=0)
    (line,) = journal.path.read_text().splitlines()
    values = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))["values"]
    assert math.isnan(float(values["a"]))
    assert (float(values["b"]), float(values["c"])) == (-math.inf, 0.1)


def test_the_lock_says_whether_the_writer_lives(journal: Journal) -> None:
    reader = JournalReader(journal.path)
    assert reader.writer_lives()
    journal.close()
    assert not reader.writer_lives()


def test_a_line_being_written_waits_and_a_torn_one_is_passed_over(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    reader = JournalReader(journal.path)
    journal.append("tags", values={"a": "1"})
    with journal.path.open("ab") as file:
        file.write(b'{"kind": "metr')
    assert len(list(reader.events())) == 1
    with journal.path.open("ab") as file:
        file.write(b'\n{"kind": "tags", "time": 1, "values": {"b": "2"}}\n')
    assert [event["values"] for event in reader.events()] == [{"b": "2"}]
    assert "torn" in caplog.text


def test_a_full_disk_costs_one_warning_and_the_events_meanwhile(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write = os.write

    def fill_up(descriptor: int, data: bytes) -> int:
        write(descriptor, data[:5])
        raise OSError(errno.ENOSPC, "No space left on device")

    journal.append("tags", values={"a": "1"})
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(os, "write", fill_up)
        journal.append("tags", values={"b": "2"})
        journal.append("tags", values={"c": "3"})
    journal.append("tags", values={"d": "4"})
    assert [event["values"] for event in JournalReader(journal.path).events()] == [{"a": "1"}, {"d": "4"}]
    assert caplog.text.count("No space left") == 1


def test_two_journals_of_one_stage_do_not_meet(tmp_path: Path) -> None:
    assert Journal(tmp_path, "finetune@bert-cloze").path != Journal(tmp_path, "finetune@bert-cloze").path
