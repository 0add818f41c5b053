"""fastText (Bojanowski et al. 2017): skip-gram with negative sampling, where a word is the sum of itself and its n-grams.

So a word that was never seen still has a vector, from the n-grams that it shares with others. Without n-grams (`max_n: 0`) it is
skip-gram by other code, and has no vector for what it never saw. Training is gensim's, on one thread and from a file. Left out on
purpose: CBOW and hierarchical softmax, which the paper does not use and `word2vec` has.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from pydantic import NonNegativeInt, PositiveInt, model_validator
from safetensors.numpy import save_file

from stemma.data.token_store import TokenStore
from stemma.data.windows import keep_probability, sample_windows
from stemma.data.word_lines import WordLines, write_word_lines
from stemma.families.base import Family, Pretraining
from stemma.families.fasttext.subwords import SUBWORD_FILES, load_subwords, save_subwords
from stemma.files import atomic_path, write_text
from stemma.layers.word_prediction import NegativeSampling, draw_negatives, noise_distribution
from stemma.protocols import Encoder, HeadKind
from stemma.text.vectors import Floats, WordVectors, load_model_vectors, load_vectors, save_vectors
from stemma.training.checkpoint import Checkpoints
from stemma.training.figures import curve_csv, rounded
from stemma.training.static_tasks import load_static_tuned, make_static_encoder, save_task_settings
from stemma.training.word_vectors import (
    VectorSettings,
    VectorTraining,
    fill_vocabulary,
    gensim_seed,
    number_words,
    read_words,
)

if TYPE_CHECKING:
    from torch import nn

Ints = npt.NDArray[np.int64]
__all__ = ["FAMILY", "FastTextSettings", "build_model", "make_loss", "trained_vectors"]


class FastTextSettings(VectorSettings):
    """What a word is made of, and how that is learned."""

    min_n: PositiveInt  # characters of an n-gram, the marks of a word's edges among them
    max_n: NonNegativeInt  # 0: words have no n-grams
    buckets: PositiveInt  # that n-grams are hashed into

    @model_validator(mode="after")
    def _ranges_fit(self) -> "FastTextSettings":
        if self.min_n > self.max_n > 0:
            raise ValueError("min_n is above max_n, which leaves no n-grams; to want none, write max_n: 0")
        if self.buckets * self.size >= 2**32:  # gensim would wrap around, and write into other rows
            raise ValueError(f"buckets times size is {self.buckets * self.size:,}; gensim can address {2**32 - 1:,}")
        return self


def build_model(settings: FastTextSettings, seed: int, lines: WordLines) -> Any:
    """A model of gensim's with its vocabulary and the vectors that it draws, not trained."""
    from gensim.models import FastText  # a second that only training should pay

    model = FastText(
        **settings.gensim_arguments(seed),
        sg=1,
        min_n=settings.min_n,
        max_n=settings.max_n,
        bucket=settings.buckets,
    )
    fill_vocabulary(model, lines)
    return model


def make_loss(
    settings: FastTextSettings, model: Any, store: TokenStore, word_of: Ints, seed: int
) -> Callable[[], float] | None:
    """What the model's predictions cost on windows that are drawn once, in nats each; none where there are no windows."""
    rng = np.random.default_rng([gensim_seed(seed), store.num_tokens])
    counts = model.wv.expandos["count"]
    pairs = sample_windows(store, word_of, keep_probability(counts, settings.subsample), settings.window, rng)
    if not len(pairs.places):
        return None
    noise = noise_distribution(counts, settings.noise_exponent)
    objective = NegativeSampling(pairs.contexts, draw_negatives(pairs.contexts, settings.negative, noise, rng))
    words, which = np.unique(pairs.centers, return_inverse=True)

    def loss() -> float:
        return float(objective.losses(trained_vectors(model, words)[which], model.syn1neg).mean())

    return loss


def trained_vectors(model: Any, words: Ints) -> Floats:
    """What predictions of words are made from: the sum of a word's rows over the number of its n-grams, (words, size).

    That is what gensim trains; the vectors that it gives out in the end divide by one more, to count the word itself.
    """
    buckets = [model.wv.buckets_word[word] for word in words]
    num_buckets = np.array([len(found) for found in buckets])
    sums = model.wv.vectors_vocab[words]
    some = num_buckets > 0
    starts = (np.cumsum(num_buckets) - num_buckets)[some]
    if len(starts):
        sums[some] += np.add.reduceat(model.wv.vectors_ngrams[np.concatenate(buckets)], starts, axis=0)
    return np.asarray(sums / np.maximum(num_buckets, 1)[:, None], np.float32)


def _pretrain(job: Pretraining[FastTextSettings]) -> dict[str, float]:
    """Write the text as lines, train epoch by epoch, save the vectors of words and of n-grams."""
    settings, vocabulary = job.settings, read_words(job.tokenizer)
    store = TokenStore.open(job.tokens / "train")
    lines = write_word_lines(store, vocabulary, job.scratch / "lines")
    model = build_model(settings, job.seed, lines)
    arrays = {"words": model.wv.vectors_vocab, "ngrams": model.wv.vectors_ngrams, "output": model.syn1neg}
    word_of = number_words(model, vocabulary)
    training = VectorTraining(
        model=model,
        arrays=arrays,
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
        "parameters": sum(array.size for array in arrays.values()),
        "flops": _flops(settings, model, training.num_words_trained),
    }


def _epochs(model: Any, lines: WordLines) -> Callable[[int], tuple[int, int, int]]:
    """What trains one epoch, by its number."""
    from gensim.matutils import zeros_aligned
    from gensim.models.fasttext_corpusfile import train_epoch_sg
    from gensim.models.word2vec_corpusfile import CythonVocab

    vocabulary = CythonVocab(model.wv, fasttext=1)

    def run(epoch: int) -> tuple[int, int, int]:
        work, sums = (zeros_aligned(model.layer1_size, dtype=np.float32) for _ in range(2))
        done: tuple[int, int, int] = train_epoch_sg(
            model, str(lines.path), 0, vocabulary, epoch, lines.num_lines, lines.num_words, work, sums
        )
        return done

    return run


def _flops(settings: FastTextSettings, model: Any, num_words: int) -> int:
    """An estimate: for each context 6 · size a row of the output (a product and two sums), 4 · size a row of the word.

    A window has window + 1 contexts on average, edges of sentences aside.
    """
    num_ngrams = [len(buckets) for buckets in model.wv.buckets_word]
    parts = 1 + float(np.average(num_ngrams, weights=model.wv.expandos["count"]))
    return round(num_words * (settings.window + 1) * settings.size * (6 * (settings.negative + 1) + 4 * parts))


def _save(model: Any, out: Path) -> None:
    model.wv.adjust_vectors()  # as gensim does after training: a word's vector from its own and its n-grams'
    save_vectors(WordVectors(model.wv.index_to_key, model.wv.vectors), out)
    save_subwords(out, model.wv.vectors_ngrams, min_n=model.wv.min_n, max_n=model.wv.max_n)
    with atomic_path(out / "output.safetensors") as temporary:
        counts = np.asarray(model.wv.expandos["count"], np.int64)
        save_file({"output": model.syn1neg, "words": model.wv.vectors_vocab, "counts": counts}, temporary)


def _load_vectors(model_dir: Path) -> WordVectors:
    return _composing(load_model_vectors(model_dir), model_dir)


def _load_encoder(folder: Path) -> Encoder:
    """Vectors for tasks, those of words that were never seen among them."""
    return make_static_encoder(folder, _vectors(folder), SUBWORD_FILES)


def _load_tuned(folder: Path, kind: HeadKind) -> "nn.Module":
    return load_static_tuned(folder, kind, _vectors(folder))


def _vectors(folder: Path) -> WordVectors:
    return _composing(load_vectors(folder), folder)


def _composing(vectors: WordVectors, folder: Path) -> WordVectors:
    """Vectors with those of words that were never seen, where there are n-grams to make them of."""
    subwords = load_subwords(folder)
    return replace(vectors, compose=subwords.compose) if subwords.buckets else vectors


FAMILY: Final = Family(
    name="fasttext",
    params=FastTextSettings,
    pretrain=_pretrain,
    steps=None,
    load_encoder=_load_encoder,
    load_tuned=_load_tuned,
    load_scorer=None,
    load_vectors=_load_vectors,
)
