"""Settings and a corpus so small that GPT trains on them in a moment."""

import shutil
from pathlib import Path
from typing import Any, Final

from stemma.families.base import Pretraining
from stemma.families.gpt.family import FAMILY, GptSettings
from stemma.files import write_json, write_manifest
from stemma.progress import NullProgress
from stemma.training.tracker import NullTracker
from tests import toy_bert
from tests.toy_ngrams import save_corpus
from tests.toy_nnlm import LETTERS, sentences

SETTINGS: Final[dict[str, Any]] = {
    "block": "transformer",
    "layers": 1,
    "hidden_size": 16,
    "heads": 2,
    "dropout": 0.1,
    "max_length": 16,
    "steps": 12,
    "batch_size": 4,
    "tokens_per_pass": 32,
    "learning_rate": 0.01,
    "weight_decay": 0.01,
    "warmup_share": 0.1,
    "max_gradient_norm": 1.0,
    "auxiliary_weight": 0.5,
    "checkpoint_every": 4,
    "precision": "float32",
    "threads": 1,
    "processes": 1,
}


def settings(**changes: Any) -> GptSettings:
    """The toy settings, with changes."""
    return GptSettings(**SETTINGS | changes)


def pretraining(
    folder: Path, *, seed: int = 1, corpus: tuple[Path, Path] | None = None, **changes: Any
) -> Pretraining[GptSettings]:
    """A toy corpus of words in `folder`, unless another is given, and everything else that `pretrain` takes."""
    tokens, tokenizer = corpus or save_corpus(folder, LETTERS, sentences(1, 60), sentences(2, 20))
    out = folder / "out"
    out.mkdir(parents=True, exist_ok=True)
    return Pretraining(
        tokens=tokens,
        tokenizer=tokenizer,
        settings=settings(**changes),
        seed=seed,
        scratch=folder / "scratch",
        out=out,
        tracker=NullTracker(),
        progress=NullProgress(),
    )


def pretrain(folder: Path, **changes: Any) -> tuple[Path, dict[str, float]]:
    """A model folder as the stage leaves it, and the metrics."""
    job = pretraining(folder, **changes)
    metrics = FAMILY.pretrain(job)
    for file in job.tokenizer.iterdir():
        shutil.copy(file, job.out)
    write_json(job.out / "family.json", {"family": "gpt", "variant": "gpt"})
    write_manifest(job.out)
    return job.out, metrics


def pretrain_on_pieces(folder: Path, **changes: Any) -> Path:
    """A model of word pieces, for tasks."""
    return pretrain(folder, corpus=toy_bert.write_corpus(folder), max_length=32, **changes)[0]
