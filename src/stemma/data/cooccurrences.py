"""How often words stand near each other, for more pairs than memory holds.

Two words of a sentence that are at most `window` words apart count, in both orders, either 1 or 1 / their distance, as in
GloVe. Ids below `first_word` (markers, unknown words) are left out first, so that a window reaches over them, as gensim's
does. Sums are exact: weights are whole numbers, the least common multiple of all distances divided by each. So neither
blocks nor memory nor threads change a bit of the result, which lies on disk. Left out on purpose: windows that reach
over the end of a sentence, and one-sided ones.
"""

import math
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from stemma.data.record_sort import Columns, RecordSorter, cut_rows
from stemma.data.sentence_blocks import SentenceBlock, cut, read_blocks
from stemma.data.token_store import TokenStore
from stemma.data.workspace import data_threads, memory_limit
from stemma.errors import TrainingError
from stemma.progress import Progress

__all__ = ["MAX_WINDOW", "Cooccurrences", "Weighting", "count_cooccurrences", "count_stored"]

Weighting = Literal["flat", "harmonic"]  # 1 a pair, or 1 / distance
Keys = npt.NDArray[np.uint64]
MAX_WINDOW: Final = 20  # the least common multiple of 1 to 20 leaves room for 2 ** 36 times a pair in 64 bits

_SORT_SHARE: Final = 0.6  # of the memory; the rest is for the pairs of a block and the pass over the merged ones
_BLOCK_BYTES: Final = 512  # for a token of a block, or a merged pair, while it is worked on


@dataclass(frozen=True, kw_only=True)
class Cooccurrences:
    """A symmetric matrix of counts by rows (CSR), what is not 0 alone; columns and values are memory-mapped."""

    offsets: npt.NDArray[np.int64]  # (words + 1,): where each row's entries begin, and the end
    columns: npt.NDArray[np.int32]  # (entries,), rising within a row
    values: npt.NDArray[np.float64]  # (entries,)

    @property
    def num_words(self) -> int:
        """Rows, and columns."""
        return len(self.offsets) - 1

    @property
    def num_entries(self) -> int:
        """Pairs of words that stand together at all, each in both orders."""
        return len(self.values)

    def select(self, entries: npt.NDArray[np.int64]) -> "Cooccurrences":
        """Some entries, whose numbers rise, as a matrix of their own."""
        offsets = np.searchsorted(entries, self.offsets)
        return Cooccurrences(offsets=offsets, columns=self.columns[entries], values=self.values[entries])


def count_cooccurrences(
    blocks: Iterable[SentenceBlock],
    scratch: Path,
    *,
    first_word: int,
    num_words: int,
    window: int,
    weighting: Weighting,
    memory: int,
    threads: int = 1,
) -> Cooccurrences:
    """Count the pairs of some sentences; `scratch` holds the result's files, and is emptied first."""
    assert 1 <= window <= MAX_WINDOW
    shutil.rmtree(scratch, ignore_errors=True)
    packing = _Packing(num_words, window if weighting == "harmonic" else 1)
    sorter = RecordSorter(
        scratch / "runs", widths=(packing.bits,), tally=True, memory=int(memory * _SORT_SHARE), threads=threads
    )
    piece = max(1, memory // _BLOCK_BYTES)
    for block in cut(blocks, piece):
        for distance, left, right in _pairs(block, first_word, window):
            sorter.add(packing.pack(left, right, distance))
            sorter.add(packing.pack(right, left, distance))
    summed = _sum_distances(cut_rows(sorter.blocks(), piece), packing)
    return _write(summed, packing, scratch)


def count_stored(
    tokens: Path,
    scratch: Path,
    *,
    first_word: int,
    num_words: int,
    window: int,
    weighting: Weighting,
    progress: Progress,
) -> Cooccurrences:
    """Count the pairs of a token store, within what the environment allows of memory and threads."""
    counts = count_cooccurrences(
        read_blocks(TokenStore.open(tokens), "counting", progress),
        scratch,
        first_word=first_word,
        num_words=num_words,
        window=window,
        weighting=weighting,
        memory=memory_limit(),
        threads=data_threads(),
    )
    if not counts.num_entries:
        raise TrainingError(f"{tokens}: no two known words stand together in a sentence; add text to the corpus")
    return counts


@dataclass(frozen=True)
class _Packing:
    """How a pair of words and their distance are laid into 64 bits, the row on top; of distances of one weight, none is."""

    num_words: int
    num_distances: int

    @property
    def word_bits(self) -> int:
        return (self.num_words - 1).bit_length()

    @property
    def distance_bits(self) -> int:
        return (self.num_distances - 1).bit_length()

    @property
    def bits(self) -> int:
        return 2 * self.word_bits + self.distance_bits

    @property
    def unit(self) -> int:
        """What a pair of neighbours adds to a sum."""
        return math.lcm(*range(1, self.num_distances + 1))

    def pack(self, rows: Keys, columns: Keys, distance: int) -> Keys:
        keys = rows << np.uint64(self.word_bits)
        keys |= columns
        keys <<= np.uint64(self.distance_bits)
        if self.num_distances > 1:
            keys |= np.uint64(distance - 1)
        return keys

    def split(self, keys: Keys) -> tuple[Keys, Keys]:
        """The pairs, still packed, and what each adds to its sum."""
        weights = np.array([self.unit // distance for distance in range(1, self.num_distances + 1)], np.uint64)
        distances = keys & np.uint64((1 << self.distance_bits) - 1)
        return keys >> np.uint64(self.distance_bits), weights[distances]

    def unpack(self, pairs: Keys) -> tuple[Keys, Keys]:
        """Rows and columns."""
        return pairs >> np.uint64(self.word_bits), pairs & np.uint64((1 << self.word_bits) - 1)


def _pairs(block: SentenceBlock, first_word: int, window: int) -> Iterator[tuple[int, Keys, Keys]]:
    """For each distance: the left and the right words of all pairs so far apart."""
    ids, offsets = block
    is_word = ids >= first_word
    words = ids[is_word].astype(np.uint64) - np.uint64(first_word)
    sentences = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[is_word]
    for distance in range(1, window + 1):
        together = sentences[distance:] == sentences[:-distance]
        yield distance, words[:-distance][together], words[distance:][together]


def _sum_distances(blocks: Iterable[Columns], packing: _Packing) -> Iterator[Columns]:
    """Each pair once, in order, with its sum. The last of a block is kept back: the next may hold more of it."""
    held: Columns = (np.empty(0, np.uint64), np.empty(0, np.uint64))
    for keys, counts in blocks:
        pairs, weights = packing.split(keys)
        pairs, addends = np.concatenate([held[0], pairs]), np.concatenate([held[1], counts * weights])
        starts = np.concatenate([[0], np.flatnonzero(pairs[1:] != pairs[:-1]) + 1])
        pairs, sums = pairs[starts], np.add.reduceat(addends, starts)
        held = pairs[-1:], sums[-1:]
        yield pairs[:-1], sums[:-1]
    yield held


def _write(blocks: Iterable[Columns], packing: _Packing, folder: Path) -> Cooccurrences:
    entries_of = np.zeros(packing.num_words, np.int64)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "columns").open("wb") as columns_file, (folder / "values").open("wb") as values_file:
        for pairs, sums in blocks:
            rows, columns = packing.unpack(pairs)
            entries_of += np.bincount(rows.view(np.int64), minlength=packing.num_words)
            columns.astype(np.int32).tofile(columns_file)
            (sums / packing.unit).tofile(values_file)
    return Cooccurrences(
        offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(entries_of)]),
        columns=_map(folder / "columns", np.int32),
        values=_map(folder / "values", np.float64),
    )


def _map(path: Path, dtype: type[np.generic]) -> npt.NDArray[Any]:
    return np.memmap(path, dtype, "r") if path.stat().st_size else np.empty(0, dtype)
