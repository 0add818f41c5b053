"""Word vectors of the toy tasks' words, so small that a task is learned on them in a second."""

import shutil
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np

from stemma import config
from stemma.families.base import Family
from stemma.families.fasttext.subwords import save_subwords
from stemma.files import write_json, write_manifest
from stemma.text.vectors import WordVectors, save_vectors
from stemma.text.vocabulary import learn_tokenizer, save_tokenizer
from stemma.training.static_tasks import StaticTaskSettings, save_task_settings

TASK: Final[dict[str, Any]] = {
    "task_network": "cbow",
    "tune": "frozen",
    "task_size": 16,
    "task_dropout": 0.1,
    "task_learning_rate": 0.03,
    "crf": False,
}
LETTERS: Final = "abcdefghij"
SIZE: Final = 2 * len(LETTERS)
WORDS: Final = ["".join(letters) for length in (1, 2, 3) for letters in product(LETTERS, repeat=length)]


def write_pretrained(folder: Path, family: str = "word2vec", **changes: Any) -> Path:
    """A folder as a family of word vectors leaves it: vectors that spell; `ja` is in the vocabulary, but has none."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = config.Tokenizer(corpus="toy", kind="word", vocabulary_size=2000, min_frequency=1, lowercase=True)
    save_tokenizer(learn_tokenizer([(word, 9) for word in WORDS], settings), settings, folder)
    rng = np.random.default_rng(5)
    words = [word for word in reversed(WORDS) if word != "ja"]  # another order than the tokenizer's
    spelt = [[*map(word.count, LETTERS), *(letter == word[0] for letter in LETTERS)] for word in words]
    matrix = 0.1 * np.array(spelt) + rng.normal(0, 0.01, (len(words), SIZE))
    save_vectors(WordVectors(words, matrix.astype(np.float32)), folder)
    if family == "fasttext":
        save_subwords(folder, rng.normal(0, 0.1, (40, SIZE)).astype(np.float32), min_n=2, max_n=3)
    save_task_settings(StaticTaskSettings(**TASK | changes), folder)
    write_json(folder / "family.json", {"family": family, "variant": family})
    write_manifest(folder)
    return folder


def finish(folder: Path, tokenizer: Path, family: Family[Any]) -> Path:
    """Give a folder that a family's `pretrain` wrote what the stage adds."""
    for file in tokenizer.iterdir():
        shutil.copy(file, folder)
    write_json(folder / "family.json", {"family": family.name, "variant": family.name})
    write_manifest(folder)
    return folder
