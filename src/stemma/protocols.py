"""What families offer and tasks build on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import tokenizers

if TYPE_CHECKING:
    from torch import Tensor, nn  # two seconds that only stages with a network should pay

__all__ = [
    "Auxiliary",
    "Contextual",
    "Counting",
    "Encoder",
    "Filler",
    "Filling",
    "Generator",
    "HeadKind",
    "InContext",
    "OwnRate",
    "RunningScorer",
    "Scorer",
    "Scores",
    "Tagger",
    "Translator",
]

HeadKind = Literal["classification", "regression", "span", "tagging", "choice"]


class Encoder(Protocol):
    """A pretrained network with its tokenizer, for a task's head to be put on."""

    @property
    def tokenizer(self) -> tokenizers.Tokenizer:
        """Text to ids; pairs as `[CLS] A [SEP] B [SEP]`; no truncation or padding switched on."""

    @property
    def max_length(self) -> int:
        """How many tokens an input may have."""

    def with_head(self, kind: HeadKind, labels: Sequence[str], *, seed: int, symmetric: bool = False) -> "nn.Module":
        """A fresh copy with a new head, drawn from `seed`; it keeps the labels' names.

        `symmetric` says that the two texts of a classification or regression may change places: what reads from left to right
        then reads both orders.

        Its forward takes `input_ids`, `attention_mask`, `token_type_ids` (batch, length) and returns logits:
        (batch, labels) for classification, (batch, 1) for regression: the score itself, (batch, length, 2) for span,
        (batch, length, labels) for tagging, (batch, 1) for choice: how well one choice fits, each an input of its own.
        """

    def save(self, model: "nn.Module", out: Path) -> None:
        """Write a model made by `with_head` into the folder `out`, as safetensors, with configuration and tokenizer."""


@runtime_checkable
class OwnRate(Protocol):
    """An encoder on which tasks train a new network: that learns faster than what pretraining left is to be changed."""

    @property
    def learning_rate(self) -> float | None:
        """What to learn a task at; none for the rate of all fine-tuning."""


@runtime_checkable
class Auxiliary(Protocol):
    """A model made by `with_head` that learns more from a task's inputs than their answers."""

    def logits_and_losses(
        self, input_ids: "Tensor", attention_mask: "Tensor", token_type_ids: "Tensor"
    ) -> tuple["Tensor", Mapping[str, "Tensor"]]:
        """What its forward returns, and further losses by name, which are added to the task's."""


@runtime_checkable
class Counting(Protocol):
    """A model made by `with_head` that learns by counting all rows once, and has no use for gradients."""

    def count(self, batches: "Iterable[Mapping[str, Tensor]]") -> None:
        """Learn from a task's inputs, those of its forward and `targets`."""


@runtime_checkable
class Tagger(Protocol):
    """A model made by `with_head` whose tags of a text depend on each other."""

    def tag_loss(self, logits: "Tensor", targets: "Tensor") -> "Tensor":
        """The loss of tags (rows, length), given what its forward returned; those below 0 are not asked for."""

    def best_tags(self, logits: "Tensor", asked: "Tensor") -> "Tensor":
        """The best tags (rows, length) of the tokens that are asked for."""


@dataclass(frozen=True, kw_only=True)
class Scores:
    """How surprised a model is by each of some sentences."""

    nats: npt.NDArray[np.float64]  # (sentences,): minus the natural log-probability, end of sentence included
    num_predictions: npt.NDArray[np.int64]  # (sentences,): how many tokens that sum runs over
    num_unknown: npt.NDArray[np.int64]  # (sentences,): how many of them are the unknown word
    others: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)  # nats by further models of it, by name


class Scorer(Protocol):
    """Log P(sentence), for perplexity and bits per byte."""

    @property
    def pseudo(self) -> bool:
        """Whether the figures are pseudo-likelihoods (each token given all others), which no probability sums to."""

    def score(self, sentences: Sequence[str]) -> Scores:
        """Score sentences, each by itself."""


class Translator(Protocol):
    """Sentences of one language to sentences of another."""

    def translate(self, sentences: Sequence[str], *, beam: int | None = None) -> list[str]:
        """Translate sentences, each by itself; with another width of the beam than the model's own, if one is given."""


@dataclass(frozen=True)
class Filling:
    """A word for a gap of a text."""

    word: str
    probability: float


class Filler(Protocol):
    """Words for the gaps of a text, each written `[MASK]`."""

    def fill(self, text: str, count: int) -> list[list[Filling]]:
        """For every gap of a text its `count` most likely words, the likeliest first."""


@runtime_checkable
class RunningScorer(Protocol):
    """A scorer that can also read on from one sentence to the next."""

    def score_running(self, documents: Sequence[Sequence[str]]) -> Scores:
        """Score documents, lists of sentences, each sentence behind those before it in its document."""


class Generator(Protocol):
    """Text that goes on where a beginning ends."""

    def go_on(self, beginning: str, *, tokens: int, temperature: float, top_k: int | None, seed: int) -> str:
        """The beginning and what follows, up to so many tokens.

        At temperature 0 the likeliest token is taken each time; else one is drawn, the k likeliest alone if `top_k` says so.
        """


@dataclass(frozen=True, kw_only=True)
class InContext:
    """The tokens of a sentence as vectors that depend on all of it."""

    vectors: npt.NDArray[np.float32]  # (tokens, size): the last layer, without special tokens
    spans: npt.NDArray[np.int64]  # (tokens, 2): the characters of the sentence that each stands for


class Contextual(Protocol):
    """Vectors of words in their sentences."""

    def read(self, sentences: Sequence[str]) -> list[InContext]:
        """Read sentences, each by itself."""
