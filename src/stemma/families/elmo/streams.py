"""A token store as streams of text, which a step reads a window of, one from each side.

The documents of an epoch, shuffled, are laid end to end, with the end of a sentence behind every sentence, and cut into as many
rows as a batch has. Forwards, each row is read window by window from its beginning; backwards, from its end. So what the network
holds at the end of a window is what it goes on with in the next: the tokens of a batch are a function of the step, and the
state is carried by the training. Memory holds a few numbers a document, and some windows.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from stemma.data.token_store import Shard, TokenStore
from stemma.errors import TrainingError
from stemma.text.symbols import Symbols

__all__ = ["Streams", "Window", "lay_out"]

Ints = npt.NDArray[np.int64]
_HELD: Final = 64  # windows of every row that are read from the store together


@dataclass(frozen=True, kw_only=True)
class Window:
    """What a step reads and predicts, forwards (0) and backwards (1)."""

    name: str  # for messages
    begins: bool  # whether the rows begin here, so that there is nothing to carry
    inputs: Ints  # (2, length, rows)
    targets: Ints  # (2, length, rows): what follows each input in the direction of reading


def lay_out(ids: npt.NDArray[np.integer], lengths: Ints, end: int) -> Ints:
    """Sentences end to end, `end` behind each."""
    result = np.full(len(ids) + len(lengths), end, np.int64)
    result[np.arange(len(ids)) + np.repeat(np.arange(len(lengths)), lengths)] = ids
    return result


class Streams:
    """All text of a store, in windows by step."""

    def __init__(self, store: TokenStore, symbols: Symbols, *, rows: int, length: int, seed: int) -> None:
        self._store, self._end, self._rows, self._length = store, symbols.end, rows, length
        self._seed = seed % 2**63  # numpy takes no negative seed
        self._readable = symbols.readable(np.arange(symbols.size))
        self._documents = _Documents.of(store)
        self._row_length = int(self._documents.sizes.sum()) // rows
        if not self._row_length:
            raise TrainingError(f"the corpus has fewer tokens than batch_size, {rows}; lower it, or add text")
        self._epoch = -1
        self._order = self._starts = np.zeros(0, np.int64)  # of the documents; where each of them begins in the stream
        self._held: dict[bool, tuple[tuple[int, int], Ints]] = {}

    @property
    def steps_per_epoch(self) -> int:
        """How many windows a row has."""
        return -(-self._row_length // self._length)

    def at(self, step: int) -> Window:
        """The window of a step, counted from 0."""
        epoch, number = divmod(step, self.steps_per_epoch)
        self._begin(epoch)
        forward, backward = (self._text(epoch, number, backwards=backwards) for backwards in (False, True))
        both = np.stack([forward.T, backward[:, ::-1].T])  # (2, length + 1, rows), in the order of reading
        return Window(
            name=f"epoch {epoch + 1}, window {number + 1}",
            begins=number == 0,
            inputs=both[:, :-1],
            targets=both[:, 1:],
        )

    def _begin(self, epoch: int) -> None:
        """Order the documents of an epoch."""
        if epoch != self._epoch:
            self._epoch = epoch
            self._order = np.random.default_rng([self._seed, epoch]).permutation(len(self._documents.sizes))
            self._starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._documents.sizes[self._order])])

    def _text(self, epoch: int, number: int, *, backwards: bool) -> Ints:
        """A window of every row with the token that it begins with (rows, length + 1), in the order of the text."""
        group, place = divmod(number, _HELD)
        first, last = group * _HELD * self._length, min((group + 1) * _HELD * self._length, self._row_length)
        if backwards not in self._held or self._held[backwards][0] != (epoch, group):
            begin = self._row_length - last if backwards else first
            rows = [self._read(row * self._row_length + begin, last - first + 1) for row in range(self._rows)]
            self._held[backwards] = (epoch, group), np.stack(rows)
        held = self._held[backwards][1]
        start, stop = place * self._length, min((place + 1) * self._length, last - first)
        return held[:, last - first - stop : last - first - start + 1] if backwards else held[:, start : stop + 1]

    def _read(self, place: int, count: int) -> Ints:
        """Some of the stream, which an end of a sentence comes before: its place 0."""
        parts = [np.full(1, self._end)] if place == 0 else []
        place, stop = max(0, place - 1), place + count - 1
        while place < stop:
            number = int(np.searchsorted(self._starts, place, side="right")) - 1
            skipped = place - int(self._starts[number])
            parts.append(self._read_document(int(self._order[number]), skipped, skipped + stop - place))
            place += len(parts[-1])
        return np.concatenate(parts)

    def _read_document(self, document: int, start: int, stop: int) -> Ints:
        """A document from one place on, to another or to its end."""
        shard = self._store.shard(int(self._documents.shards[document]))
        first, last = self._documents.sentences[document]
        bounds = np.asarray(shard.sentences[first : last + 1])
        places = bounds - bounds[0] + np.arange(len(bounds))  # where sentences begin when each has its end behind it
        low = int(np.searchsorted(places, start, side="right")) - 1
        high = min(int(np.searchsorted(places, stop, side="left")), len(places) - 1)
        ids = self._readable[shard.ids[bounds[low] : bounds[high]]]
        text = lay_out(ids, np.diff(bounds[low : high + 1]), self._end)
        return text[start - places[low] : stop - places[low]]


@dataclass(frozen=True, kw_only=True)
class _Documents:
    """Where the documents of a store lie."""

    shards: Ints  # (documents,)
    sentences: Ints  # (documents, 2): the first of each in its shard, and one past its last
    sizes: Ints  # (documents,): tokens and ends of sentences

    @classmethod
    def of(cls, store: TokenStore) -> "_Documents":
        found = [_bounds(shard) for shard in store.shards()]
        sentences = np.concatenate([np.zeros((0, 2), np.int64), *(bounds for bounds, _ in found)])
        sizes = np.concatenate([np.zeros(0, np.int64), *(sizes for _, sizes in found)])
        return cls(
            shards=np.repeat(np.arange(len(found)), [len(sizes) for _, sizes in found]),
            sentences=sentences,
            sizes=sizes,
        )


def _bounds(shard: Shard) -> tuple[Ints, Ints]:
    """The sentences of each document, and how many tokens and ends they have."""
    documents, sentences = np.asarray(shard.documents), np.asarray(shard.sentences)
    bounds = np.stack([documents[:-1], documents[1:]], axis=1)
    return bounds, sentences[bounds[:, 1]] - sentences[bounds[:, 0]] + bounds[:, 1] - bounds[:, 0]
