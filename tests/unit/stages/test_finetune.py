"""The stage `finetune`: what it writes, what it reads, what it refuses."""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from stemma.config import Finetuning, Grid
from stemma.errors import CorruptionError, InputError, SettingsError, TrainingError
from stemma.files import verify_manifest
from stemma.progress import NullProgress
from stemma.stages import finetune
from stemma.tasks.metrics import score
from stemma.tasks.predictor import load_predictor
from stemma.training.tracker import NullTracker
from tests import toy_tasks


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    return toy_tasks.write_pretrained(tmp_path_factory.mktemp("pretrained"))


def run(
    folder: Path,
    pretrained: Path,
    task: str,
    name: str | None = None,
    finetuning: Finetuning = toy_tasks.FINETUNING,
) -> Path:
    out = folder / "out"
    data = folder / "task"
    if not data.exists():
        toy_tasks.write_task(data, task)
    finetune.run(
        name or f"bert-{task}",
        toy_tasks.params(finetuning),
        NullTracker(),
        NullProgress(),
        pretrained=pretrained,
        task=data,
        out=out,
    )
    return out


@pytest.fixture(autouse=True)
def _scratch(monkeypatch, tmp_path):
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))


@pytest.mark.parametrize("task", list(toy_tasks.TASKS))
def test_what_is_written(tmp_path, pretrained, task):
    out = run(tmp_path, pretrained, task)
    settings = toy_tasks.TASKS[task]
    assert sorted(path.name for path in out.iterdir()) == [
        "curve.csv",
        "metrics.json",
        "predictions",
        "seed-1",
        "seed-2",
    ]
    metrics = json.loads((out / "metrics.json").read_text())["seeds"]
    validation = pq.read_table(tmp_path / "task" / "validation.parquet")
    with (out / "curve.csv").open() as file:
        curve = list(csv.DictReader(file))
    assert list(curve[0]) == ["seed", "epoch", "step", "loss", "score"]
    for seed in (1, 2):
        verify_manifest(out / f"seed-{seed}")
        about = json.loads((out / f"seed-{seed}" / "task.json").read_text())
        assert (about["task"], about["family"], about["variant"], about["seed"]) == (task, "bert", "bert", seed)
        stored = pq.read_table(out / "predictions" / f"validation-seed-{seed}.parquet")
        assert load_predictor(out / f"seed-{seed}").predict(validation).equals(stored)
        recorded = metrics[str(seed)]
        assert score(settings.kind, validation, stored, settings.labels) == recorded["validation"]
        epochs = [row for row in curve if row["seed"] == str(seed)]
        assert [row["epoch"] for row in epochs] == ["1", "2", "3"]
        scores = [float(row["score"]) for row in epochs]
        assert scores.index(max(scores)) + 1 == recorded["best_epoch"], "the first of the best"
        assert max(scores) == recorded["validation"][settings.metric]
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == ["encoded"], "no checkpoint is left behind"


def test_the_same_again_is_the_same_to_the_byte(tmp_path, pretrained):
    def contents(out: Path) -> dict[str, bytes]:
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    first = contents(run(tmp_path / "one", pretrained, "first"))
    assert contents(run(tmp_path / "two", pretrained, "first")) == first
    assert first["seed-1/model.safetensors"] != first["seed-2/model.safetensors"]


def test_with_a_grid_every_points_scores_and_the_choice_are_written(tmp_path, pretrained):
    grid = Grid(epochs=[1, 3], batch_size=[8], learning_rate=[0.0001, 0.01])
    out = run(tmp_path, pretrained, "first", finetuning=toy_tasks.FINETUNING.model_copy(update={"grid": grid}))
    validation = pq.read_table(tmp_path / "task" / "validation.parquet")
    for seed, found in json.loads((out / "metrics.json").read_text())["seeds"].items():
        points = [(one["batch_size"], one["learning_rate"], one["epochs"]) for one in found["grid"]]
        assert points == [(8, 0.0001, 1), (8, 0.0001, 3), (8, 0.01, 1), (8, 0.01, 3)]
        scores = [one["validation"]["accuracy"] for one in found["grid"]]
        best = found["grid"][scores.index(max(scores))]
        assert best == {**found["chosen"], "best_epoch": found["best_epoch"], "validation": found["validation"]}
        stored = pq.read_table(out / "predictions" / f"validation-seed-{seed}.parquet")
        assert score("classification", validation, stored, ["no", "yes"]) == found["validation"]
        with (out / "curve.csv").open() as file:
            rows = [row for row in csv.DictReader(file) if row["seed"] == seed]
        assert len(rows) == found["chosen"]["epochs"], "the curve is that of the chosen point"
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == ["encoded"], "no checkpoint is left behind"


def test_the_test_split_is_never_read(tmp_path, pretrained):
    toy_tasks.write_task(tmp_path / "task", "first")
    (tmp_path / "task" / "test.parquet").write_bytes(b"not parquet at all")
    run(tmp_path, pretrained, "first")


def test_an_unknown_pair_is_refused(tmp_path, pretrained):
    with pytest.raises(SettingsError, match="no pair 'bert-nothing'"):
        run(tmp_path, pretrained, "first", name="bert-nothing")


def test_inputs_longer_than_pretrained_for_are_refused(tmp_path):
    short = toy_tasks.write_pretrained(tmp_path / "short", max_length=16)
    with pytest.raises(SettingsError, match=r"tasks\.first\.max_length: 24 is more than the 16"):
        run(tmp_path, short, "first")


def test_a_damaged_pretrained_model_is_refused(tmp_path):
    folder = toy_tasks.write_pretrained(tmp_path / "damaged")
    with (folder / "model.safetensors").open("ab") as file:
        file.write(b"x")
    with pytest.raises(CorruptionError, match=r"model\.safetensors"):
        run(tmp_path, folder, "first")
    assert not (tmp_path / "out").exists()


def test_rows_of_another_kind_are_refused(tmp_path, pretrained):
    toy_tasks.write_task(tmp_path / "task", "letters")
    with pytest.raises(InputError, match=r"train\.parquet: columns are .*tokens"):
        run(tmp_path, pretrained, "first")


def test_missing_rows_are_named(tmp_path, pretrained):
    (tmp_path / "task").mkdir()
    with pytest.raises(InputError, match=r"parquet"):
        run(tmp_path, pretrained, "first")


def test_no_rows_to_train_on_is_said(tmp_path, pretrained):
    toy_tasks.write_task(tmp_path / "task", "first", train=0)
    with pytest.raises(TrainingError, match="no example to train on"):
        run(tmp_path, pretrained, "first")
