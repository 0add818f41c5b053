"""Fitting GloVe's factors by AdaGrad (Duchi et al. 2011), in batches of pairs that are shuffled anew each epoch.

A batch's gradients are those of its sum, and every factor is updated once a batch, so a batch should hold several times as
many pairs as there are words. Everything is a function of the seed and the epoch's number: training that was
killed and begins anew goes on from its newest checkpoint and ends with the same bits.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from stemma.data.batches import Shuffler
from stemma.data.cooccurrences import Cooccurrences
from stemma.errors import TrainingError
from stemma.families.glove.objective import Factors, Objective
from stemma.progress import Progress
from stemma.training.checkpoint import Checkpoint, Checkpoints
from stemma.training.tracker import Tracker

__all__ = ["Plan", "Training", "draw_factors", "update"]

_FIRST_SQUARES: Final = 1.0  # what the sums of squares begin with, as in GloVe's own code; so none is 0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How large the vectors are, and how they are fitted."""

    size: int
    epochs: int
    batch_size: int  # pairs
    learning_rate: float
    seed: int
    checkpoint_every: int  # epochs


def draw_factors(num_words: int, size: int, seed: int) -> Factors:
    """Small random numbers, as GloVe's own code draws them."""
    rng = np.random.default_rng(seed % 2**63)  # which takes no negative seed
    shapes: tuple[Any, ...] = ((num_words, size), (num_words, size), num_words, num_words)
    return Factors(*((rng.random(shape, np.float32) - np.float32(0.5)) / np.float32(size) for shape in shapes))


def update(factors: Factors, gradients: Factors, squares: Factors, learning_rate: float) -> None:
    """One step of AdaGrad, in place, gradients too: a slope counts the less, the steeper those before it were."""
    for name, values in factors.arrays().items():
        gradient, sums = gradients.arrays()[name], squares.arrays()[name]
        sums += np.square(gradient)
        gradient /= np.sqrt(sums)
        gradient *= np.float32(learning_rate)
        values -= gradient


class Training:
    """Factors in training. Made anew with the same arguments, it goes on from the newest whole checkpoint."""

    def __init__(
        self,
        counts: Cooccurrences,
        objective: Objective,
        plan: Plan,
        checkpoints: Checkpoints,
        *,
        tracker: Tracker,
        progress: Progress,
    ) -> None:
        self._counts, self._objective, self._checkpoints = counts, objective, checkpoints
        self._tracker, self._progress, self._plan = tracker, progress, plan
        self._shuffler = Shuffler(counts.columns, plan.batch_size, plan.seed, alike=False)
        self.epoch = 0  # how many are behind
        self.curve: list[float] = []  # the mean loss of a pair in each
        self.factors = draw_factors(counts.num_words, plan.size, plan.seed)
        self._squares = Factors(*(np.full_like(values, _FIRST_SQUARES) for values in self.factors.arrays().values()))
        if checkpoint := checkpoints.load_latest():
            self._restore(checkpoint)

    def run(self) -> None:
        """Train to the end."""
        batches = self._shuffler.steps_per_epoch
        self._progress.start("training", self._plan.epochs * batches, "batches")
        while self.epoch < self._plan.epochs:
            first = self.epoch * batches
            losses = [self._learn(step) for step in range(first, first + batches)]
            self.epoch += 1
            self.curve.append(math.fsum(losses) / self._counts.num_entries)
            self._tracker.log_metrics({"loss": self.curve[-1]}, self.epoch)
            if self.epoch % self._plan.checkpoint_every == 0 or self.epoch == self._plan.epochs:
                self._save()

    def _learn(self, step: int) -> float:
        """Take one step; when its loss is not finite, stop before a factor changes."""
        place = self._shuffler.at(step)
        pairs = self._counts.select(np.sort(place.examples))
        loss, gradients = self._objective.loss_and_gradients(self.factors, pairs)
        if not math.isfinite(loss):
            raise TrainingError(f"the loss is {loss} in {place.name}; lower learning_rate, or raise full_weight_count")
        update(self.factors, gradients, self._squares, self._plan.learning_rate)
        self._progress.update(step + 1, {"loss": loss / pairs.num_entries})
        return loss

    def _save(self) -> None:
        tensors = {name: torch.from_numpy(values) for name, values in self._state().items()}
        self._checkpoints.save(self.epoch, tensors, {"curve": self.curve})

    def _restore(self, checkpoint: Checkpoint) -> None:
        self.epoch, self.curve = checkpoint.step, checkpoint.state["curve"]
        for name, values in self._state().items():
            saved: Tensor = checkpoint.tensors[name]
            values[...] = saved.numpy()

    def _state(self) -> dict[str, Any]:
        parts = {"factors": self.factors, "squares": self._squares}
        return {f"{part}.{name}": values for part, held in parts.items() for name, values in held.arrays().items()}
