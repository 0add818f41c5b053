"""Fine-tuning: it learns, and it keeps the best epoch."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from stemma.families.bert.network import load_encoder
from stemma.progress import NullProgress
from stemma.protocols import Encoder
from stemma.tasks import tuning
from stemma.tasks.predictor import Predictor
from stemma.tasks.tuning import Tuned, Tuner
from stemma.training.tracker import NullTracker
from tests import toy_tasks


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return load_encoder(toy_tasks.write_pretrained(tmp_path_factory.mktemp("pretrained")))


def tune(folder: Path, encoder: Encoder, task: str, *, train: int = 60, seed: int = 1, **changes: object) -> Tuned:
    data = toy_tasks.write_task(folder / "task", task, train=train)
    tables = {split: pq.read_table(data / f"{split}.parquet") for split in ("train", "validation")}
    settings = toy_tasks.FINETUNING.model_copy(update=changes)
    tuner = Tuner(encoder, task, toy_tasks.TASKS[task], settings, **tables)
    return tuner.tune(seed, scratch=folder / "scratch", tracker=NullTracker(), progress=NullProgress())


@pytest.mark.parametrize(("task", "floor"), [("first", 0.85), ("how-many", 0.7), ("letters", 0.9), ("pick", 0.85)])
def test_it_learns(tmp_path, encoder, task, floor):
    tuned = tune(tmp_path, encoder, task, train=300, epochs=4, learning_rate=0.02)
    assert tuned.best.scores[toy_tasks.TASKS[task].metric] > floor


def test_the_first_best_epoch_is_kept(tmp_path, encoder, monkeypatch):
    scores = iter([0.5, 0.7, 0.7, 0.2])
    seen: list[dict[str, torch.Tensor]] = []
    calibrate = Predictor.calibrate

    def watch(self, rows, features):
        seen.append({name: tensor.clone() for name, tensor in self.model.state_dict().items()})
        return calibrate(self, rows, features)

    monkeypatch.setattr(Predictor, "calibrate", watch)
    monkeypatch.setattr(tuning, "score", lambda *_: {"accuracy": next(scores)})
    tuned = tune(tmp_path, encoder, "first", epochs=4)
    assert tuned.best.epoch == 2
    assert [epoch.scores["accuracy"] for epoch in tuned.epochs] == [0.5, 0.7, 0.7, 0.2]
    kept = tuned.model.state_dict()
    assert all(torch.equal(kept[name], seen[1][name]) for name in kept)
    assert not all(torch.equal(kept[name], seen[2][name]) for name in kept)


def test_validation_changes_nothing(tmp_path, encoder):
    """More validation rows, the same training: scoring draws no random numbers and leaves dropout on."""
    one = tune(tmp_path / "one", encoder, "first", epochs=2)
    assert one.model.training
    other = tune(tmp_path / "other", encoder, "first", epochs=2)
    assert [epoch.loss for epoch in one.epochs] == [epoch.loss for epoch in other.epochs]
