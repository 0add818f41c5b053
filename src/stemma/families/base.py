"""A family is a record of functions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from stemma.config import Settings
from stemma.progress import Progress
from stemma.protocols import Contextual, Encoder, Filler, Generator, HeadKind, Scorer, Translator
from stemma.text.vectors import WordVectors
from stemma.training.tracker import Tracker

if TYPE_CHECKING:
    from torch import nn  # two seconds that only stages with a network should pay

__all__ = ["Family", "Pretraining", "Transferring"]

P = TypeVar("P", bound=Settings)


@dataclass(frozen=True, kw_only=True)
class Pretraining(Generic[P]):
    """All that a family's `pretrain` may look at."""

    tokens: Path  # a tokenized corpus: a folder a split, see stemma.data.token_store
    tokenizer: Path  # the folder of the tokenizer that made it
    settings: P
    seed: int
    scratch: Path  # for checkpoints; survives a kill, keyed by everything that the result depends on
    out: Path  # an empty folder to write the model into
    tracker: Tracker
    progress: Progress


@dataclass(frozen=True, kw_only=True)
class Transferring:
    """All that a family's `transfer` may look at."""

    pretrained: Path  # the folder of the model that was tuned
    tuned: Path  # what `Encoder.save` wrote of it
    kind: HeadKind  # of the task that it was tuned on
    out: Path  # an empty folder to write a model into that `load_encoder` reads: the tuned network without its head


@dataclass(frozen=True, kw_only=True)
class Family(Generic[P]):
    """What a generation of language models can do here; `None` says that it can't."""

    name: str
    params: type[P]
    pretrain: Callable[[Pretraining[P]], dict[str, float]]  # writes into `out`, returns metrics
    steps: (
        Callable[[Pretraining[P]], Iterator[int]] | None
    )  # training steps without end, each giving its number of tokens
    load_encoder: Callable[[Path], Encoder] | None  # what tasks build on
    load_tuned: "Callable[[Path, HeadKind], nn.Module] | None"  # what `Encoder.save` wrote
    load_scorer: Callable[[Path], Scorer] | None  # log P(sentence), for perplexity and bits per byte
    load_vectors: Callable[[Path], WordVectors] | None  # for neighbours, analogies and similarity
    load_filler: Callable[[Path], Filler] | None = None  # words for the gaps of a text
    load_generator: Callable[[Path], Generator] | None = None  # for text that goes on
    load_translator: Callable[[Path], Translator] | None = None  # from one language to another, for BLEU
    load_contextual: Callable[[Path], Contextual] | None = None  # what tokens are in their sentences
    transfer: Callable[[Transferring], None] | None = None  # what a task has tuned, as a start for others
