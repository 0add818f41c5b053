"""Every point arrives exactly once, whatever the store does: here a store that fails on request."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event

import pytest

from stemma.adapters.delivery import JOURNAL_TAG, RUN_ID_TAG, STAGE_TAG, Delivery
from stemma.adapters.journal import Journal, JournalTracker
from stemma.adapters.sender import Sender
from stemma.adapters.store import PARENT_TAG, Item, Param, Point, RunRecord, StoreDown, Tag


class FakeStore:
    """A store in memory. `fail_after` requests it fails, doing or not doing the one that fails."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, object]] = {}
        self.points: list[tuple[str, str, int, float]] = []
        self.facts: dict[str, list[Item]] = {}
        self.fail_after: int | None = None
        self.do_before_failing = False
        self.refuse: set[str] = set()
        self.deleted: set[str] = set()

    def find_run(self, tag: str, value: str) -> RunRecord | None:
        self._tick()
        return next((self._record(run) for run in self.runs if self._tags(run).get(tag) == value), None)

    def create_run(self, name: str, tags: Mapping[str, str], start_time: int) -> str:
        with_failure = self._failing()
        if not with_failure or self.do_before_failing:
            run = f"{name}-{len(self.runs)}"
            self.runs[run] = {"tags": dict(tags), "status": "RUNNING", "start": start_time, "end": None}
        if with_failure:
            raise StoreDown("gone")
        return run

    def log(self, run: str, items: Sequence[Item]) -> list[str]:
        with_failure = self._failing()
        if not with_failure or self.do_before_failing:
            taken = [item for item in items if item.key not in self.refuse]
            self.points += [(run, i.key, i.step, i.value) for i in taken if isinstance(i, Point)]
            self.facts.setdefault(run, []).extend(item for item in taken if not isinstance(item, Point))
        if with_failure:
            raise StoreDown("gone")
        return [item.key for item in items if item.key in self.refuse]

    def steps(self, run: str, metric: str) -> set[int]:
        self._tick()
        return {step for owner, key, step, _ in self.points if (owner, key) == (run, metric)}

    def set_status(self, run: str, status: str, end_time: int | None) -> None:
        self._tick()
        self.runs[run] |= {"status": status, "end": end_time}

    def children(self, parent: str) -> list[RunRecord]:
        self._tick()
        return [self._record(run) for run in self.runs if self._tags(run).get(PARENT_TAG) == parent]

    def by_name(self, start: str) -> RunRecord:
        (run,) = (run for run in self.runs if run.startswith(start))
        return self._record(run)

    def _failing(self) -> bool:
        if self.fail_after is None:
            return False
        self.fail_after -= 1
        return self.fail_after < 0

    def _tick(self) -> None:
        if self._failing():
            raise StoreDown("gone")

    def _tags(self, run: str) -> Mapping[str, str]:
        tags = self.runs[run]["tags"]
        assert isinstance(tags, dict)
        return tags

    def _record(self, run: str) -> RunRecord:
        value = self.runs[run]
        start, end = value["start"], value["end"]
        assert isinstance(start, int)
        assert end is None or isinstance(end, int)
        return RunRecord(run, str(value["status"]), run in self.deleted, self._tags(run), start, end)


@pytest.fixture
def clock() -> Iterator[int]:
    return iter(range(1_000, 10_000_000))


def write_run(
    folder: Path, clock: Iterator[int], *, stage: str = "pretrain@bert", parent: str | None = "run-1"
) -> Journal:
    journal = Journal(folder, stage, clock=lambda: next(clock))
    journal.append("run", id=journal.id, stage=stage, parent=parent, parent_tags={"git": "abc"}, tags={"torch": "2"})
    return journal


def write_points(journal: Journal, steps: range) -> None:
    for step in steps:
        JournalTracker(journal).log_metrics({"loss": 1 / (step + 1), "rate": float(step)}, step)


def expected(run: str, steps: range) -> list[tuple[str, str, int, float]]:
    return [
        (run, key, step, value) for step in steps for key, value in (("loss", 1 / (step + 1)), ("rate", float(step)))
    ]


def test_a_finished_run_arrives_with_its_parent(tmp_path: Path, clock: Iterator[int]) -> None:
    store, journal = FakeStore(), write_run(tmp_path, clock)
    JournalTracker(journal).log_params({"steps": 3})
    write_points(journal, range(3))
    journal.append("tags", values={"digest": "d"})
    journal.append("end", status="FINISHED")
    journal.close()
    assert Delivery(journal.path).advance(store)
    child, parent = store.by_name("pretrain@bert"), store.by_name("pipeline")
    assert child.tags == {
        "torch": "2", JOURNAL_TAG: journal.id, STAGE_TAG: "pretrain@bert", PARENT_TAG: parent.id
    }  # fmt: skip
    assert parent.tags == {"git": "abc", RUN_ID_TAG: "run-1"}
    assert (child.status, child.start_time, child.end_time) == ("FINISHED", 1_000, 1_006)
    assert (parent.status, parent.start_time, parent.end_time) == ("FINISHED", 1_000, 1_006)
    assert store.facts[child.id] == [Param("steps", "3"), Tag("digest", "d")]
    assert store.points == expected(child.id, range(3))


@pytest.mark.parametrize("do_before_failing", [False, True], ids=["request-lost", "answer-lost"])
@pytest.mark.parametrize("fail_after", range(8))
def test_every_point_arrives_once_when_any_one_request_fails(
    tmp_path: Path, clock: Iterator[int], fail_after: int, do_before_failing: bool
) -> None:
    store, journal = FakeStore(), write_run(tmp_path, clock)
    store.fail_after, store.do_before_failing = fail_after, do_before_failing
    delivery = Delivery(journal.path)
    failed = False
    for begin in (0, 2, 4, 6):
        write_points(journal, range(begin, begin + 2))
        if begin == 6:
            journal.append("end", status="FINISHED")
            journal.close()
        try:
            delivery.advance(store)
        except StoreDown:
            failed, store.fail_after = True, None
    assert Delivery(journal.path).advance(store)  # the next start
    assert failed
    assert sorted(store.points) == sorted(expected(store.by_name("pretrain@bert").id, range(8)))
    assert len(store.runs) == 2


def test_a_large_journal_goes_in_batches_that_mlflow_takes(tmp_path: Path, clock: Iterator[int]) -> None:
    sizes: list[int] = []

    class Counting(FakeStore):
        def log(self, run: str, items: Sequence[Item]) -> list[str]:
            sizes.append(len(items))
            assert len(items) <= 1000
            assert sum(not isinstance(item, Point) for item in items) <= 100
            return super().log(run, items)

    store, journal = Counting(), write_run(tmp_path, clock)
    JournalTracker(journal).log_params({f"p{number}": number for number in range(250)})
    write_points(journal, range(1500))
    journal.close()
    assert Delivery(journal.path).advance(store)
    assert sum(sizes) == 250 + 3000
    assert len(sizes) < 10


def test_a_point_logged_twice_in_a_run_is_sent_once(tmp_path: Path, clock: Iterator[int]) -> None:
    store, journal = FakeStore(), write_run(tmp_path, clock)
    write_points(journal, range(2))
    write_points(journal, range(2))
    Delivery(journal.path).advance(store)
    assert len(store.points) == 4


def test_a_killed_writer_ends_its_run_as_killed_when_it_last_wrote(tmp_path: Path, clock: Iterator[int]) -> None:
    store, journal = FakeStore(), write_run(tmp_path, clock)
    write_points(journal, range(2))
    delivery = Delivery(journal.path)
    assert not delivery.advance(store)
    assert store.by_name("pretrain@bert").status == "RUNNING"
    journal.close()  # as the kernel does for a killed process
    assert delivery.advance(store)
    assert (store.by_name("pretrain@bert").status, store.by_name("pretrain@bert").end_time) == ("KILLED", 1_002)
    assert store.by_name("pipeline").status == "KILLED"


@pytest.mark.parametrize(
    ("first", "second", "parent"),
    [("FINISHED", "FINISHED", "FINISHED"), ("FAILED", "FINISHED", "FAILED"), ("FINISHED", "FAILED", "FAILED")],
)
def test_a_parent_stands_as_its_stages_do(
    tmp_path: Path, clock: Iterator[int], first: str, second: str, parent: str
) -> None:
    store = FakeStore()
    for stage, status in (("pretrain@bert", first), ("finetune@bert-cloze", second)):
        journal = write_run(tmp_path, clock, stage=stage)
        delivery = Delivery(journal.path)
        delivery.advance(store)
        assert store.by_name("pipeline").status == "RUNNING"
        journal.append("end", status=status)
        delivery.advance(store)
    assert store.by_name("pipeline").status == parent


def test_a_later_attempt_of_a_stage_counts(tmp_path: Path, clock: Iterator[int]) -> None:
    store = FakeStore()
    for status in ("FAILED", "FINISHED"):
        journal = write_run(tmp_path, clock)
        journal.append("end", status=status)
        Delivery(journal.path).advance(store)
    assert store.by_name("pipeline").status == "FINISHED"


def test_a_run_that_someone_deleted_stays_deleted(tmp_path: Path, clock: Iterator[int]) -> None:
    store, journal = FakeStore(), write_run(tmp_path, clock, parent=None)
    Delivery(journal.path).advance(store)
    store.deleted.add(store.by_name("pretrain@bert").id)
    write_points(journal, range(3))
    journal.close()
    assert Delivery(journal.path).advance(store)
    assert store.points == []
    assert len(store.runs) == 1


def serve_once(folder: Path, store: FakeStore) -> bool:
    stop = Event()
    stop.set()
    return Sender(folder, lambda: store).serve(stop)


def test_the_sender_removes_what_arrived_and_keeps_what_did_not(
    tmp_path: Path, clock: Iterator[int], caplog: pytest.LogCaptureFixture
) -> None:
    store = FakeStore()
    for stage in ("pretrain@bert", "pretrain@ngram"):
        journal = write_run(tmp_path, clock, stage=stage)
        write_points(journal, range(2))
        journal.append("end", status="FINISHED")
        journal.close()
    store.fail_after = 0
    assert not serve_once(tmp_path, store)
    assert len(list(tmp_path.glob("*.jsonl"))) == 2
    assert caplog.text.count("does not answer") == 1
    store.fail_after = None
    assert serve_once(tmp_path, store)
    assert list(tmp_path.glob("*.jsonl")) == []
    assert len(store.points) == 8


def test_refused_values_are_tried_again_by_the_next_start_and_then_put_aside(
    tmp_path: Path, clock: Iterator[int], caplog: pytest.LogCaptureFixture
) -> None:
    store, journal = FakeStore(), write_run(tmp_path, clock)
    store.refuse = {"loss"}
    write_points(journal, range(2))
    stop = Event()
    sender = Sender(tmp_path, lambda: store)
    assert sender.send()
    journal.append("end", status="FINISHED")
    journal.close()
    stop.set()
    assert sender.serve(stop)
    assert sender.send()
    assert [record.message for record in caplog.records if "refuses" in record.message] == [
        f"tracking: the MLflow store refuses 2 values (loss); they are kept in {journal.path}"
    ]
    assert serve_once(tmp_path, store)
    assert [path.name for path in tmp_path.glob("*")] == [f"{journal.id}.refused"]
    assert sorted(key for _, key, _, _ in store.points) == ["rate", "rate"]
    assert store.by_name("pretrain@bert").status == "FINISHED"


def test_refused_values_that_the_store_takes_later_arrive(tmp_path: Path, clock: Iterator[int]) -> None:
    store, journal = FakeStore(), write_run(tmp_path, clock)
    store.refuse = {"loss"}
    sender = Sender(tmp_path, lambda: store)
    write_points(journal, range(2))
    journal.close()
    sender.send()
    store.refuse = set()
    assert serve_once(tmp_path, store)
    assert sorted(store.points) == sorted(expected(store.by_name("pretrain@bert").id, range(2)))
    assert list(tmp_path.glob("*")) == []
