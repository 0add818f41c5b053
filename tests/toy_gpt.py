"""Settings and a corpus so small that GPT trains on them in a moment."""

from pathlib import Path
from typing import Any, Final

from stemma.families.base import Pretraining
from stemma.families.gpt.family import FAMILY, GptSettings
from tests import toy_bert
from tests.toy_jobs import make_job, run_job
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
    return make_job(folder, tokens, tokenizer, settings(**changes), seed=seed)


def pretrain(folder: Path, **changes: Any) -> tuple[Path, dict[str, float]]:
    """A model folder as the stage leaves it, and the metrics."""
    return run_job(FAMILY, pretraining(folder, **changes))


def pretrain_on_pieces(folder: Path, **changes: Any) -> Path:
    """A model of word pieces, for tasks."""
    return pretrain(folder, corpus=toy_bert.write_corpus(folder), max_length=32, **changes)[0]
