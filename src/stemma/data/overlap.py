"""How much of an evaluation set stands in a training corpus: rows that share a run of words with it.

The evaluation set's n-grams are held as sorted 64-bit hashes, a block within the memory limit at a time, and the corpus
streams past each block; so memory grows neither with the corpus nor with the evaluation sets.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["EvaluationRows", "hash_ngrams", "overlapping_rows"]

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]

_NOT_IN_WORDS = r"[^\p{L}\p{M}\p{N}]+"
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of an earlier word is lost
_BYTES_PER_NGRAM = 64  # hash, row, sorted copy, order and inverse, with room to sort


@dataclass(frozen=True)
class EvaluationRows:
    """Which rows of an evaluation set are found in a corpus, and which are long enough to be looked for."""

    measured: npt.NDArray[np.bool_]
    found: npt.NDArray[np.bool_]


@dataclass
class _Block:
    hashes: list[Hashes] = field(default_factory=list)
    rows: list[Rows] = field(default_factory=list)
    num_ngrams: int = 0

    def add(self, hashes: Hashes, rows: Rows) -> None:
        self.hashes.append(hashes)
        self.rows.append(rows)
        self.num_ngrams += len(hashes)


def hash_ngrams(texts: pa.Array | pa.ChunkedArray, length: int) -> tuple[Hashes, Rows]:
    """A hash of every run of `length` words (letters and digits, in lower case) of each text, and the text's position."""
    words, rows = _hash_words(texts)
    num_ngrams = len(words) - length + 1
    if num_ngrams <= 0:
        return np.empty(0, np.uint64), np.empty(0, np.int64)
    hashes = np.zeros(num_ngrams, np.uint64)
    for offset in range(length):
        hashes = hashes * _MULTIPLIER + words[offset : offset + num_ngrams]
    inside = rows[:num_ngrams] == rows[length - 1 :]  # a run does not cross from one text into the next
    return hashes[inside], rows[:num_ngrams][inside]


def overlapping_rows(
    evaluation: Iterable[tuple[Hashes, Rows]],
    num_rows: int,
    read_corpus: Callable[[], Iterator[Hashes]],
    memory_limit: int,
) -> EvaluationRows:
    """Find `num_rows` evaluation rows, given as n-grams with row numbers, in a corpus, which is read once a block."""
    result = EvaluationRows(np.zeros(num_rows, np.bool_), np.zeros(num_rows, np.bool_))
    for block in _blocks(evaluation, max(memory_limit // _BYTES_PER_NGRAM, 1)):
        rows = np.concatenate(block.rows)
        distinct, inverse = np.unique(np.concatenate(block.hashes), return_inverse=True)
        seen = np.zeros(len(distinct), np.bool_)
        for hashes in read_corpus():
            places = np.minimum(np.searchsorted(distinct, hashes), len(distinct) - 1)
            seen[places[distinct[places] == hashes]] = True
        result.measured[rows] = True
        result.found[rows[seen[inverse]]] = True
    return result


def _blocks(evaluation: Iterable[tuple[Hashes, Rows]], max_ngrams: int) -> Iterator[_Block]:
    block = _Block()
    for hashes, rows in evaluation:
        for start in range(0, len(hashes), max_ngrams):
            part = slice(start, start + max_ngrams)
            if block.num_ngrams and block.num_ngrams + len(hashes[part]) > max_ngrams:
                yield block
                block = _Block()
            block.add(hashes[part], rows[part])
    if block.num_ngrams:
        yield block


def _hash_words(texts: pa.Array | pa.ChunkedArray) -> tuple[Hashes, Rows]:
    """A hash of every word and the position of its text; each different word is hashed once."""
    split = pc.split_pattern_regex(pc.utf8_lower(texts), _NOT_IN_WORDS)
    rows = pc.list_parent_indices(split)
    words = pc.list_flatten(split)
    if isinstance(words, pa.ChunkedArray):
        words, rows = words.combine_chunks(), rows.combine_chunks()
    filled = pc.not_equal(words, "")
    encoded = words.filter(filled).dictionary_encode()
    table = np.array([_hash_word(word) for word in encoded.dictionary.to_pylist()], np.uint64)
    positions = rows.filter(filled).to_numpy(zero_copy_only=False).astype(np.int64)
    return table[encoded.indices.to_numpy(zero_copy_only=False)], positions


def _hash_word(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
