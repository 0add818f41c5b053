"""Settings and a parallel corpus so small that a Transformer trains on them in a moment."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from stemma.data.token_store import TokenStoreWriter, id_dtype
from stemma.families.base import Pretraining
from stemma.families.transformer.family import FAMILY, TransformerSettings
from stemma.progress import Progress
from tests.toy_jobs import make_job, run_job
from tests.toy_ngrams import save_tokenizer

LETTERS: Final = "abcdef"
SETTINGS: Final[dict[str, Any]] = {
    "layers": 1,
    "hidden_size": 16,
    "heads": 2,
    "intermediate_size": 32,
    "dropout": 0.1,
    "max_length": 12,
    "label_smoothing": 0.1,
    "steps": 12,
    "batch_size": 16,
    "learning_rate": 0.01,
    "schedule": "inverse-root",
    "warmup_share": 0.2,
    "betas": (0.9, 0.98),
    "epsilon": 1e-9,
    "weight_decay": 0.0,
    "max_gradient_norm": 1.0,
    "checkpoint_every": 4,
    "threads": 1,
    "beam": 4,
    "length_penalty": 0.6,
}
Pair = tuple[str, str]


def settings(**changes: Any) -> TransformerSettings:
    """The toy settings, with changes."""
    return TransformerSettings(**SETTINGS | changes)


def pairs(seed: int, count: int, longest: int = 4) -> list[Pair]:
    """Rows of letters and, as their translation, the same in capitals from the end to the beginning."""
    rng = np.random.default_rng(seed)
    rows = [[LETTERS[at] for at in rng.integers(len(LETTERS), size=rng.integers(1, longest + 1))] for _ in range(count)]
    return [(" ".join(row), " ".join(row[::-1]).upper()) for row in rows]


def save_pairs(folder: Path, documents: Sequence[Sequence[str]], tokenizer: Any, **options: int) -> None:
    """A token store with these documents."""
    dtype = id_dtype(tokenizer.get_vocab_size())
    with TokenStoreWriter(folder, dtype, **options) as writer:
        for document in documents:
            ids = [encoding.ids for encoding in tokenizer.encode_batch(list(document), add_special_tokens=False)]
            flat = np.array([word for side in ids for word in side], dtype)
            writer.add(flat, np.array([len(side) for side in ids], np.int64), sum(map(len, document)))


def save_corpus(folder: Path, *, train: int = 60, validation: int = 16) -> tuple[Path, Path]:
    """A tokenizer and the token stores of two splits: where they lie."""
    tokenizer = save_tokenizer(folder / "tokenizer", LETTERS + LETTERS.upper())
    save_pairs(folder / "tokens" / "train", pairs(1, train), tokenizer, tokens_per_shard=200)
    save_pairs(folder / "tokens" / "validation", pairs(2, validation), tokenizer)
    return folder / "tokens", folder / "tokenizer"


def pretraining(
    folder: Path, *, scratch: Path | None = None, progress: Progress | None = None, train: int = 60, **changes: Any
) -> Pretraining[TransformerSettings]:
    """A toy corpus in `folder` and everything else that `pretrain` takes."""
    tokens, tokenizer = save_corpus(folder, train=train)
    return make_job(folder, tokens, tokenizer, settings(**changes), scratch=scratch, progress=progress)


def pretrain(folder: Path, **changes: Any) -> tuple[Path, dict[str, float]]:
    """A model folder as the stage leaves it, and the metrics."""
    return run_job(FAMILY, pretraining(folder, **changes))
