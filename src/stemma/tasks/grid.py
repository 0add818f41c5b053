"""The best point of a grid: every point is tuned by itself, and the one with the highest validation score is kept.

Each number of epochs is a training of its own, since the learning rate falls to zero at its end. What is kept after a point are
the best weights so far and every point's scores, not the point's checkpoints: a run that was killed goes on with the
point that it was at, and one with 18 points needs no more room than one with two.
"""

import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from stemma.config import Finetuning
from stemma.progress import Progress
from stemma.protocols import Counting
from stemma.tasks.tuning import Epoch, Tuned, Tuner
from stemma.training.checkpoint import Checkpoints
from stemma.training.tracker import Tracker

__all__ = ["tune_best"]


def tune_best(
    tuner: Tuner, settings: Finetuning, seed: int, *, scratch: Path, tracker: Tracker, progress: Progress
) -> Tuned:
    """Tune a seed at every point of the grid and keep the best, the first of equals; goes on from what is in `scratch`."""
    if settings.grid is None:
        return tuner.at(settings).tune(seed, scratch=scratch, tracker=tracker, progress=progress)
    points = _points(tuner, settings)
    finished = Checkpoints(scratch / "finished")
    best, done = _read_best(finished, tuner, seed)
    for number in range(done, len(points)):
        point, folder = points[number], scratch / f"point-{number}"
        tuned = tuner.at(settings.model_copy(update={"grid": None, **point})).tune(
            seed, scratch=folder, tracker=tracker, progress=progress, label=_label(point)
        )
        best = _better(best, tuned, point, tuner.metric)
        if isinstance(tuned.model, Counting):  # what it counts is the same at every point
            break
        finished.save(number + 1, _weights(best), _state(best))
        shutil.rmtree(folder, ignore_errors=True)
    assert best is not None
    return best


def _points(tuner: Tuner, settings: Finetuning) -> list[dict[str, Any]]:
    """The points that differ for this encoder: one whose tasks have a rate of their own has no use for others."""
    points = []
    for one in settings.points:
        rate = one.learning_rate if tuner.own_rate is None else tuner.own_rate
        point = {"batch_size": one.batch_size, "learning_rate": rate, "epochs": one.epochs}
        if point not in points:
            points.append(point)
    return points


def _label(point: Mapping[str, Any]) -> str:
    return f"batch {point['batch_size']} rate {point['learning_rate']:g} epochs {point['epochs']}"


def _better(before: Tuned | None, new: Tuned, point: dict[str, Any], metric: str) -> Tuned:
    """The better of the best so far and a new point, which is added to what was tried."""
    record = {**point, "best_epoch": new.best.epoch, "validation": new.best.scores}
    tried = [*(before.tried if before else []), record]
    if before is not None and before.best.scores[metric] >= new.best.scores[metric]:
        return replace(before, tried=tried)
    return replace(new, chosen=point, tried=tried)


def _weights(tuned: Tuned) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in tuned.model.state_dict().items()}  # also those that share memory


def _state(tuned: Tuned) -> dict[str, Any]:
    epochs = [asdict(epoch) for epoch in tuned.epochs]
    return {"best": tuned.epochs.index(tuned.best), "epochs": epochs, "chosen": tuned.chosen, "tried": tuned.tried}


def _read_best(finished: Checkpoints, tuner: Tuner, seed: int) -> tuple[Tuned | None, int]:
    """The best that a run that was killed had found, and after how many points."""
    kept = finished.load_latest()
    if kept is None:
        return None, 0
    state, model = kept.state, tuner.with_head(seed)
    model.load_state_dict(kept.tensors)
    epochs = [Epoch(**record) for record in state["epochs"]]
    best = Tuned(model=model, best=epochs[state["best"]], epochs=epochs, chosen=state["chosen"], tried=state["tried"])
    return best, kept.step
