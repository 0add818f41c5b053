"""Training word vectors, words per second: ours from token store to saved model, against gensim's own training from a file.

Both sides use gensim's compiled code on one thread. Ours also writes the text, measures the loss after each epoch, saves a
checkpoint each and the model; gensim's side counts words and trains, and saves nothing. Most of the time of both is the same
loop of small products and sums of rows, so that a ratio of 1 is all there is to win; what ours adds is a fixed second or so,
which 1.5 million words, passed over twice, still show.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import STAGES, kind_of_prose, prose_project, run_stages
from benchmarks.harness import compare, timed, write_result
from stemma.data.token_store import TokenStore
from stemma.data.word_lines import WordLines, write_word_lines
from stemma.families.base import Pretraining
from stemma.families.fasttext.family import FAMILY as FASTTEXT
from stemma.families.fasttext.family import FastTextSettings
from stemma.families.word2vec.family import FAMILY as WORD2VEC
from stemma.families.word2vec.family import Word2VecSettings
from stemma.progress import NullProgress
from stemma.text.vectors import load_vectors
from stemma.training.tracker import NullTracker
from stemma.training.word_vectors import read_words

NUM_BYTES = 6_000_000
BOTH: dict[str, Any] = {
    "size": 100,
    "window": 5,
    "negative": 5,
    "noise_exponent": 0.75,
    "subsample": 0.001,
    "epochs": 2,
    "learning_rate": 0.025,
    "min_learning_rate": 0.0001,
    "task_network": "cbow",
    "tune": "frozen",
    "task_size": 64,
    "task_dropout": 0.2,
    "task_learning_rate": 0.005,
    "crf": False,
}
SETTINGS: dict[str, Any] = {
    "word2vec": Word2VecSettings(architecture="skip-gram", objective="negative-sampling", **BOTH),
    "fasttext": FastTextSettings(min_n=3, max_n=6, buckets=100_000, **BOTH),
}
FAMILIES: dict[str, Any] = {"word2vec": WORD2VEC, "fasttext": FASTTEXT}


def main(folder: Path) -> None:
    """Measure and keep."""
    project = prose_project(folder, NUM_BYTES, vocabulary_size=30_000)
    if not (project / "tokens").exists():
        run_stages(project, *STAGES)
    store = TokenStore.open(project / "tokens/train")
    shutil.rmtree(folder / "lines", ignore_errors=True)
    lines = write_word_lines(store, read_words(project / "tokenizer"), folder / "lines")
    for name in FAMILIES:
        trained: dict[str, Any] = {}
        result = compare(
            name,
            our_side(name, project, lines, trained),
            their_side(name, lines, trained),
            work=f"{name}, skip-gram with negative sampling, {kind_of_prose()}, to a model on disk",
            against="gensim from a file, one worker, training only",
            unit="words/s",
            floor=0.9,
            aim=1.0,
        )
        assert np.array_equal(load_vectors(trained["ours"]).matrix, trained["theirs"].wv.vectors), "other vectors"
        write_result(result.name, result)


def our_side(name: str, project: Path, lines: WordLines, trained: dict[str, Any]) -> Callable[[], float]:
    """The family's whole `pretrain`."""
    root = Path(tempfile.mkdtemp())

    def run() -> float:
        shutil.rmtree(root)
        (root / "out").mkdir(parents=True)
        job = Pretraining(
            tokens=project / "tokens",
            tokenizer=project / "tokenizer",
            settings=SETTINGS[name],
            seed=1,
            scratch=root / "scratch",
            out=root / "out",
            tracker=NullTracker(),
            progress=NullProgress(),
        )
        trained["ours"] = root / "out"
        return float(lines.num_words * BOTH["epochs"] / timed(lambda: FAMILIES[name].pretrain(job)))

    return run


def their_side(name: str, lines: WordLines, trained: dict[str, Any]) -> Callable[[], float]:
    """One call, as gensim's documentation has it."""
    from gensim.models import FastText, Word2Vec

    common = {
        "vector_size": BOTH["size"],
        "window": BOTH["window"],
        "negative": BOTH["negative"],
        "ns_exponent": BOTH["noise_exponent"],
        "sample": BOTH["subsample"],
        "epochs": BOTH["epochs"],
        "alpha": BOTH["learning_rate"],
        "min_alpha": BOTH["min_learning_rate"],
        "sg": 1,
        "min_count": 1,
        "workers": 1,
        "seed": 1,
    }

    def train() -> None:
        if name == "word2vec":
            trained["theirs"] = Word2Vec(corpus_file=str(lines.path), **common)
        else:
            trained["theirs"] = FastText(corpus_file=str(lines.path), min_n=3, max_n=6, bucket=100_000, **common)

    return lambda: lines.num_words * BOTH["epochs"] / timed(train)


if __name__ == "__main__":
    main(Path(tempfile.gettempdir()) / "stemma-bench")
