"""An n-gram model: sorted arrays, looked up for many tokens at once.

An n-gram of order k is found by the node of its suffix and its first word, so a token's window is followed from its last
word back, one binary search an order for all tokens together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stemma.families.ngram.counts import NgramCounts
from stemma.families.ngram.estimation import Estimates
from stemma.families.ngram.store import MappedTensors, Stream, stream_file, write_tensors
from stemma.families.ngram.windows import Ids, Symbols, pad, windows
from stemma.files import read_json, write_json

__all__ = ["MODEL_FILES", "NgramModel", "save_model"]

Floats = npt.NDArray[np.float64]

_CONFIG, _TENSORS = MODEL_FILES = "ngram.json", "model.safetensors"
_BLOCK = 1 << 16  # n-grams that are written at a time


class NgramModel:
    """Probabilities of tokens after contexts, and the counts behind them."""

    def __init__(self, symbols: Symbols, order: int, *, backs_off: bool, tensors: MappedTensors) -> None:
        self.symbols, self.order = symbols, order
        self.backs_off = backs_off  # whether a context that was never seen leaves it to the shorter ones, or says 0
        self._tensors = tensors

    @classmethod
    def open(cls, folder: Path, *, frugal: bool = False) -> "NgramModel":
        """Map a model that `save_model` wrote; a `frugal` one is slower, but takes no memory to speak of."""
        config = read_json(folder / _CONFIG)
        symbols = Symbols(**{**config["symbols"], "silent": tuple(config["symbols"]["silent"])})
        tensors = MappedTensors(folder / _TENSORS, frugal=frugal)
        return cls(symbols, config["order"], backs_off=config["backs_off"], tensors=tensors)

    def values(self, name: str, order: int) -> npt.NDArray[Any]:
        """An array of one order, by node: `keys`, `counts`, `probabilities` or `backoffs`."""
        return self._tensors[f"{name}.{order}"]

    def size(self, order: int) -> int:
        """How many n-grams of an order were seen."""
        return int(np.count_nonzero(self.values("counts", 1))) if order == 1 else len(self.values("keys", order))

    def nodes(self, columns: Sequence[Ids]) -> list[Ids]:
        """For each length, the node of the n-gram that each window ends in, -1 where it was never seen.

        `columns` are windows: the last word, the one before, …; the vocabulary's size stands for none.
        """
        size = self.symbols.size
        found = [np.where(columns[0] < size, columns[0], -1)]
        for order, words in enumerate(columns[1:], start=2):
            node = np.full(len(words), -1)
            rows = np.flatnonzero((found[-1] >= 0) & (words < size))
            node[rows] = self._tensors.find(f"keys.{order}", found[-1][rows] * size + words[rows])
            found.append(node)
        return found

    def probabilities(self, columns: Sequence[Ids]) -> Floats:
        """P(last word | the words before it) of windows of up to `order` words."""
        columns = columns[: self.order]
        own = self.nodes(columns)
        contexts = self.nodes(columns[1:]) if len(columns) > 1 else []
        result: Floats = self.values("probabilities", 1)[columns[0]].astype(np.float64)
        for order in range(2, len(columns) + 1):
            node, context = own[order - 1], contexts[order - 2]
            backoff = np.where(
                context >= 0, self._tensors.take(f"backoffs.{order - 1}", context), float(self.backs_off)
            )
            backed_off = np.where(columns[order - 1] < self.symbols.size, backoff * result, result)
            result = np.where(node >= 0, self._tensors.take(f"probabilities.{order}", node), backed_off)
        return result

    def distribution(self, context: Sequence[int]) -> Floats:
        """P(w | context) for every id w; the context's last word is its last element."""
        known = [
            np.full(self.symbols.size, word)
            for word in reversed(context[-(self.order - 1) :] if self.order > 1 else [])
        ]
        return self.probabilities([np.arange(self.symbols.size), *known])

    def counts(self, columns: Sequence[Ids]) -> list[npt.NDArray[np.int64]]:
        """For each length, how often the n-gram that each window ends in was seen."""
        return [
            self._tensors.take(f"counts.{order}", node).astype(np.int64)
            for order, node in enumerate(self.nodes(columns[: self.order]), start=1)
        ]

    def words(self, order: int, nodes: Ids) -> list[Ids]:
        """The words of n-grams, first word first."""
        columns = []
        for length in range(order, 1, -1):
            keys = self.values("keys", length)[nodes]
            columns.append(keys % self.symbols.size)
            nodes = keys // self.symbols.size
        return [*columns, nodes]

    def predict_sentences(self, ids: npt.NDArray[Any], offsets: npt.NDArray[np.int64]) -> tuple[Floats, Ids, Ids]:
        """The probability of every token of some sentences and of their ends; the tokens; where each sentence begins."""
        padded, starts = pad(self.symbols.readable(ids), offsets, self.symbols)
        columns = windows(padded, starts, self.order, self.symbols.size)
        predicted = np.ones(len(padded), bool)
        predicted[starts] = False
        probabilities = self.probabilities([column[predicted] for column in columns])
        return probabilities, padded[predicted], starts - np.arange(len(starts))


def save_model(
    folder: Path, counts: NgramCounts, estimates: Estimates, *, backs_off: bool, details: dict[str, Any]
) -> None:
    """Write a model: symbols and details as JSON, arrays as safetensors."""
    tensors = {
        "counts.1": _in_memory(counts.unigrams, np.uint32 if counts.unigrams.max() < 1 << 32 else np.uint64),
        "probabilities.1": _in_memory(estimates.unigrams, np.float32),
        "backoffs.1": _in_memory(estimates.unigram_backoffs, np.float32),
    }
    count_type = tensors["counts.1"].dtype  # no n-gram is more frequent than its words
    for level, probabilities in zip(counts.levels, estimates.probabilities, strict=True):
        blocks = {
            "keys": (np.int64, starmap(level.keys, level.spans(_BLOCK))),
            "counts": (count_type, starmap(level.counts, level.spans(_BLOCK))),
            "probabilities": (np.float32, stream_file(probabilities, np.float64)),
        }
        for name, (dtype, values) in blocks.items():
            tensors[f"{name}.{level.order}"] = Stream(dtype=dtype, size=level.size, blocks=values)
    for level, endings, backoffs in zip(counts.levels[:-1], counts.endings[:-1], estimates.backoffs, strict=True):
        filled = _with_endings(endings, backoffs)
        tensors[f"backoffs.{level.order}"] = Stream(dtype=np.float32, size=level.size, blocks=filled)
    write_tensors(folder / _TENSORS, tensors)
    config = {"order": counts.order, "symbols": asdict(counts.symbols), "backs_off": backs_off, **details}
    write_json(folder / _CONFIG, config)


def _in_memory(values: npt.NDArray[Any], dtype: type[np.generic]) -> Stream:
    return Stream(dtype=dtype, size=len(values), blocks=[values])


def _with_endings(endings: range, path: Path) -> Iterator[npt.NDArray[np.float64]]:
    """Backoffs by node: those of contexts, and 1 for the n-grams that end in </s>, after which nothing comes."""
    done = 0
    for block in stream_file(path, np.float64):
        place = endings.start - done  # of the endings in this block, if they are not behind or ahead
        done += len(block)
        if not 0 <= place < len(block):
            yield block
            continue
        yield block[:place]
        yield np.ones(len(endings))
        yield block[place:]
    if endings.start >= done:
        yield np.ones(len(endings))
