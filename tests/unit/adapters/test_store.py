"""The real store: MLflow on SQLite takes what it can, says what it refuses, and its file is made whole or not at all."""

import math
import sqlite3
from pathlib import Path

import pytest

from stemma.adapters import store as stores
from stemma.adapters.store import (
    DATABASE,
    Item,
    MlflowStore,
    Param,
    Point,
    StoreDown,
    Tag,
    create_database,
    tracking_uri,
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    create_database(path)
    return path


@pytest.fixture
def store(database: Path) -> MlflowStore:
    return MlflowStore(f"sqlite:///{database}")


def test_runs_are_found_by_tag_and_below_their_parent(store: MlflowStore) -> None:
    assert store.find_run("stemma.run_id", "one") is None
    parent = store.create_run("pipeline one", {"stemma.run_id": "one"}, 1_000)
    child = store.create_run("pretrain@bert", {stores.PARENT_TAG: parent}, 2_000)
    found = store.find_run("stemma.run_id", "one")
    assert found is not None
    assert (found.id, found.status, found.start_time, found.deleted) == (parent, "RUNNING", 1_000, False)
    store.set_status(child, "FAILED", 3_000)
    (below,) = store.children(parent)
    assert (below.id, below.status, below.end_time) == (child, "FAILED", 3_000)
    store.set_status(child, "RUNNING", None)
    assert store.children(parent)[0].status == "RUNNING"


def test_only_the_item_at_fault_is_refused(store: MlflowStore) -> None:
    run = store.create_run("a", {}, 1)
    points = [Point("loss", float(step), step, step) for step in range(20)]
    bad: list[Item] = [Point("l" * 300, 1.0, 0, 1), Tag("no;semicolon", "x")]
    refused = store.log(run, [*points[:10], bad[0], Param("p", "1"), Tag("t", "1"), bad[1], *points[10:]])
    assert [text.partition(":")[0] for text in refused] == ["l" * 300, "no;semicolon"]
    assert store.steps(run, "loss") == set(range(20))
    assert store.log(run, [Param("p", "2")]) != []  # a setting does not change


def test_numbers_that_are_none_are_taken(store: MlflowStore) -> None:
    run = store.create_run("a", {}, 1)
    assert store.log(run, [Point("loss", value, step, 1) for step, value in enumerate((math.nan, math.inf))]) == []
    assert store.steps(run, "loss") == {0, 1}


def test_a_store_that_is_not_there_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MAX_RETRIES", "0"), ("TIMEOUT", "2"), ("BACKOFF_FACTOR", "0")):
        monkeypatch.setenv(f"MLFLOW_HTTP_REQUEST_{name}", value)
    with pytest.raises(StoreDown):
        MlflowStore("http://127.0.0.1:9").find_run("a", "b")


def test_a_database_that_exists_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    path.write_bytes(b"mine")
    create_database(path)
    assert path.read_bytes() == b"mine"


def test_a_new_database_has_no_half_made_one_beside_it(database: Path) -> None:
    assert [path.name for path in database.parent.iterdir()] == ["mlflow.db"]
    with sqlite3.connect(database) as connection:
        assert connection.execute("select count(*) from experiments").fetchone()[0] >= 1


def test_the_default_lies_in_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert tracking_uri() == f"sqlite:///{tmp_path / DATABASE}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:5000")
    assert tracking_uri() == "http://127.0.0.1:5000"
