"""What follows what in the texts of each class: an n-gram model a class, whose prior is the model of one word less.

P_k(w | h, class) = (count(h w) + μ P_k-1(w | h's last words, class)) / (count(h) + μ), for k = 1 … order words, counted in the
class's own texts; P_0 is the pretrained model's P(w). So each sums to 1, whichever words a class has seen. (With order 1, naive
Bayes.)

An n-gram's row is found as in `model`, from its last word back: a level's keys are the row of one word less, and the word
before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stemma.families.ngram.windows import Ids

__all__ = ["ClassCounts", "Counts", "Floats", "count_classes"]

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Levels:
    """Counts (rows, classes) of word sequences of lengths 1, 2, …; `nothing` is the id that stands for no word."""

    nothing: int
    keys: Sequence[Ids]
    counts: Sequence[Counts]

    def look_up(self, columns: Sequence[Ids]) -> list[Counts]:
        """For each length, how often each window's last words were seen in each class (windows, classes)."""
        found = []
        row = np.zeros(len(columns[0]), np.int64) if columns else np.zeros(0, np.int64)
        for column, keys, counts in zip(columns, self.keys, self.counts, strict=False):
            wanted = row * (self.nothing + 1) + column
            place = np.searchsorted(keys, wanted)
            seen = (row >= 0) & (column < self.nothing) & (place < len(keys))
            seen[seen] = keys[place[seen]] == wanted[seen]
            row = np.where(seen, place, -1)
            padded = np.concatenate([counts, np.zeros((1, counts.shape[1]), np.int64)])
            found.append(padded[row])
        return found


@dataclass(frozen=True, kw_only=True)
class ClassCounts:
    """The n-gram models of all classes."""

    unigrams: Floats  # (ids,): P(w) of the pretrained model
    prior_count: float  # μ
    texts: Counts  # (classes,): how many rows there were of each
    tokens: Counts  # (classes,): how many predictions in them
    ngrams: _Levels
    contexts: _Levels

    def log_priors(self) -> Floats:
        """Logarithms of P(class), one added to each count."""
        counts = self.texts + 1.0
        return np.asarray(np.log(counts / counts.sum()))

    def log_probabilities(self, columns: Sequence[Ids]) -> Floats:
        """Logarithms of P(last word | the words before it, class) of windows (windows, classes)."""
        mu, nothing = self.prior_count, self.ngrams.nothing
        seen, contexts = self.ngrams.look_up(columns), self.contexts.look_up(columns[1:])
        result = np.repeat(self.unigrams[columns[0]][:, None], len(self.texts), axis=1)
        for length, count in enumerate(seen):
            total = self.tokens if length == 0 else contexts[length - 1]
            better = (count + mu * result) / (total + mu)
            result = better if length == 0 else np.where((columns[length] < nothing)[:, None], better, result)
        return np.asarray(np.log(result))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All of it, for a file."""
        result: dict[str, npt.NDArray[Any]] = {"unigrams": self.unigrams, "texts": self.texts, "tokens": self.tokens}
        for name, levels in (("ngrams", self.ngrams), ("contexts", self.contexts)):
            for length, (keys, counts) in enumerate(zip(levels.keys, levels.counts, strict=True), start=1):
                result |= {f"{name}.keys.{length}": keys, f"{name}.counts.{length}": counts}
        return result

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], prior_count: float) -> "ClassCounts":
        """What `arrays` gave."""
        nothing = len(arrays["unigrams"])

        def levels(name: str) -> _Levels:
            lengths = range(1, 1 + sum(key.startswith(f"{name}.keys.") for key in arrays))
            keys, counts = ([arrays[f"{name}.{what}.{length}"] for length in lengths] for what in ("keys", "counts"))
            return _Levels(nothing, keys, counts)

        return cls(
            unigrams=arrays["unigrams"],
            prior_count=prior_count,
            texts=arrays["texts"],
            tokens=arrays["tokens"],
            ngrams=levels("ngrams"),
            contexts=levels("contexts"),
        )


def count_classes(
    columns: Sequence[Ids], classes: Ids, texts: Counts, *, unigrams: Floats, prior_count: float
) -> ClassCounts:
    """Count windows (windows,) a column, the last word first, each of a class."""
    num_classes, nothing = len(texts), len(unigrams)
    return ClassCounts(
        unigrams=unigrams,
        prior_count=prior_count,
        texts=texts,
        tokens=np.bincount(classes, minlength=num_classes),
        ngrams=_count(columns, classes, num_classes, nothing),
        contexts=_count(columns[1:], classes, num_classes, nothing),
    )


def _count(columns: Sequence[Ids], classes: Ids, num_classes: int, nothing: int) -> _Levels:
    keys, counts = [], []
    row = np.zeros(len(classes), np.int64)
    for column in columns:
        some = (row >= 0) & (column < nothing)
        found, places = np.unique(row[some] * (nothing + 1) + column[some], return_inverse=True)
        row = np.full(len(row), -1)
        row[some] = places
        flat = np.bincount(places * num_classes + classes[some], minlength=len(found) * num_classes)
        keys.append(found)
        counts.append(flat.reshape(len(found), num_classes))
    return _Levels(nothing, keys, counts)
