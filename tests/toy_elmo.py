"""Settings so small that ELMo trains on a toy corpus in a moment."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from stemma.families.base import Pretraining
from stemma.families.elmo.family import FAMILY, ElmoSettings
from stemma.progress import Progress
from tests import toy_bert, toy_nnlm
from tests.toy_jobs import make_job, run_job
from tests.toy_ngrams import save_corpus, save_tokens

SETTINGS: Final[dict[str, Any]] = {
    "max_characters": 8,
    "character_size": 4,
    "filters": [[1, 4], [3, 6]],
    "highways": 1,
    "size": 6,
    "cells": 8,
    "layers": 2,
    "dropout": 0.1,
    "steps": 12,
    "batch_size": 4,
    "length": 12,
    "fresh_share": 0.1,
    "learning_rate": 0.01,
    "weight_decay": 0.01,
    "warmup_share": 0.1,
    "max_gradient_norm": 1.0,
    "checkpoint_every": 4,
    "threads": 1,
    "tune": "frozen",
    "task_size": 5,
    "task_dropout": 0.1,
    "task_learning_rate": 0.03,
    "crf": False,
}


def settings(**changes: Any) -> ElmoSettings:
    """The toy settings, with changes."""
    return ElmoSettings(**SETTINGS | changes)


def pretraining(
    folder: Path, *, scratch: Path | None = None, progress: Progress | None = None, pieces: bool = False, **changes: Any
) -> Pretraining[ElmoSettings]:
    """A toy corpus in `folder`, of words or of word pieces, and everything else that `pretrain` takes."""
    if pieces:
        tokens, tokenizer = folder / "tokens", toy_bert.write_tokenizer(folder / "tokenizer")
        for seed, split in enumerate(("train", "validation"), start=1):
            rng = np.random.default_rng(seed)
            texts = [toy_bert.sentence(rng, int(rng.integers(1, 9))) for _ in range(60)]
            save_tokens(tokens / split, toy_bert.tokenizer(), texts)
    else:
        tokens, tokenizer = save_corpus(folder, toy_nnlm.LETTERS, toy_nnlm.sentences(1, 60), toy_nnlm.sentences(2, 20))
    return make_job(folder, tokens, tokenizer, settings(**changes), scratch=scratch, progress=progress)


def pretrain(folder: Path, **changes: Any) -> tuple[Path, dict[str, float]]:
    """A model folder as the stage leaves it, and the metrics."""
    return run_job(FAMILY, pretraining(folder, **changes))
