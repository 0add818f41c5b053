"""Fine-tuning: a head on a pretrained encoder, trained whole, the best epoch chosen on validation rows."""

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import tokenizers
import torch
from torch import Tensor, nn

from stemma.config import Finetuning, Task
from stemma.data.batches import Shuffler
from stemma.errors import SettingsError
from stemma.progress import Progress
from stemma.protocols import Auxiliary, Counting, Encoder, OwnRate, Tagger
from stemma.tasks.features import Features, encode_rows
from stemma.tasks.heads import head_loss, input_tensors, make_targets
from stemma.tasks.metrics import score
from stemma.tasks.predictor import Predictor
from stemma.training.checkpoint import Checkpoints
from stemma.training.loop import Batch, Optimisation, Training, deterministic
from stemma.training.tracker import Tracker

__all__ = ["Epoch", "Tuned", "Tuner"]

Encode = Callable[[pa.Table, Task, tokenizers.Tokenizer, int], Features]

_CHECKPOINT_EVERY: Final = 500  # steps, inside an epoch; every epoch ends with one
_ROWS_COUNTED: Final = 1024  # at a time


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """What an epoch came to."""

    epoch: int  # from 1
    step: int  # the last of it
    loss: float  # mean over its steps
    scores: dict[str, float]  # on the validation rows, by metric
    null_threshold: float | None = None  # chosen on them, where questions may have no answer


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A model with the weights of its best epoch; of several trainings, see `stemma.tasks.grid`, the best one's."""

    model: nn.Module
    best: Epoch
    epochs: list[Epoch]
    chosen: dict[str, Any] | None = None  # the settings that were chosen from a grid
    tried: list[dict[str, Any]] = field(default_factory=list)  # every point of it, with its best epoch and scores


class Tuner:
    """Tunes an encoder to a task; rows become features once, for all seeds and epochs."""

    def __init__(
        self,
        encoder: Encoder,
        task_name: str,
        task: Task,
        settings: Finetuning,
        *,
        train: pa.Table,
        validation: pa.Table,
        encode: Encode = encode_rows,
    ) -> None:
        if task.max_length > encoder.max_length:
            raise SettingsError(
                f"params.yaml: tasks.{task_name}.max_length: {task.max_length} is more than the {encoder.max_length}"
                " tokens that the model was pretrained for"
            )
        self.encoder, self.settings = encoder, settings
        self._task_name, self._task = task_name, task
        self._validation = validation
        self._features, self._validation_features = (
            encode(rows, task, encoder.tokenizer, task.max_length) for rows in (train, validation)
        )
        self._targets = make_targets(train, self._features, task)

    @property
    def own_rate(self) -> float | None:
        """What the encoder's tasks are learned at, if not at the rate of all fine-tuning."""
        return self.encoder.learning_rate if isinstance(self.encoder, OwnRate) else None

    @property
    def metric(self) -> str:
        """What a model is chosen by."""
        return self._task.metric

    def at(self, settings: Finetuning) -> "Tuner":
        """The same with other settings; the features are shared."""
        other = copy.copy(self)
        other.settings = settings
        return other

    def on(self, encoder: Encoder) -> "Tuner":
        """The same with another encoder, which has the same tokenizer; the features are shared."""
        other = copy.copy(self)
        other.encoder = encoder
        return other

    def tune(self, seed: int, *, scratch: Path, tracker: Tracker, progress: Progress, label: str = "") -> Tuned:
        """Train with one seed (head, order, dropout), going on from a checkpoint in `scratch` if there is one.

        `label` says in curves and messages which of several trainings of a seed this is.
        """
        together = self._features.together
        longest = self._features.ids.lengths.reshape(-1, together).max(axis=1)
        shuffler = Shuffler(longest, self.settings.batch_size, seed)
        steps = shuffler.steps_per_epoch
        track_as = f"seed-{seed}/{label.replace(' ', '-')}{label and '/'}"

        def batch_at(step: int) -> Batch:
            place = shuffler.at(step)
            inputs = (place.examples[:, None] * together + np.arange(together)).ravel()
            tensors = {**input_tensors(self._features, inputs), "targets": self._targets.take(place.examples)}
            num_tokens = int(self._features.ids.lengths[inputs].sum())
            return Batch(name=f"seed {seed}, {place.name}", passes=[tensors], num_tokens=num_tokens)

        with deterministic(self.settings.threads):
            model = self.with_head(seed)
            if isinstance(model, Counting):
                return self._count(model, progress)
            training = Training(
                model,
                self._optimisation(seed, steps),
                Checkpoints(scratch),
                tracker=tracker,
                progress=progress,
                track_as=track_as,
            )
            progress.start(f"seed {seed}{label and ', '}{label}", self.settings.epochs * steps, "steps")
            for epoch in range(training.step // steps, self.settings.epochs):
                training.advance((epoch + 1) * steps, batch_at, self._objective)
                self._finish_epoch(training, epoch, track_as, tracker)
            model.load_state_dict(training.kept)
        epochs = [Epoch(**record) for record in training.notes["epochs"]]
        return Tuned(model=model, best=epochs[training.notes["best"]], epochs=epochs)

    def _count(self, model: nn.Module, progress: Progress) -> Tuned:
        """Let a model count the training rows: one epoch, one step, and what it says of those rows afterwards is its loss."""
        assert isinstance(model, Counting)
        together, rows = self._features.together, self._features.num_rows

        def batches() -> Iterator[dict[str, Tensor]]:
            for begin in range(0, rows, _ROWS_COUNTED):
                examples = np.arange(begin, min(begin + _ROWS_COUNTED, rows))
                inputs = (examples[:, None] * together + np.arange(together)).ravel()
                yield {**input_tensors(self._features, inputs), "targets": self._targets.take(examples)}

        progress.start("counting", 1, "passes")
        model.count(batches())
        with torch.inference_mode():
            losses = [float(self._objective(model, tensors)["loss"]) * len(tensors["targets"]) for tensors in batches()]
        progress.update(1)
        scores, _ = self._judge(model)
        epoch = Epoch(epoch=1, step=1, loss=math.fsum(losses) / rows, scores=scores)
        return Tuned(model=model, best=epoch, epochs=[epoch])

    def _judge(self, model: nn.Module) -> tuple[dict[str, float], float | None]:
        """Score the validation rows; beside it the threshold that was chosen on them, where questions may have no answer."""
        predictor = Predictor(task_name=self._task_name, task=self._task, model=model, tokenizer=self.encoder.tokenizer)
        predictor, answers = predictor.calibrate(self._validation, self._validation_features)
        return score(self._task.kind, self._validation, answers, self._task.labels), predictor.null_threshold

    def with_head(self, seed: int) -> nn.Module:
        """The encoder with a new head, as `tune` begins with it."""
        task = self._task
        return self.encoder.with_head(task.kind, task.labels, seed=seed, symmetric=task.symmetric)

    def _optimisation(self, seed: int, steps_per_epoch: int) -> Optimisation:
        settings = self.settings
        return Optimisation(
            steps=settings.epochs * steps_per_epoch,
            learning_rate=settings.learning_rate if self.own_rate is None else self.own_rate,
            weight_decay=settings.weight_decay,
            warmup_share=settings.warmup_share,
            max_gradient_norm=settings.max_gradient_norm,
            seed=seed,
            record_every=steps_per_epoch,
            checkpoint_every=_CHECKPOINT_EVERY,
        )

    def _objective(self, model: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        inputs = {name: tensor for name, tensor in tensors.items() if name != "targets"}
        if isinstance(model, Tagger):
            return {"loss": model.tag_loss(model(**inputs), tensors["targets"])}
        if not isinstance(model, Auxiliary):
            return {"loss": head_loss(self._task.kind, model(**inputs), tensors["targets"])}
        logits, others = model.logits_and_losses(**inputs)
        task = head_loss(self._task.kind, logits, tensors["targets"])
        return {"loss": torch.stack([task, *others.values()]).sum(), "task": task, **others}

    def _finish_epoch(self, training: Training, epoch: int, track_as: str, tracker: Tracker) -> None:
        """Score the validation rows, keep the weights if they are the best so far (the first of equals), and save."""
        scores, null_threshold = self._judge(training.model)
        tracker.log_metrics({f"{track_as}validation_{name}": value for name, value in scores.items()}, training.step)
        epochs = training.notes.setdefault("epochs", [])
        loss = training.curve[-1]["loss"]
        record = {"epoch": epoch + 1, "step": training.step, "loss": loss, "scores": scores}
        epochs.append({**record, "null_threshold": null_threshold})
        metric, best = self._task.metric, training.notes.get("best")
        if best is None or scores[metric] > epochs[best]["scores"][metric]:
            training.notes["best"] = epoch
            training.kept = {name: tensor.clone() for name, tensor in training.model.state_dict().items()}
        training.save()
