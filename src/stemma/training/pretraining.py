"""What the pretraining of every network has in common: how settings say how weights are changed, and steps without end."""

from collections.abc import Callable, Iterator
from typing import Final, Protocol

from stemma.training.loop import Batch, Objective, Optimisation, Training
from stemma.training.precision import Precision

__all__ = ["StepSettings", "optimisation_of", "take_steps"]

_POINTS: Final = 200  # of the training curve


class StepSettings(Protocol):
    """The settings of a family that say how its weights are changed."""

    @property
    def steps(self) -> int:
        """How many updates."""

    @property
    def learning_rate(self) -> float:
        """The highest of the schedule."""

    @property
    def weight_decay(self) -> float:
        """Of all but vectors."""

    @property
    def warmup_share(self) -> float:
        """The share of the steps over which the learning rate rises."""

    @property
    def max_gradient_norm(self) -> float:
        """What longer gradients are cut to."""

    @property
    def checkpoint_every(self) -> int:
        """Steps between two checkpoints."""


def optimisation_of(settings: StepSettings, seed: int, precision: Precision = "float32") -> Optimisation:
    """A family's settings as the loop takes them."""
    return Optimisation(
        steps=settings.steps,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        warmup_share=settings.warmup_share,
        max_gradient_norm=settings.max_gradient_norm,
        seed=seed,
        record_every=max(1, settings.steps // _POINTS),
        checkpoint_every=settings.checkpoint_every,
        precision=precision,
    )


def take_steps(training: Training, batch_at: Callable[[int], Batch], objective: Objective) -> Iterator[int]:
    """Steps without end, each giving its number of tokens, for those who want to know what they cost."""
    while True:
        before = training.num_tokens
        training.advance(training.step + 1, batch_at, objective)
        yield training.num_tokens - before
