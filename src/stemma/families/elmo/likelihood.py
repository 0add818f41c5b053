"""How surprised ELMo's two language models are by text: by sentences, each by itself, or by running text.

A text is read from an empty state, with the end of a sentence before it and behind every sentence of it. Each of its tokens and
one end of a sentence for every sentence are predicted, in both directions.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from stemma.data.batches import Ragged
from stemma.families.elmo.network import DIRECTIONS, Elmo
from stemma.families.elmo.streams import lay_out
from stemma.layers.lstm import State
from stemma.text.symbols import Symbols

__all__ = ["document_nats", "sentence_nats"]

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
_TOKENS: Final = 4096  # that go through the network at once
_STEPS: Final = 256  # of which each text has at most so many


def sentence_nats(network: Elmo, sentences: Ragged, symbols: Symbols) -> Doubles:
    """Minus the log-probability of each sentence by itself, forwards and backwards (2, sentences)."""
    return document_nats(network, sentences, np.arange(len(sentences) + 1), symbols)


def document_nats(network: Elmo, sentences: Ragged, bounds: Ints, symbols: Symbols) -> Doubles:
    """The same of documents (2, documents), of which each is the sentences between two bounds, one after the other."""
    laid_out = lay_out(symbols.readable(sentences.values), sentences.lengths, symbols.end)
    texts = Ragged(laid_out, (sentences.offsets + np.arange(len(sentences.offsets)))[bounds])
    nats = np.zeros((DIRECTIONS, len(texts)))
    for rows in _alike(texts.lengths):
        lengths = texts.lengths[rows]
        forward = np.full((len(rows), int(lengths.max()) + 1), symbols.end, np.int64)
        forward[:, 1:] = texts.padded(rows, symbols.end)[:, : forward.shape[1] - 1]
        columns = np.arange(forward.shape[1])
        backward = np.take_along_axis(forward, np.maximum(lengths[:, None] - columns, 0), axis=1)
        found = _predict(network, np.stack([forward.T, backward.T]))
        nats[:, rows] = (found * (columns[:-1, None] < lengths)).sum(axis=1)
    return nats


def _predict(network: Elmo, both: Ints) -> Doubles:
    """Minus the log-probability of every token but the first (2, length, rows), in the order of reading."""
    states: list[State] | None = None
    parts = []
    for start in range(0, both.shape[1] - 1, _STEPS):
        text = both[:, start : start + _STEPS + 1]
        tokens, places = np.unique(text[:, :-1], return_inverse=True)
        shape = text[:, :-1].shape
        reading = network.read(torch.from_numpy(tokens), torch.from_numpy(places.reshape(shape)), states)
        targets = torch.from_numpy(np.ascontiguousarray(text[:, 1:])).flatten()
        parts.append(network.nats(reading.layers[-1].flatten(0, 2), targets).double().numpy().reshape(shape))
        states = reading.states
    return np.concatenate(parts, axis=1)


def _alike(lengths: npt.NDArray[Any]) -> Iterator[Ints]:
    """Rows of like length, the long ones first, as many at a time as go through the network at once."""
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        count = max(1, _TOKENS // min(int(lengths[order[start]]), _STEPS))
        yield order[start : start + count]
        start += count
