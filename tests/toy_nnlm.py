"""Settings and a corpus so small that a neural language model trains on them in a moment."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from stemma.families.base import Pretraining
from stemma.families.nnlm.family import FAMILY, NnlmSettings
from stemma.progress import Progress
from tests.toy_jobs import make_job, run_job
from tests.toy_ngrams import save_corpus

LETTERS: Final = "abcdefghij"
SETTINGS: Final[dict[str, Any]] = {
    "context": 3,
    "size": 5,
    "hidden_size": 6,
    "direct": False,
    "softmax": "full",
    "cutoffs": [6],
    "dropout": 0.1,
    "steps": 12,
    "batch_size": 32,
    "learning_rate": 0.01,
    "weight_decay": 0.01,
    "warmup_share": 0.1,
    "max_gradient_norm": 1.0,
    "checkpoint_every": 4,
    "threads": 1,
    "task_network": "cbow",
    "tune": "frozen",
    "task_size": 5,
    "task_dropout": 0.1,
    "task_learning_rate": 0.03,
    "crf": False,
}


def settings(**changes: Any) -> NnlmSettings:
    """The toy settings, with changes."""
    return NnlmSettings(**SETTINGS | changes)


def sentences(seed: int, count: int) -> list[str]:
    """Rows of letters in which each is near the one before it, so that there is something to learn."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 3, (count, 12))
    lengths = rng.integers(1, 12, count)
    rows = np.cumsum(steps, axis=1) % len(LETTERS)
    return [" ".join(LETTERS[at] for at in row[:length]) for row, length in zip(rows, lengths, strict=True)]


def pretraining(
    folder: Path, *, scratch: Path | None = None, progress: Progress | None = None, **changes: Any
) -> Pretraining[NnlmSettings]:
    """A toy corpus in `folder` and everything else that `pretrain` takes."""
    tokens, tokenizer = save_corpus(folder, LETTERS, sentences(1, 60), sentences(2, 20))
    return make_job(folder, tokens, tokenizer, settings(**changes), scratch=scratch, progress=progress)


def pretrain(folder: Path, **changes: Any) -> tuple[Path, dict[str, float]]:
    """A model folder as the stage leaves it, and the metrics."""
    return run_job(FAMILY, pretraining(folder, **changes))
