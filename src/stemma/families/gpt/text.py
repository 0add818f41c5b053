"""Running text as rows for a network that reads from left to right.

A document is `<s> s1 </s> s2 </s> … sn </s>`, and documents follow one another. A row is a token to begin with and the
tokens to predict after it. It begins with a sentence, behind `<s>`, just as a sentence that is scored by itself does; where
it is full it breaks off, and the sentence that it broke into begins another row. A sentence longer than a row is cut into
pieces: the row of a later piece begins with the last token of the piece before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stemma.data.batches import uniform
from stemma.data.token_store import TokenStore
from stemma.errors import TrainingError
from stemma.text.symbols import Symbols

__all__ = ["Begins", "Text", "TextRows", "measured_rows"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Text:
    """Whole documents, as a shard of a token store has them."""

    ids: npt.NDArray[Any]
    sentences: Ints  # (sentences + 1,): where each begins among the ids
    documents: Ints  # (documents + 1,): where each begins among the sentences

    @classmethod
    def of(cls, document: list[Any]) -> "Text":
        """One document, a list of sentences of ids."""
        ids = np.concatenate([np.zeros(0, np.int64), *document]).astype(np.int64)
        bounds = np.cumsum([0, *map(len, document)])
        return cls(ids=ids, sentences=bounds, documents=np.array([0, len(document)]))

    def row(self, sentence: int, skip: int, width: int, symbols: Symbols) -> Ints:
        """A token and up to `width` that follow it, from `skip` tokens behind the beginning of a sentence."""
        bounds = np.asarray(self.sentences[sentence : sentence + width + 1])
        begin = int(bounds[0]) + skip
        before = min(skip, 1)  # the last token of the piece before, if there is one
        words = symbols.readable(self.ids[begin - before : min(begin + width, int(bounds[-1]))])
        ends = bounds[1:] - begin + before  # a `</s>` before each of these places
        low, high = np.searchsorted(self.documents[:-1], [sentence + 1, sentence + len(ends)])
        marks = np.ones(len(ends), np.int64)
        marks[self.documents[low:high] - sentence - 1] = 2  # and a `<s>`, where the next sentence begins a document
        marks[ends > len(words)] = 0
        kinds = np.full(int(marks.sum()), symbols.end)
        kinds[np.cumsum(marks)[marks == 2] - 1] = symbols.begin
        result = np.insert(words, np.repeat(ends, marks), kinds)
        return (result if skip else np.append(symbols.begin, result))[: width + 1]


@dataclass(frozen=True, kw_only=True)
class Begins:
    """The places of a text where a row may begin: its sentences, and within long ones a place every so many tokens."""

    sentences: Ints
    skips: Ints  # how many tokens of the sentence lie before
    places: Ints  # among all tokens to predict, `</s>` and `<s>` with them
    size: int  # how many tokens there are to predict

    @classmethod
    def of(cls, text: Text, every: int) -> "Begins":
        """All of them."""
        lengths = np.diff(text.sentences) + 1  # with `</s>`
        marked = np.zeros(len(lengths), np.int64)  # behind a `<s>` that is predicted: that of the first document is not
        marked[text.documents[:-1][np.diff(text.documents) > 0]] = 1
        marked[:1] = 0
        ends = np.cumsum(lengths + marked)
        counts = -(-lengths // every)
        sentences = np.repeat(np.arange(len(lengths)), counts)
        skips = (np.arange(len(sentences)) - np.repeat(np.cumsum(counts) - counts, counts)) * every
        places = (ends - lengths)[sentences] + skips
        return cls(sentences=sentences, skips=skips, places=places, size=int(ends[-1]) if len(ends) else 0)

    def chain(self, width: int, reach: int) -> Ints:
        """Which of them rows of `width` begin at so that every token is in one: each at most `reach` behind the last.

        The last row begins as early as it may and still reaches the end.
        """
        if not len(self.places):
            return np.zeros(0, np.int64)
        follow = np.searchsorted(self.places, self.places + reach, side="right") - 1
        next_one = np.maximum(follow, np.arange(len(follow)) + 1).tolist()
        last = int(np.searchsorted(self.places, self.size - width))
        chosen, here = [], 0
        while here < last:
            chosen.append(here)
            here = next_one[here]
        return np.array([*chosen, last])


def measured_rows(text: Text, width: int, symbols: Symbols) -> Iterator[tuple[Ints, int]]:
    """Rows of a text in which every token is predicted, each with how many of its predictions an earlier row has made.

    Rows overlap by half, as far as sentences let them, so that what a later row predicts anew has that much before it.
    """
    half = max(1, width // 2)
    begins = Begins.of(text, half)
    done = 0
    for chosen in begins.chain(width, half):
        place = int(begins.places[chosen])
        row = text.row(int(begins.sentences[chosen]), int(begins.skips[chosen]), width, symbols)
        yield row, max(0, done - place)
        done = place + len(row) - 1


class TextRows:
    """The text of a token store in rows."""

    def __init__(self, store: TokenStore, symbols: Symbols, *, width: int, seed: int) -> None:
        if not store.num_sentences:
            raise TrainingError("there is no sentence to train on; add text to the corpus")
        self._symbols, self._width, self._seed = symbols, width, seed
        self._texts = [Text(ids=one.ids, sentences=one.sentences, documents=one.documents) for one in store.shards()]
        begins = [Begins.of(text, width) for text in self._texts]
        self._sentences = [one.sentences.astype(np.int32) for one in begins]
        self._skips = [one.skips.astype(np.int32) for one in begins]
        chains = [one.chain(width, width) for one in begins]
        self._shards = np.repeat(np.arange(len(chains)), [len(chain) for chain in chains])  # (rows,)
        self._last = np.concatenate(chains)  # where each row begins at the latest
        self._first = np.concatenate([np.append(0, chain[:-1] + 1) for chain in chains])  # and at the earliest

    def __len__(self) -> int:
        return len(self._last)

    def build(self, rows: Ints, epoch: int) -> list[Ints]:
        """Some rows of an epoch, each a token and what follows; those at the end of a shard may be short.

        In the first epoch every token is in a row. In later ones a row begins anywhere between the place of the row
        before it and its own, so that a token is not always seen behind the same others.
        """
        first, last = self._first[rows], self._last[rows]
        drawn = first + (uniform(self._seed, epoch, rows) * (last - first + 1)).astype(np.int64)
        chosen = drawn if epoch else last
        return [self._row(*where) for where in zip(self._shards[rows].tolist(), chosen.tolist(), strict=True)]

    def _row(self, shard: int, begin: int) -> Ints:
        sentence, skip = int(self._sentences[shard][begin]), int(self._skips[shard][begin])
        return self._texts[shard].row(sentence, skip, self._width, self._symbols)
