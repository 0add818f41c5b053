"""A corpus, a tokenizer and settings so small that word vectors train on them in a tenth of a second."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from stemma.config import load_params
from stemma.families.base import Pretraining
from stemma.families.fasttext.family import FastTextSettings
from stemma.families.word2vec.family import Word2VecSettings
from stemma.progress import NullProgress
from stemma.training.tracker import NullTracker
from tests.toy_ngrams import save_corpus

TOPICS: Final = (
    "ship sail sea wave harbour captain anchor storm island water",
    "oven bread flour butter dough baker loaf crust sugar wäscht",
    "horse saddle rider field gallop stable hay bridle hoof 马",
)
COMMON: Final = ("the", "a", "of")
WORDS: Final = (*COMMON, *" ".join(TOPICS).split())
UNKNOWN: Final = "unheard-of"
MODES: Final = [
    (architecture, objective)
    for architecture in ("skip-gram", "cbow")
    for objective in ("negative-sampling", "hierarchical-softmax")
]
BOTH: Final[dict[str, Any]] = {
    "size": 12,
    "window": 3,
    "negative": 4,
    "noise_exponent": 0.75,
    "subsample": 0.05,
    "epochs": 3,
    "learning_rate": 0.05,
    "min_learning_rate": 0.001,
    "task_network": "cbow",
    "tune": "frozen",
    "task_size": 5,
    "task_dropout": 0.1,
    "task_learning_rate": 0.03,
    "crf": False,
}


def word2vec(architecture: str = "skip-gram", objective: str = "negative-sampling", **changes: Any) -> Word2VecSettings:
    """The toy settings of word2vec, with changes."""
    return Word2VecSettings(**BOTH | {"architecture": architecture, "objective": objective} | changes)


def fasttext(**changes: Any) -> FastTextSettings:
    """The toy settings of fastText, with changes."""
    return FastTextSettings(**BOTH | {"min_n": 2, "max_n": 4, "buckets": 150} | changes)


def sentences(seed: int, count: int) -> list[str]:
    """Sentences that stay with a topic; some words are unknown, and some sentences nothing else."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        words = [*TOPICS[rng.integers(len(TOPICS))].split(), *COMMON, UNKNOWN]
        shares = np.array([1.0] * (len(words) - 4) + [4.0, 2.0, 1.0, 0.5])
        found.append(" ".join(rng.choice(words, size=rng.integers(1, 15), p=shares / shares.sum())))
    return found


def lines_of(texts: Sequence[str]) -> str:
    """What gensim is to read: known words only, no empty lines."""
    known = [" ".join(word for word in text.split() if word != UNKNOWN) for text in texts]
    return "".join(f"{line}\n" for line in known if line)


def job(folder: Path, settings: Any, *, train: Sequence[str] | None = None, seed: int = 1) -> Pretraining[Any]:
    """Everything that `pretrain` takes, with the corpus in `folder`."""
    texts = sentences(1, 400) if train is None else train
    tokens, tokenizer = save_corpus(folder, WORDS, texts, sentences(2, 60), tokens_per_shard=1500)
    (folder / "out").mkdir()
    return Pretraining(
        tokens=tokens,
        tokenizer=tokenizer,
        settings=settings,
        seed=seed,
        scratch=folder / "scratch",
        out=folder / "out",
        tracker=NullTracker(),
        progress=NullProgress(),
    )


def params(family: str) -> dict[str, Any]:
    """The project's settings with the toy ones of a vector family."""
    values = load_params(Path(__file__).parent.parent / "params.yaml").model_dump()
    values["families"][family] = (word2vec() if family == "word2vec" else fasttext()).model_dump()
    return values
