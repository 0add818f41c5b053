"""How well a model predicts held-out text: perplexity and bits per byte.

Perplexity is per token of the model's own tokenizer, the end of the sentence among them, so only models that share a
tokenizer can be compared by it. Bits per byte (of the sentences' UTF-8 text) can be compared across tokenizers, but an
unknown word is one token whatever it stands for: read it with the unknown rate beside it. A pseudo-likelihood, where each
token is given all others, is no probability of the sentence: its figures carry that name and compare with their own kind.
"""

import hashlib
import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow.parquet as pq

from stemma.data.documents import parquet_files
from stemma.progress import Progress
from stemma.protocols import Scorer, Scores

__all__ = [
    "Figures",
    "add_up",
    "count_sentences",
    "figures_of",
    "measure",
    "read_documents",
    "read_ids",
    "read_sentences",
    "sample_sentences",
    "score_batches",
]

_READ_DOCUMENTS: Final = 200  # held at once
_BATCH: Final = 1000  # sentences scored at once
_PSEUDO_BATCH: Final = 20  # a pseudo-likelihood takes a pass of the network a token


@dataclass(frozen=True)
class Figures:
    """What a model made of some sentences."""

    pseudo: bool
    sentences: int
    tokens: int
    bytes: int
    unknown: int
    impossible: int  # sentences of probability 0
    nats: float  # of all others

    def as_dict(self) -> dict[str, float | int | None]:
        """The figures as a report has them; none for a model that holds some sentence for impossible."""
        prefix = "pseudo_" if self.pseudo else ""
        finite = not self.impossible
        return {
            "sentences": self.sentences,
            "tokens": self.tokens,
            "bytes": self.bytes,
            "impossible_sentences": self.impossible,
            "unknown_rate": self.unknown / self.tokens,
            f"{prefix}perplexity": math.exp(self.nats / self.tokens) if finite else None,
            f"{prefix}bits_per_byte": self.nats / math.log(2) / self.bytes if finite else None,
        }


def measure(scorer: Scorer, sentences: Iterable[str], progress: Progress) -> Figures:
    """Score one or more sentences in batches; memory does not grow with their number."""
    parts = []
    count = 0
    for batch, scores in score_batches(scorer, sentences):
        parts.append(figures_of(scorer, batch, scores))
        count += len(batch)
        progress.update(count)
    return add_up(parts)


def score_batches(scorer: Scorer, sentences: Iterable[str]) -> Iterator[tuple[Sequence[str], Scores]]:
    """Sentences with their scores, as many at a time as a scorer takes well."""
    for batch in _batches(sentences, _PSEUDO_BATCH if scorer.pseudo else _BATCH):
        yield batch, scorer.score(batch)


def figures_of(scorer: Scorer, sentences: Sequence[str], scores: Scores) -> Figures:
    """What a scorer made of some sentences."""
    possible = np.isfinite(scores.nats)
    return Figures(
        pseudo=scorer.pseudo,
        sentences=len(sentences),
        tokens=int(scores.num_predictions.sum()),
        bytes=sum(len(sentence.encode()) for sentence in sentences),
        unknown=int(scores.num_unknown.sum()),
        impossible=int((~possible).sum()),
        nats=float(scores.nats[possible].sum()),
    )


def add_up(parts: Sequence[Figures]) -> Figures:
    """The figures of several parts of a text as those of the whole."""
    return Figures(
        pseudo=any(part.pseudo for part in parts),
        sentences=sum(part.sentences for part in parts),
        tokens=sum(part.tokens for part in parts),
        bytes=sum(part.bytes for part in parts),
        unknown=sum(part.unknown for part in parts),
        impossible=sum(part.impossible for part in parts),
        nats=math.fsum(part.nats for part in parts),
    )


def read_sentences(split_dir: Path) -> Iterator[str]:
    """The sentences of a split of a cleaned corpus, in order."""
    for _, sentences in read_documents(split_dir):
        yield from sentences


def read_documents(split_dir: Path) -> Iterator[tuple[str, list[str]]]:
    """The documents of a split of a cleaned corpus, in order: their ids and sentences."""
    for path in parquet_files(split_dir):
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(_READ_DOCUMENTS, columns=["id", "sentences"], use_threads=False):
                yield from zip(batch["id"].to_pylist(), batch["sentences"].to_pylist(), strict=True)


def read_ids(split_dir: Path) -> Iterator[str]:
    """The ids of the documents of a split of a cleaned corpus."""
    for path in parquet_files(split_dir):
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(_READ_DOCUMENTS, columns=["id"], use_threads=False):
                yield from batch["id"].to_pylist()


def count_sentences(split_dir: Path) -> int:
    """How many sentences a split has."""
    return sum(len(sentences) for _, sentences in read_documents(split_dir))


def sample_sentences(split_dir: Path, count: int) -> list[str]:
    """The sentences with the lowest hashes of their document's id and their place in it: the same for every model."""
    keyed = (
        (hashlib.blake2b(f"{document}\0{place}".encode(), digest_size=8).digest(), sentence)
        for document, sentences in read_documents(split_dir)
        for place, sentence in enumerate(sentences)
    )
    return [sentence for _, sentence in heapq.nsmallest(count, keyed)]


def _batches(sentences: Iterable[str], size: int) -> Iterator[Sequence[str]]:
    left = iter(sentences)
    while batch := list(islice(left, size)):
        yield batch
