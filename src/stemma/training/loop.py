"""The loop that every neural family and task trains with.

Deterministic: a batch is a function of the step's number, torch's generator (which dropout draws from) is seeded anew for
every pass through the network, and the number of threads is a setting. So a run that was killed and started again ends
with the same bits.
Left out on purpose: epochs, validation and choosing a model, which are the caller's.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from stemma.data.workspace import keep_freed_memory
from stemma.errors import TrainingError
from stemma.progress import Progress
from stemma.training.checkpoint import Checkpoint, Checkpoints
from stemma.training.distributed import ALONE, Team
from stemma.training.precision import Precision, check_precision, lowered
from stemma.training.schedule import Schedule, rate_factor
from stemma.training.tracker import Tracker

__all__ = ["Batch", "Objective", "Optimisation", "Training", "deterministic"]


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What one step learns from."""

    name: str  # for messages: which epoch, which batch of it
    passes: Sequence[Mapping[str, Tensor]]  # what goes through the network at once; the gradients add up
    num_tokens: int


class Objective(Protocol):
    """What a model is trained for."""

    def __call__(self, model: nn.Module, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Losses by name, each a scalar; the one called `loss` is minimised, the others are for the curve.

        Those of a batch's passes add up to the batch's.
        """


@dataclass(frozen=True, kw_only=True)
class Optimisation:
    """How weights are changed, and how often that is written down."""

    steps: int
    learning_rate: float
    weight_decay: float
    warmup_share: float
    max_gradient_norm: float
    seed: int  # of dropout
    record_every: int  # steps that one point of the curve is the mean of
    checkpoint_every: int  # steps
    precision: Precision = "float32"  # of products
    schedule: Schedule = "linear"
    betas: tuple[float, float] = (0.9, 0.999)  # of Adam's two means
    epsilon: float = 1e-8  # of Adam


@contextmanager
def deterministic(threads: int) -> Iterator[None]:
    """Compute with a fixed number of threads and with algorithms that give equal bits; put everything back after."""
    memory: Any = torch.utils.deterministic  # a module with an attribute that its type does not show
    before = (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), memory.fill_uninitialized_memory)
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    memory.fill_uninitialized_memory = False  # costs time, and nothing reads what it never wrote
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])
        memory.fill_uninitialized_memory = before[2]


class Training:
    """A model in training. Made anew with the same arguments, it goes on from the newest whole checkpoint.

    `notes` (for JSON) and `kept` (tensors) are the caller's own and are saved with it.
    """

    def __init__(
        self,
        model: nn.Module,
        optimisation: Optimisation,
        checkpoints: Checkpoints,
        *,
        tracker: Tracker,
        progress: Progress,
        track_as: str = "",
        team: Team = ALONE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model, self.step, self.num_tokens = model, 0, 0
        self.curve: list[dict[str, float]] = []
        self.notes: dict[str, Any] = {}
        self.kept: dict[str, Tensor] = {}
        self._window: dict[str, float] = {"steps": 0}  # sums of the losses since the last point of the curve
        self._saved_step: int | None = None
        self._optimisation, self._checkpoints = optimisation, checkpoints
        self._tracker, self._progress, self._track_as, self._clock = tracker, progress, track_as, clock
        self._team = team
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        keep_freed_memory()
        check_precision(optimisation.precision)
        self._optimizer = _make_optimizer(self._parameters, optimisation)
        tracker.set_tags({"stemma.threads": str(torch.get_num_threads())})
        for rank in range(team.size):  # one after the other: the first sets damaged checkpoints aside
            if rank == team.rank and (checkpoint := checkpoints.load_latest()):
                self._restore(checkpoint)
            team.wait()

    def advance(self, until: int, batch_at: Callable[[int], Batch], objective: Objective) -> None:
        """Train up to step `until`. Saves on the way, but not at the end: first the caller adds what it finds there."""
        begun, tokens_before = self._clock(), self.num_tokens
        self.model.train()
        while self.step < until:
            loss = self._learn(batch_at(self.step), objective)
            elapsed = self._clock() - begun
            speed = (self.num_tokens - tokens_before) / elapsed if elapsed > 0 else 0.0
            self._progress.update(self.step, {"loss": loss, "tokens_per_second": speed})
            if self.step % self._optimisation.record_every == 0 or self.step == self._optimisation.steps:
                self._record_point(speed)
            if self.step % self._optimisation.checkpoint_every == 0 and self.step < until:
                self.save()

    def save(self) -> None:
        """Save a checkpoint of this step."""
        if self._team.rank:
            return
        tensors = {f"model.{name}": tensor for name, tensor in _weights(self.model).items()}
        tensors |= {f"kept.{name}": tensor for name, tensor in self.kept.items()}
        for name, parameter in self.model.named_parameters():
            for key, value in self._optimizer.state[parameter].items():
                tensors[f"optimizer.{key}.{name}"] = value
        state = {"curve": self.curve, "notes": self.notes, "num_tokens": self.num_tokens, "window": self._window}
        self._checkpoints.save(self.step, tensors, state)
        self._saved_step = self.step

    def _learn(self, batch: Batch, objective: Objective) -> float:
        """Take one step; when its loss or gradient is not finite, stop before a weight changes."""
        settings = self._optimisation
        factor = rate_factor(settings.schedule, self.step, steps=settings.steps, warmup_share=settings.warmup_share)
        for group in self._optimizer.param_groups:
            group["lr"] = settings.learning_rate * factor
        values = self._add_gradients(batch, objective)
        self._stop_unless_finite("loss", values["loss"], batch)
        norm = nn.utils.clip_grad_norm_(self._parameters, settings.max_gradient_norm)
        self._stop_unless_finite("gradient norm", float(norm), batch)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.num_tokens += batch.num_tokens
        for name, value in {**values, "steps": 1}.items():
            self._window[name] = self._window.get(name, 0.0) + value
        return values["loss"]

    def _add_gradients(self, batch: Batch, objective: Objective) -> dict[str, float]:
        """Go through the network and back with every pass of a batch; the batch's losses."""
        if len(batch.passes) < self._team.size:
            raise TrainingError(f"{batch.name}: fewer passes than processes; lower processes, or raise batch_size")
        totals: dict[str, Tensor] = {}
        for number in range(self._team.rank, len(batch.passes), self._team.size):
            torch.manual_seed(_pass_seed(self._optimisation.seed, self.step, number))
            with lowered(self._optimisation.precision):
                losses = objective(self.model, batch.passes[number])
            losses["loss"].backward()  # type: ignore[no-untyped-call]
            for name, loss in losses.items():
                totals[name] = totals.get(name, torch.zeros(())) + loss.detach()
        gradients = (parameter.grad for parameter in self._parameters if parameter.grad is not None)
        self._team.add_up([*totals.values(), *gradients])
        return {name: float(total) for name, total in totals.items()}

    def _stop_unless_finite(self, what: str, value: float, batch: Batch) -> None:
        if math.isfinite(value):
            return
        kept = (
            "there is no checkpoint yet"
            if self._saved_step is None
            else f"the checkpoint of {self._saved_step} is kept"
        )
        raise TrainingError(
            f"the {what} is {value} at step {self.step + 1} ({batch.name}); no weight was changed and {kept}:"
            " lower learning_rate, or look at that batch"
        )

    def _record_point(self, tokens_per_second: float) -> None:
        num_steps = self._window.pop("steps")
        means = {name: total / num_steps for name, total in self._window.items()}
        self._window = {"steps": 0}
        self.curve.append({"step": self.step, **means})
        values = {**means, "tokens_per_second": tokens_per_second}
        self._tracker.log_metrics({self._track_as + name: value for name, value in values.items()}, self.step)

    def _restore(self, checkpoint: Checkpoint) -> None:
        state, tensors = checkpoint.state, checkpoint.tensors
        self.step = self._saved_step = checkpoint.step
        self.curve, self.notes, self.num_tokens = state["curve"], state["notes"], state["num_tokens"]
        self._window = state["window"]
        self.kept = _below("kept.", tensors)
        with torch.no_grad():
            for name, tensor in _weights(self.model).items():
                tensor.copy_(tensors[f"model.{name}"])
        for key in ("step", "exp_avg", "exp_avg_sq"):
            saved = _below(f"optimizer.{key}.", tensors)
            for name, parameter in self.model.named_parameters():
                if name in saved:
                    self._optimizer.state[parameter][key] = saved[name]


def _make_optimizer(parameters: list[nn.Parameter], settings: Optimisation) -> torch.optim.AdamW:
    """Build AdamW; vectors (biases, normalisation) do not decay, as in BERT's own code."""
    groups = [
        {
            "params": [parameter for parameter in parameters if parameter.ndim > 1],
            "weight_decay": settings.weight_decay,
        },
        {"params": [parameter for parameter in parameters if parameter.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=settings.betas, eps=settings.epsilon, fused=True)


def _pass_seed(seed: int, step: int, number: int) -> int:
    """What one pass of one step draws from, whichever process makes it."""
    return int(np.random.SeedSequence([seed % 2**63, step, number]).generate_state(1, np.uint64)[0] >> 1)


def _weights(model: nn.Module) -> dict[str, Tensor]:
    """Collect parameters and lasting buffers by name, those that share memory once."""
    lasting = model.state_dict().keys()
    buffers = {name: buffer for name, buffer in model.named_buffers() if name in lasting}
    return {**dict(model.named_parameters()), **buffers}


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copy the tensors under a prefix: those of a checkpoint may be memory maps of files that will be removed."""
    return {name.removeprefix(prefix): tensor.clone() for name, tensor in tensors.items() if name.startswith(prefix)}
