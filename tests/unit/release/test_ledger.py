"""The ledger keeps every entry, shows every edit, and survives a kill in the middle of a line."""

import json
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stemma.errors import CorruptionError, ReleaseError
from stemma.release.ledger import Entry, Kind, Ledger, champions, describe, rolled_back


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "ledger.jsonl", clock=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    ledger.append("decision", "bert-cloze", {"promote": True, "mean": 0.5})
    ledger.append("promotion", "bert-cloze", {"version": "1", "digest": "a"})
    ledger.append("decision", "bert-cloze", {"promote": False, "mean": 0.25})
    return ledger


def test_entries_are_chained_and_dated(ledger: Ledger) -> None:
    entries = ledger.entries()
    assert [(entry.number, entry.kind, entry.time) for entry in entries] == [
        (1, "decision", "2026-01-02T03:04:05+00:00"),
        (2, "promotion", "2026-01-02T03:04:05+00:00"),
        (3, "decision", "2026-01-02T03:04:05+00:00"),
    ]
    assert [entry.previous for entry in entries] == ["0" * 64, entries[0].hash, entries[1].hash]


def test_no_file_is_no_entries(tmp_path: Path) -> None:
    assert Ledger(tmp_path / "none.jsonl").entries() == []


@pytest.mark.parametrize(
    ("tamper", "line"),
    [
        (lambda lines: [lines[0].replace("0.5", "0.9"), *lines[1:]], 1),
        (lambda lines: [lines[0], lines[1].replace('"version": "1"', '"version": "2"'), lines[2]], 2),
        (lambda lines: [lines[0], lines[2]], 2),
        (lambda lines: lines[1:], 1),
        (lambda lines: [lines[1], lines[0], lines[2]], 1),
        (lambda lines: [*lines, lines[2]], 4),
        (lambda lines: [lines[0], "not json", lines[2]], 2),
        (lambda lines: [lines[0], '{"number": 2}', lines[2]], 2),
        (lambda lines: [lines[0].replace("2026", "2027"), *lines[1:]], 1),
    ],
    ids=["figure", "version", "removed", "first-removed", "swapped", "repeated", "garbage", "keys", "time"],
)
def test_every_edit_shows_and_stops_the_next_entry(ledger: Ledger, tmp_path: Path, tamper, line: int) -> None:
    path = tmp_path / "ledger.jsonl"
    edited = "\n".join(tamper(path.read_text().splitlines())) + "\n"
    assert edited != path.read_text()
    path.write_text(edited)
    with pytest.raises(CorruptionError, match=rf"ledger\.jsonl:{line}: "):
        ledger.entries()
    with pytest.raises(CorruptionError):
        ledger.append("decision", "bert-cloze", {})
    assert path.read_text() == edited


def test_an_edit_with_its_hash_made_anew_shows_in_the_next_line(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    lines = path.read_text().splitlines()
    other = Ledger(tmp_path / "other.jsonl")
    other.append("decision", "bert-cloze", {"promote": True, "mean": 0.99})
    path.write_text("\n".join([(tmp_path / "other.jsonl").read_text().strip(), *lines[1:]]) + "\n")
    with pytest.raises(CorruptionError, match=r"ledger\.jsonl:2: entries before this one"):
        ledger.entries()


def test_an_entry_cut_short_by_a_kill_is_passed_over_and_replaced(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(path.read_bytes() + b'{"facts": {}, "kind": "dec')
    assert len(ledger.entries()) == 3
    assert ledger.append("decision", "bert-cloze", {}).number == 4
    assert len(ledger.entries()) == 4
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_writers_at_once_keep_one_chain(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")

    def write() -> None:
        for _ in range(10):
            ledger.append("decision", "bert-cloze", {})

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.entries()) == 40


def history(*steps: tuple[Kind, str]) -> list[Entry]:
    return [
        Entry(number=number, time="", kind=kind, model="m", facts={"version": version, "digest": version}, previous="", hash="")
        for number, (kind, version) in enumerate(steps, start=1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ([], []),
        ([("promotion", "1"), ("decision", "2")], ["1"]),
        ([("promotion", "1"), ("promotion", "2")], ["1", "2"]),
        ([("promotion", "1"), ("promotion", "2"), ("rollback", "2")], ["1"]),
        ([("promotion", "1"), ("promotion", "2"), ("rollback", "2"), ("promotion", "3")], ["1", "3"]),
        ([("promotion", "1"), ("promotion", "2"), ("promotion", "3"), ("rollback", "3"), ("rollback", "2")], ["1"]),
    ],
)
def test_a_rollback_goes_through_the_champions_in_turn(steps: list[tuple[Kind, str]], left: list[str]) -> None:
    assert champions(history(*steps), "m") == left
    assert champions(history(*steps), "other") == []


def test_what_was_rolled_back_is_known_by_its_bytes() -> None:
    assert rolled_back(history(("promotion", "1"), ("promotion", "2"), ("rollback", "2")), "m") == {"2": 3}


def test_a_rollback_from_nothing_is_a_cut_file() -> None:
    with pytest.raises(ReleaseError, match="was the file cut"):
        champions(history(("rollback", "2")), "m")


def test_entries_are_told_with_every_reason() -> None:
    reasons = [{"rule": "floor", "passed": True, "text": "a"}, {"rule": "majority", "passed": False, "text": "b"}]
    facts = {"version": "2", "promote": False, "reasons": reasons, "over": "1", "to": "1", "digest": ""}

    def told(kind: Kind, **more: str) -> str:
        entry = Entry(number=7, time="now", kind=kind, model="m", facts=facts | more, previous="", hash="")
        return describe(entry)

    assert told("decision").splitlines() == [
        "7  now  m version 2: refused",
        "    passed  floor: a",
        "    FAILED  majority: b",
    ]
    assert told("promotion", note="by hand") == "7  now  m version 2: became champion in place of version 1; by hand"
    assert told("rollback") == "7  now  m version 2: rolled back to version 1"
