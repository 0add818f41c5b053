"""How surprised ELMo's two language models are by text: sentence by sentence, or by running text.

A sentence by itself is read from an empty state, with the end of a sentence before it and behind it; in running text the state
goes on from sentence to sentence. Either way each of n tokens and one end of a sentence are predicted, in both directions.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from stemma.data.batches import Ragged
from stemma.families.elmo.lstm import State
from stemma.families.elmo.network import DIRECTIONS, Elmo
from stemma.families.elmo.streams import lay_out
from stemma.text.symbols import Symbols

__all__ = ["running_nats", "sentence_nats"]

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
_TOKENS: Final = 4096  # that go through the network at once
_STEPS: Final = 512  # of running text


def sentence_nats(network: Elmo, sentences: Ragged, symbols: Symbols) -> Doubles:
    """Minus the log-probability of each sentence by itself, forwards and backwards (2, sentences)."""
    texts = Ragged(lay_out(symbols.readable(sentences.values), sentences.lengths, symbols.end), _with_ends(sentences))
    nats = np.zeros((DIRECTIONS, len(sentences)))
    for rows in _alike(texts.lengths):
        lengths = texts.lengths[rows]
        forward = np.full((len(rows), int(lengths.max()) + 1), symbols.end, np.int64)
        forward[:, 1:] = texts.padded(rows, symbols.end)[:, : forward.shape[1] - 1]
        columns = np.arange(forward.shape[1])
        behind = np.maximum(lengths[:, None] - columns, 0)  # a row from its end on
        both = np.stack([forward, np.take_along_axis(forward, behind, axis=1)]).transpose(0, 2, 1)
        found, _ = _predict(network, both, None)
        inside = columns[:-1, None] < lengths
        nats[:, rows] = (found * inside).sum(axis=1)
    return nats


def running_nats(network: Elmo, sentences: Ragged, symbols: Symbols) -> Doubles:
    """The same of sentences that follow each other (2, sentences)."""
    text = np.append(symbols.end, lay_out(symbols.readable(sentences.values), sentences.lengths, symbols.end))
    both = np.stack([text, text[::-1]])[:, :, None]
    states: list[State] | None = None
    parts = []
    for start in range(0, len(text) - 1, _STEPS):
        found, states = _predict(network, both[:, start : start + _STEPS + 1], states)
        parts.append(found[:, :, 0])
    forward, backward = np.concatenate(parts, axis=1)
    starts = _with_ends(sentences)[:-1]
    return np.stack([np.add.reduceat(one, starts) for one in (forward, backward[::-1])])


def _predict(network: Elmo, both: Ints, states: list[State] | None) -> tuple[Doubles, list[State]]:
    """Minus the log-probability of every token but the first (2, length, rows), in the order of reading."""
    tokens, places = np.unique(both[:, :-1], return_inverse=True)
    shape = both[:, :-1].shape
    reading = network.read(torch.from_numpy(tokens), torch.from_numpy(places.reshape(shape)), states)
    targets = torch.from_numpy(np.ascontiguousarray(both[:, 1:])).flatten()
    nats = network.nats(reading.layers[-1].flatten(0, 2), targets)
    return nats.double().numpy().reshape(shape), reading.states


def _with_ends(sentences: Ragged) -> Ints:
    """Where sentences begin when each has its end behind it."""
    return sentences.offsets + np.arange(len(sentences.offsets))


def _alike(lengths: npt.NDArray[Any]) -> Iterator[Ints]:
    """Rows of like length, the long ones first, as many at a time as go through the network at once."""
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        count = max(1, _TOKENS // int(lengths[order[start]]))
        yield order[start : start + count]
        start += count
