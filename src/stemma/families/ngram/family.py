"""N-gram models: the probability of a word from counts of what followed the words before it (Shannon, 1951).

A sentence's probability is the product over `w1 … wn </s>` of P(word | up to `order - 1` words before it), with one `<s>`
as the first context. Probabilities sum to 1 over all words of the vocabulary, the unknown word and `</s>` among them.
Words that the vocabulary does not have are the unknown word, which is counted like any other. Left out on purpose:
cut-offs, pruning, classes.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np
import numpy.typing as npt
import tokenizers
from pydantic import Field, model_validator

from stemma.config import Settings
from stemma.data.sentence_blocks import cut, read_blocks
from stemma.data.token_store import TokenStore
from stemma.data.workspace import data_threads, memory_limit
from stemma.errors import TrainingError
from stemma.families.base import Family, Pretraining
from stemma.families.ngram.counts import NgramCounts, count_ngrams
from stemma.families.ngram.estimation import count_of_counts, estimate
from stemma.families.ngram.model import NgramModel, save_model
from stemma.families.ngram.smoothing import (
    AddK,
    Interpolated,
    KneserNey,
    MaximumLikelihood,
    Smoothing,
    kneser_ney_discounts,
)
from stemma.files import read_json, verify_manifest, write_json
from stemma.progress import Progress
from stemma.protocols import Encoder, HeadKind, Scores
from stemma.text.symbols import read_symbols
from stemma.text.vocabulary import load_tokenizer
from stemma.training.figures import rounded

if TYPE_CHECKING:
    from torch import nn

__all__ = ["FAMILY", "NgramScorer", "NgramSettings", "choose_smoothing", "read_symbols"]

_BLOCK_TOKENS = 1 << 16
_BATCH_SENTENCES = 1024
_TASKS: Final = "tasks.json"


class NgramSettings(Settings):
    """What is counted, and how probability is shared out between what was seen and what was not."""

    order: int = Field(ge=1, le=5)
    smoothing: Literal["maximum-likelihood", "laplace", "add-k", "interpolated", "kneser-ney"]
    add_k: float = Field(gt=0)  # for add-k
    interpolation: list[Annotated[float, Field(ge=0)]]  # for interpolated: a weight an order, unigrams first
    prior_count: float = Field(
        gt=0
    )  # in tasks: for how many words of a class's texts the model of one word less counts

    @model_validator(mode="after")
    def _one_weight_an_order(self) -> "NgramSettings":
        if self.smoothing == "interpolated":
            if len(self.interpolation) != self.order:
                raise ValueError(
                    f"interpolation: {len(self.interpolation)} weights for order {self.order}; give one an order"
                )
            if not sum(self.interpolation):
                raise ValueError("interpolation: at least one weight must be above 0")
        return self


class NgramScorer:
    """Log P(sentence) by an n-gram model. A sentence that it holds for impossible costs infinitely many nats."""

    pseudo = False

    def __init__(self, model: NgramModel, tokenizer: tokenizers.Tokenizer) -> None:
        self.model, self.tokenizer = model, tokenizer

    def score(self, sentences: Sequence[str]) -> Scores:
        """Score sentences, each by itself."""
        parts = [
            self._score_batch(sentences[start : start + _BATCH_SENTENCES])
            for start in range(0, len(sentences), _BATCH_SENTENCES)
        ]
        nats, predictions, unknown = (
            (np.concatenate(column) for column in zip(*parts, strict=True)) if parts else ([],) * 3
        )
        return Scores(
            nats=np.asarray(nats, np.float64),
            num_predictions=np.asarray(predictions, np.int64),
            num_unknown=np.asarray(unknown, np.int64),
        )

    def _score_batch(self, sentences: Sequence[str]) -> tuple[npt.NDArray[Any], ...]:
        encodings = self.tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False)
        lengths = [len(encoding) for encoding in encodings]
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        ids = np.concatenate([np.asarray(encoding.ids, np.int64) for encoding in encodings])
        probabilities, tokens, starts = self.model.predict_sentences(ids, offsets)
        unknown = (tokens == self.model.symbols.unknown).astype(np.int64)
        return np.add.reduceat(_nats(probabilities), starts), np.diff(offsets) + 1, np.add.reduceat(unknown, starts)


def choose_smoothing(settings: NgramSettings, counts: NgramCounts) -> tuple[Smoothing, dict[str, object]]:
    """The smoothing that the settings ask for, and what the model's file says of it."""
    if settings.smoothing == "maximum-likelihood":
        return MaximumLikelihood(), {}
    if settings.smoothing == "interpolated":
        return Interpolated(tuple(settings.interpolation)), {"interpolation": settings.interpolation}
    if settings.smoothing == "kneser-ney":
        discounts = [kneser_ney_discounts(numbers) for numbers in count_of_counts(counts)]
        return KneserNey(tuple(discounts)), {"discounts": discounts}
    k = 1.0 if settings.smoothing == "laplace" else settings.add_k
    return AddK(k, int(counts.symbols.events.sum()), settings.order), {"add_k": k}


def _pretrain(job: Pretraining[NgramSettings]) -> dict[str, float]:
    """Count, smooth, save, and see how well the validation split is predicted."""
    memory, threads = memory_limit(), data_threads()
    symbols = read_symbols(job.tokenizer)
    train = TokenStore.open(job.tokens / "train")
    if not train.num_sentences:
        raise TrainingError(f"{job.tokens / 'train'}: no sentences to count n-grams in; add text to the corpus")
    blocks = read_blocks(train, "counting", job.progress)
    counts = count_ngrams(blocks, symbols, job.settings.order, job.scratch / "counts", memory=memory, threads=threads)
    smoothing, details = choose_smoothing(job.settings, counts)
    estimates = estimate(counts, smoothing, memory=memory, threads=threads, progress=job.progress)
    details = {"smoothing": job.settings.smoothing, **details}
    save_model(job.out, counts, estimates, backs_off=smoothing.backs_off, details=details)
    write_json(job.out / _TASKS, {"prior_count": job.settings.prior_count})
    model = NgramModel.open(job.out, frugal=True)
    metrics = _describe(model) | _validate(model, TokenStore.open(job.tokens / "validation"), job.progress)
    job.tracker.log_metrics(metrics, 0)
    return metrics


def _describe(model: NgramModel) -> dict[str, float]:
    counts = model.values("counts", 1)
    tokens = int(counts.sum()) - int(counts[model.symbols.begin])
    sizes = {f"ngrams_of_order_{order}": model.size(order) for order in range(1, model.order + 1)}
    return {
        "train_unknown_rate": rounded(int(counts[model.symbols.unknown]) / tokens),
        "vocabulary_size": int(model.symbols.events.sum()),
        **sizes,
        "tokens": tokens,
        "parameters": sum(sizes.values()),  # the n-grams that are kept; no `flops`: they are counted, not multiplied
    }


def _validate(model: NgramModel, store: TokenStore, progress: Progress) -> dict[str, float]:
    """Perplexity a token (each `</s>` is one) and bits a byte; both are left out where a token has probability 0."""
    if not store.num_sentences:
        return {}
    nats: list[float] = []
    num_predicted = num_unknown = num_impossible = 0
    for block in cut(read_blocks(store, "validating", progress), _BLOCK_TOKENS):
        probabilities, tokens, _ = model.predict_sentences(*block)
        possible = probabilities > 0
        nats.append(float(_nats(probabilities[possible]).sum()))
        num_predicted += len(tokens)
        num_unknown += int((tokens == model.symbols.unknown).sum())
        num_impossible += int((~possible).sum())
    metrics: dict[str, float] = {
        "validation_unknown_rate": rounded(num_unknown / num_predicted),
        "validation_zero_probability_tokens": num_impossible,
    }
    if not num_impossible:
        total = math.fsum(nats)
        metrics["validation_perplexity"] = rounded(math.exp(total / num_predicted))
        metrics["validation_bits_per_byte"] = rounded(total / math.log(2) / store.num_bytes)
    return metrics


def _nats(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    with np.errstate(divide="ignore"):  # the log of 0 is meant
        return np.asarray(-np.log(probabilities))


def _load_scorer(model_dir: Path) -> NgramScorer:
    verify_manifest(model_dir)
    return NgramScorer(NgramModel.open(model_dir), load_tokenizer(model_dir))


def _load_encoder(folder: Path) -> Encoder:
    """For tasks, an n-gram model of each class."""
    from stemma.families.ngram.classifier import NgramEncoder  # two seconds of torch, for which counting has no use

    return NgramEncoder(folder, float(read_json(folder / _TASKS)["prior_count"]))


def _load_tuned(folder: Path, kind: HeadKind) -> "nn.Module":
    from stemma.families.ngram.classifier import load_tuned

    return load_tuned(folder, kind)


FAMILY = Family(
    name="ngram",
    params=NgramSettings,
    pretrain=_pretrain,
    steps=None,
    load_encoder=_load_encoder,
    load_tuned=_load_tuned,
    load_scorer=_load_scorer,
    load_vectors=None,
)
