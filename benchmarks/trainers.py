"""The two sides of a pretraining benchmark: our loop and the Hugging Face Trainer, each going on for some steps a call."""

import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from benchmarks.clock import Clock
from stemma.progress import NullProgress
from stemma.training.checkpoint import Checkpoints
from stemma.training.loop import Batch, Objective, Training, deterministic
from stemma.training.precision import Precision
from stemma.training.pretraining import StepSettings, optimisation_of
from stemma.training.tracker import NullTracker

__all__ = ["STEPS", "BenchSettings", "cycle_of", "our_loop", "our_training", "their_trainer"]

STEPS = 8


class BenchSettings(StepSettings, Protocol):
    """What both sides are told."""

    @property
    def batch_size(self) -> int:
        """Examples a step."""

    @property
    def threads(self) -> int:
        """Of one process."""


def our_training(network: nn.Module, settings: BenchSettings, precision: Precision = "float32") -> Training:
    """Our training of a network, which leaves nothing behind."""
    scratch, optimisation = Checkpoints(Path(tempfile.mkdtemp())), optimisation_of(settings, 1, precision)
    return Training(network, optimisation, scratch, tracker=NullTracker(), progress=NullProgress())


def our_loop(
    training: Training, threads: int, batch_at: Callable[[int], Batch], objective: Objective, *, steps: int = STEPS
) -> Callable[[], float]:
    """Our loop; each call goes on for some steps and gives their tokens per second."""

    def run() -> float:
        with deterministic(threads):
            before, begun = training.num_tokens, time.perf_counter()
            training.advance(training.step + steps, batch_at, objective)
            return (training.num_tokens - before) / (time.perf_counter() - begun)

    return run


def their_trainer(
    network: nn.Module, settings: BenchSettings, data: Any, collator: Any, precision: Precision = "float32"
) -> Callable[[], float]:
    """A Trainer with its defaults, but for the precision; its set-up is not timed."""
    import transformers

    def run() -> float:
        torch.set_num_threads(settings.threads)
        torch.use_deterministic_algorithms(False)
        clock, seen = Clock(), []

        def collate(rows: list[dict[str, Any]]) -> Any:
            seen.append(sum(len(row["input_ids"]) for row in rows))
            return collator(rows)

        with tempfile.TemporaryDirectory() as out:
            arguments = transformers.TrainingArguments(
                out,
                per_device_train_batch_size=settings.batch_size,
                max_steps=STEPS + 1,
                learning_rate=settings.learning_rate,
                weight_decay=settings.weight_decay,
                save_strategy="no",
                report_to=[],
                use_cpu=True,
                bf16=precision == "bfloat16",
                disable_tqdm=True,
                logging_strategy="no",
                seed=1,
            )
            trainer = transformers.Trainer(
                model=network, args=arguments, train_dataset=data, data_collator=collate, callbacks=[clock.callback()]
            )
            trainer.train()
        return sum(seen[: STEPS + 1]) / clock.seconds

    return run


def cycle_of(loader: Any) -> Iterator[Any]:
    """A loader's batches epoch after epoch, shuffled anew."""
    for epoch in cycle([loader]):
        yield from epoch
