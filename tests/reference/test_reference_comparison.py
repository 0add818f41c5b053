"""The comparison on real weights, on toy ones: a unit is run once, by its settings, and the table says where ours lies."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.reference import Unit, compare, mean_and_interval, run_unit
from benchmarks.reference_tasks import TASKS, ReferenceTask, prepare_rows
from stemma.errors import InputError
from stemma.files import read_json, write_json
from tests.toy_bert import sentence
from tests.toy_weights import make_network, write_weights

TASK = ReferenceTask(
    format="cola",
    files={"train": ["train.tsv"], "validation": ["train.tsv"], "test": ["dev.tsv"]},
    epochs=2,
    learning_rate=0.01,
    max_length=16,
    most={"train": 40},
)


def write_data(folder: Path) -> Path:
    folder.mkdir()
    rng = np.random.default_rng(1)
    for name, count in (("train", 90), ("dev", 30)):
        lines = [f"x\t{rng.integers(2)}\t\t{sentence(rng, 4)}\n" for _ in range(count)]
        (folder / f"{name}.tsv").write_text("".join(lines))
    return folder


def test_a_unit_is_run_once_and_only_with_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))
    where = {"weights": write_weights(tmp_path / "model", make_network()), "out": tmp_path / "out"}
    unit = Unit(name="toy", task=TASK, side="ours", seed=1, threads=1)
    found = run_unit(unit, data=write_data(tmp_path / "data"), **where)
    assert found["about"]["rows"]["train"] == 40
    assert found["about"]["rows"]["test"] == 30
    assert len(found["epochs"]) == 2
    assert found["epochs"][found["best_epoch"] - 1] == found["validation"]["matthews"] == max(found["epochs"])
    assert set(found["test"]) == {"accuracy", "matthews", "f1"}
    assert run_unit(unit, data=tmp_path / "data", **where) == found  # with its time: it was read
    with pytest.raises(InputError, match="another settings"):
        run_unit(replace(unit, task=replace(TASK, epochs=1)), data=tmp_path / "data", **where)


def test_rows_are_the_same_for_both_sides_and_each_is_in_one_split(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    rows = prepare_rows(TASK, data, tmp_path / "rows")
    texts = {split: set(table["id"].to_pylist()) for split, table in rows.tables.items()}
    assert not texts["train"] & texts["validation"]
    assert prepare_rows(TASK, data, tmp_path / "rows").digest == rows.digest
    with pytest.raises(InputError, match=r"dev\.tsv: no such file; --data"):
        prepare_rows(replace(TASK, files={**TASK.files, "test": ["other/dev.tsv"]}), data, tmp_path / "others")


def test_every_task_has_settings_that_hold() -> None:
    for task in TASKS.values():
        assert task.settings().metric == task.metrics[0]
        assert task.most["train"] <= 8_000
        assert task.tuning(1, 2).batch_size == 32


def write_units(out: Path, **sides: list[float]) -> None:
    for side, values in sides.items():
        for seed, value in enumerate(values, 1):
            scores = {"accuracy": value, "matthews": value, "f1": value}
            result: dict[str, Any] = {
                "about": {"rows": {"train": 40, "test": 30}},
                "test": scores,
                "validation": scores,
            }
            write_json(out / "units" / f"toy-{side}-seed-{seed}.json", result)


@pytest.mark.parametrize(
    ("ours", "verdict"), [([0.5, 0.6, 0.7], "within"), ([0.1, 0.1, 0.1], "below"), ([0.9, 0.9, 0.9], "above")]
)
def test_the_table_says_where_ours_lies(tmp_path: Path, ours: list[float], verdict: str) -> None:
    write_units(tmp_path, ours=ours, trainer=[0.5, 0.6, 0.7])
    lines = compare({"toy": TASK}, tmp_path).splitlines()
    assert len(lines) == 2 + 4  # of test and validation both metrics
    assert all(line.endswith(f"| {verdict} |") for line in lines[2:])
    assert "| 0.600 ± 0.248 |" in lines[2]


def test_a_seed_that_only_one_side_has_is_not_compared(tmp_path: Path) -> None:
    write_units(tmp_path, ours=[0.5, 0.9], trainer=[0.4])
    assert "| 0.500 | 0.400 | +0.100 | of one seed |" in compare({"toy": TASK}, tmp_path)
    assert read_json(tmp_path / "units" / "toy-ours-seed-2.json")["test"]["accuracy"] == 0.9


def test_the_interval_is_students() -> None:
    mean, half = mean_and_interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(4.302653 / 3**0.5, rel=1e-5)
    assert mean_and_interval([1.0]) == (1.0, None)
