"""word2vec (Mikolov et al. 2013): a word's vector is what predicts the words around it.

Skip-gram predicts from one word at a time, CBOW from the mean of a window; hierarchical softmax and negative sampling stand
in for a softmax over all words. Training is gensim's, on one thread and from a file, its fastest way. The loss is our own
measure: gensim's `compute_loss` adds up in one 32-bit number, to which small terms soon add nothing.
Left out on purpose: `batch_words`, which gensim does not look at when it reads a file, and both objectives at once.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from stemma.data.token_store import TokenStore
from stemma.data.windows import WindowPairs, keep_probability, sample_windows
from stemma.data.word_lines import WordLines, write_word_lines
from stemma.families.base import Family, Pretraining
from stemma.files import atomic_path, write_text
from stemma.layers.huffman import HuffmanTree
from stemma.layers.word_prediction import (
    HierarchicalSoftmax,
    NegativeSampling,
    WordObjective,
    draw_negatives,
    noise_distribution,
)
from stemma.text.vectors import Floats, WordVectors, load_model_vectors, save_vectors
from stemma.training.checkpoint import Checkpoints
from stemma.training.figures import curve_csv, rounded
from stemma.training.static_tasks import load_static_encoder, load_static_tuned, save_task_settings
from stemma.training.word_vectors import (
    VectorSettings,
    VectorTraining,
    fill_vocabulary,
    gensim_seed,
    number_words,
    read_words,
)

Ints = npt.NDArray[np.int64]
__all__ = ["FAMILY", "Word2VecSettings", "build_model", "make_loss"]


class Word2VecSettings(VectorSettings):
    """What predicts what, by which objective, and for how long."""

    architecture: Literal["skip-gram", "cbow"]
    objective: Literal["negative-sampling", "hierarchical-softmax"]


def build_model(settings: Word2VecSettings, seed: int, lines: WordLines) -> Any:
    """A model of gensim's with its vocabulary and the vectors that it draws, not trained."""
    from gensim.models import Word2Vec  # a second that only training should pay

    by_noise = settings.objective == "negative-sampling"
    arguments = settings.gensim_arguments(seed) | ({} if by_noise else {"negative": 0})
    model = Word2Vec(**arguments, sg=int(settings.architecture == "skip-gram"), hs=int(not by_noise))
    fill_vocabulary(model, lines)
    return model


def make_loss(
    settings: Word2VecSettings, model: Any, store: TokenStore, word_of: Ints, seed: int
) -> Callable[[], float] | None:
    """What the model's predictions cost on windows that are drawn once, in nats each; none where there are no windows."""
    rng = np.random.default_rng([gensim_seed(seed), store.num_tokens])
    counts = model.wv.expandos["count"]
    pairs = sample_windows(store, word_of, keep_probability(counts, settings.subsample), settings.window, rng)
    if not len(pairs.places):
        return None
    # As in word2vec's own code, skip-gram too predicts the word in the middle.
    targets = pairs.centers if settings.architecture == "skip-gram" else pairs.centers[pairs.starts]
    objective = _objective(settings, counts, targets, rng)

    def loss() -> float:
        hidden = _hidden(settings, model.wv.vectors, pairs)
        return float(objective.losses(hidden, _output(model)).mean())

    return loss


def _hidden(settings: Word2VecSettings, vectors: Floats, pairs: WindowPairs) -> Floats:
    """What each prediction is made from: (predictions, size)."""
    if settings.architecture == "skip-gram":
        return np.asarray(vectors[pairs.contexts])
    starts = pairs.starts
    num_contexts = np.diff(starts, append=len(pairs.places))
    sums = np.add.reduceat(vectors[pairs.contexts], starts, axis=0)
    return np.asarray(sums / num_contexts[:, None], np.float32)


def _objective(settings: Word2VecSettings, counts: Ints, targets: Ints, rng: np.random.Generator) -> WordObjective:
    if settings.objective == "hierarchical-softmax":
        return HierarchicalSoftmax(HuffmanTree.of(counts.tolist()), targets)
    noise = noise_distribution(counts, settings.noise_exponent)
    return NegativeSampling(targets, draw_negatives(targets, settings.negative, noise, rng))


def _output(model: Any) -> Floats:
    """The matrix on the side of what is predicted: a row a word, or an inner node of the tree."""
    output: Floats = model.syn1 if model.hs else model.syn1neg
    return output


def _pretrain(job: Pretraining[Word2VecSettings]) -> dict[str, float]:
    """Write the text as lines, train epoch by epoch, save the vectors and what predicts from them."""
    settings, vocabulary = job.settings, read_words(job.tokenizer)
    store = TokenStore.open(job.tokens / "train")
    lines = write_word_lines(store, vocabulary, job.scratch / "lines")
    model = build_model(settings, job.seed, lines)
    word_of = number_words(model, vocabulary)
    training = VectorTraining(
        model=model,
        arrays={"vectors": model.wv.vectors, "output": _output(model)},
        run_epoch=_epochs(model, lines),
        checkpoints=Checkpoints(job.scratch),
        tracker=job.tracker,
        progress=job.progress,
    )
    training.advance(settings.epochs, make_loss(settings, model, store, word_of, job.seed))
    validation = make_loss(settings, model, TokenStore.open(job.tokens / "validation"), word_of, job.seed)
    _save(model, job.out)
    save_task_settings(settings, job.out)
    write_text(job.out / "curve.csv", curve_csv(training.curve))
    return {
        "loss": training.curve[-1]["loss"],
        **({"validation_loss": rounded(validation())} if validation else {}),
        "vocabulary_size": len(model.wv),
        "tokens": training.num_words_read,
        "parameters": model.wv.vectors.size + _output(model).size,
        "flops": _flops(settings, model, training.num_words_trained),
    }


def _epochs(model: Any, lines: WordLines) -> Callable[[int], tuple[int, int, int]]:
    """What trains one epoch, by its number."""
    from gensim.matutils import zeros_aligned
    from gensim.models.word2vec_corpusfile import CythonVocab, train_epoch_cbow, train_epoch_sg

    train_epoch = train_epoch_sg if model.sg else train_epoch_cbow
    vocabulary = CythonVocab(model.wv, hs=model.hs)

    def run(epoch: int) -> tuple[int, int, int]:
        work, sums = (zeros_aligned(model.layer1_size, dtype=np.float32) for _ in range(2))
        done: tuple[int, int, int] = train_epoch(
            model, str(lines.path), 0, vocabulary, epoch, lines.num_lines, lines.num_words, work, sums, False
        )
        return done

    return run


def _flops(settings: Word2VecSettings, model: Any, num_words: int) -> int:
    """An estimate: a row of the output costs a product and two sums of rows, 6 · size, and a context of CBOW two sums.

    A window has window + 1 contexts on average, edges of sentences aside.
    """
    counts = model.wv.expandos["count"]
    rows: float = settings.negative + 1
    if settings.objective == "hierarchical-softmax":
        rows = np.average([len(code) for code in model.wv.expandos["code"]], weights=counts)
    contexts = settings.window + 1
    if settings.architecture == "skip-gram":
        return round(num_words * contexts * 6 * settings.size * rows)
    return round(num_words * settings.size * (6 * rows + 4 * contexts))


def _save(model: Any, out: Path) -> None:
    save_vectors(WordVectors(model.wv.index_to_key, model.wv.vectors), out)
    with atomic_path(out / "output.safetensors") as temporary:
        counts = np.asarray(model.wv.expandos["count"], np.int64)
        save_file({"output": _output(model), "counts": counts}, temporary)


FAMILY: Final = Family(
    name="word2vec",
    params=Word2VecSettings,
    pretrain=_pretrain,
    steps=None,
    load_encoder=load_static_encoder,
    load_tuned=load_static_tuned,
    load_scorer=None,
    load_vectors=load_model_vectors,
)
