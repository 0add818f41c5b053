"""Sentences to ids, a batch at a time, and how well the vocabulary fits them.

Our tokenizers see a word without its neighbours. So each distinct word is encoded once, and the ids of a text are put
together from those on arrays: the same ids as the library gives for whole sentences, ten times faster.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tokenizers import Tokenizer

from stemma.text.vocabulary import UNKNOWN_ID
from stemma.text.words import find_words

__all__ = ["EncodedDocument", "Fit", "SentenceEncoder", "encode_documents"]

Ids = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.int64]
BYTES_PER_BATCH: Final = 1 << 18
BYTES_PER_PART: Final = 1 << 20
WORDS_REMEMBERED: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class EncodedDocument:
    """A document's ids without special tokens, the lengths of its sentences, and their bytes of text."""

    ids: Ids
    sentence_lengths: Counts
    num_bytes: int


@dataclass(slots=True)
class Fit:
    """Counts that say how a vocabulary fits a text; words are as the tokenizer's kind has them, punctuation marks included."""

    num_documents: int = 0
    num_sentences: int = 0
    num_words: int = 0
    num_tokens: int = 0
    num_unknown: int = 0
    num_bytes: int = 0

    def report(self) -> dict[str, float]:
        """The counts, tokens per word, and the share of unknown tokens."""
        return {
            "documents": self.num_documents,
            "sentences": self.num_sentences,
            "words": self.num_words,
            "tokens": self.num_tokens,
            "unknown": self.num_unknown,
            "bytes": self.num_bytes,
            "fertility": round(self.num_tokens / max(1, self.num_words), 6),
            "unknown_rate": round(self.num_unknown / max(1, self.num_tokens), 6),
        }


class SentenceEncoder:
    """Encodes sentences word by word, and remembers words; `segment` first parts words that have no spaces between them."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        at_spaces: bool = False,
        segment: Callable[[list[str]], list[str]] | None = None,
    ) -> None:
        self._tokenizer, self._at_spaces, self._segment = tokenizer, at_spaces, segment
        self._hashes: npt.NDArray[np.uint64]
        self._starts: Counts
        self._lengths: Counts
        self._ids: Ids
        self.vocabulary_size: int = tokenizer.get_vocab_size()
        self._forget()

    def encode(self, sentences: list[str]) -> tuple[Ids, Counts, int]:
        """The ids of sentences end to end, how many each has, and how many words there were."""
        if self._segment is not None:
            sentences = self._segment(sentences)
        text = "\n".join(sentences)
        words = find_words(text, at_spaces=self._at_spaces)
        hashes, first, places = np.unique(words.hashes, return_index=True, return_inverse=True)
        slots = self._slots(text, hashes, words.starts[first], words.ends[first])[places]
        lengths = self._lengths[slots]  # (words,): tokens of each word of the text
        last_token = np.cumsum(lengths)
        within = np.arange(int(lengths.sum())) - np.repeat(last_token - lengths, lengths)
        ids = self._ids[np.repeat(self._starts[slots], lengths) + within]
        characters = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
        words_before = np.searchsorted(words.starts, np.cumsum(characters + 1))  # with the line ends between them
        tokens_before = np.concatenate([np.zeros(1, dtype=np.int64), last_token])[words_before]
        return ids, np.diff(tokens_before, prepend=0), len(words)

    def _slots(self, text: str, hashes: npt.NDArray[np.uint64], starts: Counts, ends: Counts) -> Counts:
        """Where each of some distinct words, by rising hash, is remembered; new ones are encoded first."""
        slots = np.searchsorted(self._hashes, hashes)
        new = self._hashes[np.minimum(slots, len(self._hashes) - 1)] != hashes
        if len(self._hashes) + np.count_nonzero(new) > WORDS_REMEMBERED and len(self._hashes) > 1:
            self._forget()
            return self._slots(text, hashes, starts, ends)
        if new.any():
            places = zip(starts[new].tolist(), ends[new].tolist(), strict=True)
            ids, lengths = _encode_words(self._tokenizer, [text[start:end] for start, end in places])
            self._starts = np.insert(self._starts, slots[new], len(self._ids) + np.cumsum(lengths) - lengths)
            self._lengths = np.insert(self._lengths, slots[new], lengths)
            self._hashes = np.insert(self._hashes, slots[new], hashes[new])
            self._ids = np.concatenate([self._ids, ids])
            slots = np.searchsorted(self._hashes, hashes)
        return slots

    def _forget(self) -> None:
        # One entry that stands for no word keeps the arrays from being empty.
        self._hashes = np.full(1, np.iinfo(np.uint64).max, dtype=np.uint64)
        self._starts = np.zeros(1, dtype=np.int64)
        self._lengths = np.zeros(1, dtype=np.int64)
        self._ids = np.zeros(0, dtype=np.uint32)


def encode_documents(encoder: SentenceEncoder, sentences: pa.ListArray, fit: Fit) -> Iterator[EncodedDocument]:
    """Encode documents, each a list of sentences, and add them to `fit`; sentences without a token are left out."""
    for part in _parts(sentences):
        yield from _encode_part(encoder, part, fit)


def _parts(sentences: pa.ListArray) -> Iterator[pa.ListArray]:
    """Documents side by side that are bounded in bytes, or one alone, so that few ids are held at a time."""
    bounds = _offsets(sentences)
    bytes_before = _offsets(sentences.flatten())[bounds - bounds[0]]
    begin = 0
    while begin < len(sentences):
        end = int(np.searchsorted(bytes_before, bytes_before[begin] + BYTES_PER_PART, side="right")) - 1
        end = max(begin + 1, end)
        yield sentences[begin:end]
        begin = end


def _encode_part(encoder: SentenceEncoder, sentences: pa.ListArray, fit: Fit) -> Iterator[EncodedDocument]:
    texts = sentences.flatten()
    text_bytes = np.diff(_offsets(texts))
    ids, lengths = _encode_batches(encoder, texts, text_bytes, fit)
    text_bytes[lengths == 0] = 0
    first_token = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    bounds = _offsets(sentences)
    for begin, end in zip((bounds[:-1] - bounds[0]).tolist(), (bounds[1:] - bounds[0]).tolist(), strict=True):
        kept = lengths[begin:end]
        document = EncodedDocument(
            ids=ids[first_token[begin] : first_token[end]],
            sentence_lengths=kept[kept > 0],
            num_bytes=int(text_bytes[begin:end].sum()),
        )
        if len(document.ids):
            fit.num_documents += 1
            fit.num_sentences += len(document.sentence_lengths)
            fit.num_bytes += document.num_bytes
            yield document


def _encode_batches(
    encoder: SentenceEncoder, texts: pa.StringArray, text_bytes: Counts, fit: Fit
) -> tuple[Ids, Counts]:
    """All texts encoded, in batches that are bounded in bytes."""
    all_ids, all_lengths = [np.zeros(0, dtype=np.uint32)], [np.zeros(0, dtype=np.int64)]
    ends = np.cumsum(text_bytes)
    begin = 0
    while begin < len(texts):
        reached = (ends[begin - 1] if begin else 0) + BYTES_PER_BATCH
        end = max(begin + 1, int(np.searchsorted(ends, reached, side="right")))
        ids, lengths, num_words = encoder.encode(texts[begin:end].to_pylist())
        fit.num_words += num_words
        fit.num_tokens += len(ids)
        fit.num_unknown += int(np.count_nonzero(ids == UNKNOWN_ID))
        all_ids.append(ids)
        all_lengths.append(lengths)
        begin = end
    return np.concatenate(all_ids), np.concatenate(all_lengths)


def _encode_words(tokenizer: Tokenizer, words: list[str]) -> tuple[Ids, Counts]:
    encodings = tokenizer.encode_batch_fast(words, add_special_tokens=False)
    lengths = np.fromiter(map(len, encodings), dtype=np.int64, count=len(words))
    flat = chain.from_iterable(encoding.ids for encoding in encodings)
    return np.fromiter(flat, dtype=np.uint32, count=int(lengths.sum())), lengths


def _offsets(array: pa.Array) -> npt.NDArray[Any]:
    """The offsets of a string or list array, as 64-bit numbers."""
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int32)[array.offset : array.offset + len(array) + 1]
    return offsets.astype(np.int64)
