"""Texts for BERT (Devlin et al. 2019, section 3.1 and appendix A.2), from a memory-mapped token store.

A document is cut into stretches that fill an input; a stretch begins with a sentence. Without next-sentence prediction a
stretch is the input. With it, a random sentence boundary inside it ends A; B is what follows, or, for one half of the
pairs, text that begins with a sentence of another document. What is too long is cut from B's end, in both cases alike, so
that the cut tells nothing. Every draw is a function of seed, epoch and stretch. Left out on purpose: the one tenth of
shorter inputs of the authors' code, which the paper does not have.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from stemma.data.batches import pad_rows, round_up, uniform
from stemma.data.token_store import Shard, TokenStore
from stemma.errors import TrainingError

__all__ = ["Pairs", "SentencePairs", "SentenceRuns", "stretch_starts"]

Ints = npt.NDArray[np.int64]
_PAIR: Final = 3  # special tokens of [CLS] A [SEP] B [SEP]
_SINGLE: Final = 2  # and of [CLS] A [SEP]
_IS_RANDOM, _BOUNDARY, _OTHER = range(3)  # what a random number is drawn for


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """A batch of pairs, or of single segments, as rectangles, before masking."""

    ids: Ints  # (batch, length), with special tokens, padded
    types: Ints  # (batch, length): 0 for [CLS] A [SEP], 1 for B [SEP]
    lengths: Ints  # (batch,)
    is_random: npt.NDArray[np.bool_]  # (batch,): does B come from another document?


@dataclass(frozen=True)
class _Segments:
    """Slices of the store's tokens, each inside one shard."""

    shards: Ints
    starts: Ints
    lengths: Ints


class _Stretches:
    """The stretches of a token store: where they begin, and what stands there."""

    def __init__(self, store: TokenStore, *, room: int, sentences: int) -> None:
        """A stretch has at most `room` tokens, and from its start on its document has so many `sentences` at least."""
        self._store, self._room = store, room
        found = [_stretches(shard, room, sentences) for shard in store.shards()]
        self._shard = np.repeat(np.arange(len(found)), [len(starts) for starts, _ in found])  # (stretches,)
        self._first = np.concatenate([np.zeros(0, np.int64), *(starts for starts, _ in found)])  # sentence of the shard
        self._tokens = np.concatenate([np.zeros(0, np.int64), *(lengths for _, lengths in found)])

    def __len__(self) -> int:
        return len(self._first)

    def _offset(self, shard: Ints, sentence: Ints) -> Ints:
        """Where each sentence begins among its shard's tokens."""
        result = np.empty_like(sentence)
        for number in np.unique(shard):
            mine = shard == number
            result[mine] = self._store.shard(int(number)).sentences[sentence[mine]]
        return result

    def _read(self, segments: _Segments) -> Ints:
        """The tokens of the segments, end to end."""
        width = int(segments.lengths.max())
        rows = np.zeros((len(segments.starts), width), np.int64)
        for number in np.unique(segments.shards):
            mine = segments.shards == number
            ids = self._store.shard(int(number)).ids
            rows[mine] = pad_rows(ids, segments.starts[mine], segments.lengths[mine], 0, width)
        return rows[np.arange(width) < segments.lengths[:, None]]


class SentenceRuns(_Stretches):
    """Every stretch of a token store as one segment: sentences that follow each other, the same in every epoch."""

    def __init__(self, store: TokenStore, *, max_length: int, cls_id: int, sep_id: int, pad_id: int, seed: int) -> None:  # noqa: ARG002  as for pairs
        super().__init__(store, room=max_length - _SINGLE, sentences=1)
        self._max_length, self._cls, self._sep, self._pad = max_length, cls_id, sep_id, pad_id
        self.lengths = self._tokens + _SINGLE
        if not len(self):
            raise TrainingError("there is no sentence to train on; the corpus is empty")

    def build(self, examples: Ints, epoch: int) -> Pairs:  # noqa: ARG002  as for pairs
        """The segments of some examples."""
        shard, lengths = self._shard[examples], self.lengths[examples]
        segments = _Segments(shard, self._offset(shard, self._first[examples]), lengths - _SINGLE)
        columns = np.arange(min(round_up(int(lengths.max())), self._max_length))
        last = lengths[:, None] - 1
        ids = np.full((len(lengths), len(columns)), self._pad, np.int64)
        ids[:, 0] = self._cls
        ids[columns == last] = self._sep
        ids[(columns > 0) & (columns < last)] = self._read(segments)
        return Pairs(ids=ids, types=np.zeros_like(ids), lengths=lengths, is_random=np.zeros(len(lengths), np.bool_))


class SentencePairs(_Stretches):
    """Every stretch of a token store as an example, whose pair may be drawn anew each epoch."""

    def __init__(self, store: TokenStore, *, max_length: int, cls_id: int, sep_id: int, pad_id: int, seed: int) -> None:
        super().__init__(store, room=max_length - _PAIR, sentences=2)
        self._seed = seed
        self._max_length, self._cls, self._sep, self._pad = max_length, cls_id, sep_id, pad_id
        self.lengths = self._tokens + _PAIR
        counts = [len(shard.sentences) - 1 for shard in store.shards()]
        self._sentences_before = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
        if store.num_documents < 2 or not len(self):
            raise TrainingError(
                "sentence pairs need two documents, one of them with two sentences;"
                f" the corpus has {store.num_documents} documents of {store.num_sentences} sentences in all"
            )

    def build(self, examples: Ints, epoch: int) -> Pairs:
        """The pairs of some examples in one epoch."""
        is_random = uniform(self._seed, _IS_RANDOM, epoch, examples) < 0.5
        first, second = self._segments(examples, epoch, is_random)
        return self._lay_out(first, second, is_random)

    def _segments(self, examples: Ints, epoch: int, is_random: npt.NDArray[np.bool_]) -> tuple[_Segments, _Segments]:
        shard, start = self._shard[examples], self._first[examples]
        document_start, document_end = self._document_of(shard, start)
        last_boundary = np.maximum(self._cut(shard, start, document_end), start + 1)
        choices = np.minimum(last_boundary, document_end - 1) - start
        boundary = start + 1 + (uniform(self._seed, _BOUNDARY, epoch, examples) * choices).astype(np.int64)
        other_shard, other = self._other_sentence(examples, epoch, shard, document_start, document_end)
        b_shard, b_sentence = np.where(is_random, other_shard, shard), np.where(is_random, other, boundary)
        b_start = self._offset(b_shard, b_sentence)
        b_available = self._offset(b_shard, self._document_of(b_shard, b_sentence)[1]) - b_start
        a_end = self._offset(shard, boundary)
        # A keeps its end, next to B; it leaves B a quarter of the room, if B has that much
        a_length = np.minimum(a_end - self._offset(shard, start), self._room - np.minimum(b_available, self._room // 4))
        b_length = np.minimum(b_available, self._room - a_length)
        return _Segments(shard, a_end - a_length, a_length), _Segments(b_shard, b_start, b_length)

    def _cut(self, shard: Ints, start: Ints, document_end: Ints) -> Ints:
        """The sentence in which a stretch is full, or the document's end."""
        full = self._offset(shard, start) + self._room
        result = np.empty_like(start)
        for number in np.unique(shard):
            mine = shard == number
            sentences = self._store.shard(int(number)).sentences
            result[mine] = np.searchsorted(sentences, full[mine], side="right") - 1
        return np.minimum(result, document_end)

    def _other_sentence(self, examples: Ints, epoch: int, shard: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
        """A sentence of the store outside each example's own document, each as likely as any other."""
        num_others = self._store.num_sentences - (end - start)
        number = (uniform(self._seed, _OTHER, epoch, examples) * num_others).astype(np.int64)
        own_start = self._sentences_before[shard] + start
        number += np.where(number >= own_start, end - start, 0)
        other_shard = np.searchsorted(self._sentences_before, number, side="right") - 1
        return other_shard, number - self._sentences_before[other_shard]

    def _document_of(self, shard: Ints, sentence: Ints) -> tuple[Ints, Ints]:
        """The first sentence of each sentence's document and the one behind its last."""
        start, end = np.empty_like(sentence), np.empty_like(sentence)
        for number in np.unique(shard):
            mine = shard == number
            documents = self._store.shard(int(number)).documents
            position = np.searchsorted(documents, sentence[mine], side="right")
            start[mine], end[mine] = documents[position - 1], documents[position]
        return start, end

    def _lay_out(self, first: _Segments, second: _Segments, is_random: npt.NDArray[np.bool_]) -> Pairs:
        lengths = first.lengths + second.lengths + _PAIR
        columns = np.arange(min(round_up(int(lengths.max())), self._max_length))
        middle, last = first.lengths[:, None] + 1, lengths[:, None] - 1  # where the two [SEP] stand
        ids = np.full((len(lengths), len(columns)), self._pad, np.int64)
        ids[:, 0] = self._cls
        ids[(columns == middle) | (columns == last)] = self._sep
        ids[(columns > 0) & (columns < middle)] = self._read(first)
        ids[(columns > middle) & (columns < last)] = self._read(second)
        types = ((columns > middle) & (columns <= last)).astype(np.int64)
        return Pairs(ids=ids, types=types, lengths=lengths, is_random=is_random)


def _stretches(shard: Shard, room: int, least: int) -> tuple[Ints, Ints]:
    """The first sentence of each stretch of a shard, and about how many tokens it has: another document's B may end sooner."""
    sentences, documents = np.asarray(shard.sentences), np.asarray(shard.documents)
    starts = stretch_starts(sentences, documents, room, least)
    ends = documents[np.searchsorted(documents, starts, side="right")]
    return starts, np.minimum(sentences[ends] - sentences[starts], room)


def stretch_starts(sentences: Ints, documents: Ints, room: int, least: int) -> Ints:
    """The sentences of a shard that a stretch begins with: from document start on, the one in which the last was full.

    So the sentence that a cut falls into is seen whole in the next stretch. From its start on a stretch's document has
    `least` sentences more: with two, no stretch begins with a document's last sentence, which nothing follows, and a document
    of one sentence has no stretch. All documents are walked side by side.
    """
    cut = np.searchsorted(sentences, sentences[:-1] + room, side="right") - 1
    follow = np.maximum(cut, np.arange(len(cut)) + 1)
    here, end = documents[:-1], documents[1:]
    usable = end - here >= least
    here, end = here[usable], end[usable]
    found = []
    while len(here):
        found.append(here)
        going_on = (follow[here] < end) & (here < end - least)
        here, end = np.minimum(follow[here], end - least)[going_on], end[going_on]
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)
