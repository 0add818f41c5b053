"""A grid of settings: every point is tuned, the best on validation rows is kept, and a killed run goes on."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch

from stemma.config import Finetuning, Grid
from stemma.families.bert.network import load_encoder
from stemma.progress import NullProgress
from stemma.protocols import Encoder
from stemma.tasks import tuning
from stemma.tasks.grid import tune_best
from stemma.tasks.tuning import Tuned, Tuner
from stemma.training.tracker import NullTracker
from tests import toy_tasks

GRID = Grid(epochs=[1, 3], batch_size=[8, 16], learning_rate=[0.01, 0.002])
SETTINGS = toy_tasks.FINETUNING.model_copy(update={"grid": GRID})


class StoppedError(Exception):
    """What a run ends with here in place of a kill."""


class Watch(NullProgress):
    """Notes the trainings that were begun, and stops at a step of one of them."""

    def __init__(self, stop_in: int | None = None, at: int = 3) -> None:
        self.begun: list[str] = []
        self._stop_in, self._at = stop_in, at

    def start(self, what: str, *_: object) -> None:
        self.begun.append(what)

    def update(self, done: int, *_: object) -> None:
        if len(self.begun) == self._stop_in and done == self._at:
            raise StoppedError


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return load_encoder(toy_tasks.write_pretrained(tmp_path_factory.mktemp("pretrained")))


def make_tuner(folder: Path, encoder: Encoder, settings: Finetuning = SETTINGS) -> Tuner:
    data = toy_tasks.write_task(folder / "task", "first")
    tables = {split: pq.read_table(data / f"{split}.parquet") for split in ("train", "validation")}
    return Tuner(encoder, "first", toy_tasks.TASKS["first"], settings, **tables)


def tune(folder: Path, tuner: Tuner, watch: NullProgress | None = None) -> Tuned:
    return tune_best(
        tuner, SETTINGS, 1, scratch=folder / "scratch", tracker=NullTracker(), progress=watch or NullProgress()
    )


def same_weights(one: Tuned, other: Tuned) -> bool:
    mine, theirs = one.model.state_dict(), other.model.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_each_point_is_as_if_it_had_been_tuned_alone(tmp_path, encoder):
    tuner = make_tuner(tmp_path, encoder)
    best = tune(tmp_path, tuner)
    points = [{key: one[key] for key in ("batch_size", "learning_rate", "epochs")} for one in best.tried]
    assert points == [
        {"batch_size": size, "learning_rate": rate, "epochs": epochs}
        for size in (8, 16)
        for rate in (0.01, 0.002)
        for epochs in (1, 3)
    ]
    alone = []
    for number, point in enumerate(SETTINGS.points):
        where = {"scratch": tmp_path / f"alone-{number}", "tracker": NullTracker(), "progress": NullProgress()}
        alone.append(tuner.at(point).tune(1, **where))
    assert [one["validation"] for one in best.tried] == [one.best.scores for one in alone]
    scores = [one.best.scores["accuracy"] for one in alone]
    chosen = scores.index(max(scores))
    assert best.chosen == points[chosen]
    assert same_weights(best, alone[chosen])
    assert best.epochs == alone[chosen].epochs


def test_the_first_of_equals_is_chosen(tmp_path, encoder, monkeypatch):
    monkeypatch.setattr(tuning, "score", lambda *_: {"accuracy": 0.5})
    best = tune(tmp_path, make_tuner(tmp_path, encoder))
    assert best.chosen == {"batch_size": 8, "learning_rate": 0.01, "epochs": 1}
    assert len(best.tried) == 8


@pytest.mark.parametrize("stop_in", [1, 2, 5, 8])
def test_a_run_that_was_stopped_goes_on_and_ends_with_the_same_bits(tmp_path, encoder, stop_in):
    whole = tune(tmp_path / "whole", make_tuner(tmp_path, encoder))
    with pytest.raises(StoppedError):
        tune(tmp_path / "stopped", make_tuner(tmp_path, encoder), Watch(stop_in))
    watch = Watch()
    again = tune(tmp_path / "stopped", make_tuner(tmp_path, encoder), watch)
    assert len(watch.begun) == 8 - (stop_in - 1), "finished points are not tuned again"
    assert (again.chosen, again.tried, again.best, again.epochs) == (
        whole.chosen,
        whole.tried,
        whole.best,
        whole.epochs,
    )
    assert same_weights(again, whole)


def test_finished_points_leave_their_scores_and_the_best_weights_only(tmp_path, encoder):
    with pytest.raises(StoppedError):
        tune(tmp_path, make_tuner(tmp_path, encoder), Watch(5))
    assert sorted(path.name for path in (tmp_path / "scratch").iterdir()) == ["finished", "point-4"]
    watch = Watch()
    newest = max((tmp_path / "scratch" / "finished").iterdir())
    (newest / "tensors.safetensors").write_bytes(b"damaged")
    tune(tmp_path, make_tuner(tmp_path, encoder), watch)
    assert len(watch.begun) == 5, "the one before it is whole: one point more is tuned again"


def test_every_point_has_its_own_curve_and_message(tmp_path, encoder):
    watch = Watch()
    tune(tmp_path, make_tuner(tmp_path, encoder), watch)
    assert watch.begun[0] == "seed 1, batch 8 rate 0.01 epochs 1"
    assert all(one != other for one, other in pairwise(watch.begun))


def test_an_encoder_with_a_rate_of_its_own_has_no_use_for_others(tmp_path):
    frozen = load_encoder(toy_tasks.write_pretrained(tmp_path / "frozen", tune="frozen", task_learning_rate=0.03))
    best = tune(tmp_path, make_tuner(tmp_path, frozen))
    assert [one["learning_rate"] for one in best.tried] == [0.03] * 4


def test_without_a_grid_there_is_nothing_to_choose(tmp_path, encoder):
    tuner = make_tuner(tmp_path, encoder)
    single = SETTINGS.model_copy(update={"grid": None})
    where: dict[str, Any] = {"tracker": NullTracker(), "progress": NullProgress()}
    best = tune_best(tuner, single, 1, scratch=tmp_path / "one", **where)
    assert (best.chosen, best.tried) == (None, [])
    assert same_weights(best, tuner.at(single).tune(1, scratch=tmp_path / "two", **where))
