"""A corpus of which words stand together by plain rules, its tokenizer, and settings of the families that count."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from stemma import config
from stemma.families import load_family
from stemma.families.base import Pretraining
from stemma.progress import NullProgress, Progress
from stemma.text.vocabulary import WORD_SPECIAL_TOKENS, learn_tokenizer, save_tokenizer
from stemma.training.tracker import NullTracker
from tests.toy_bert import write_store

FIRST_WORD: Final = len(WORD_SPECIAL_TOKENS)
UNKNOWN: Final = 1
ANIMALS: Final = ("cat", "dog", "cow", "hen")
METALS: Final = ("iron", "gold", "zinc", "lead")
PLACES: Final = {ANIMALS: ("barn", "yard", "nest"), METALS: ("mine", "forge", "mill")}
WORDS: Final = ("the", "in", *ANIMALS, *METALS, *(place for places in PLACES.values() for place in places))
SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "cooccurrence": {
        "window": 4,
        "weighting": "harmonic",
        "smoothing": 1.0,
        "shift": 1.0,
        "size": 4,
        "singular_value_power": 0.5,
        "task_network": "cbow",
        "tune": "frozen",
        "task_size": 5,
        "task_dropout": 0.1,
        "task_learning_rate": 0.03,
        "crf": False,
    },
    "glove": {
        "window": 4,
        "weighting": "harmonic",
        "size": 4,
        "full_weight_count": 10.0,
        "weight_exponent": 0.75,
        "epochs": 6,
        "batch_size": 50,
        "learning_rate": 0.05,
        "checkpoint_every": 2,
        "task_network": "cbow",
        "tune": "frozen",
        "task_size": 5,
        "task_dropout": 0.1,
        "task_learning_rate": 0.03,
        "crf": False,
    },
}


def documents(seed: int, count: int) -> list[list[list[int]]]:
    """Sentences like "the cat in the barn", now and then with a word that is not known, as ids."""
    rng = np.random.default_rng(seed)
    ids = {word: FIRST_WORD + number for number, word in enumerate(WORDS)}

    def sentence() -> list[int]:
        kind = ANIMALS if rng.random() < 0.5 else METALS
        where = (
            kind if rng.random() < 0.9 else ANIMALS if kind is METALS else METALS
        )  # GloVe learns from what is seen only
        words = ["the", rng.choice(kind), "in", "the", rng.choice(PLACES[where])]
        return [UNKNOWN if rng.random() < 0.05 else ids[word] for word in words]

    return [[sentence() for _ in range(5)] for _ in range(count)]


def write_corpus(folder: Path, *, num_documents: int = 60) -> None:
    """Save tokens and tokenizer in `folder`."""
    write_store(folder / "tokens" / "train", documents(1, num_documents))
    write_store(folder / "tokens" / "validation", documents(2, 5))
    settings = config.Tokenizer(corpus="toy", kind="word", vocabulary_size=100, min_frequency=1, lowercase=True)
    (folder / "tokenizer").mkdir(parents=True)
    tokenizer = learn_tokenizer([(word, 1000 - number) for number, word in enumerate(WORDS)], settings)
    save_tokenizer(tokenizer, settings, folder / "tokenizer")


def pretraining(
    family: str, folder: Path, *, seed: int = 1, progress: Progress | None = None, **changes: Any
) -> Pretraining[Any]:
    """All that `pretrain` takes, over the corpus in `folder`; the model goes to `out`."""
    (folder / "out").mkdir(exist_ok=True)
    return Pretraining(
        tokens=folder / "tokens",
        tokenizer=folder / "tokenizer",
        settings=load_family(family).params(**SETTINGS[family] | changes),
        seed=seed,
        scratch=folder / "scratch",
        out=folder / "out",
        tracker=NullTracker(),
        progress=progress or NullProgress(),
    )
