"""How often each word of a corpus occurs, exactly and in bounded memory.

Words of a chunk are told apart by hash, on arrays; only distinct ones become strings. When more of those have gathered than
memory allows, they go to disk as a sorted run, and the runs are merged at the end, a few at a time: no more files are open
than that, however many runs there are.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

import numpy as np

from stemma.text.words import find_words, split_chunks

__all__ = ["MAX_WORD_CHARACTERS", "WordCount", "WordCounter"]

BYTES_PER_WORD: Final = 256  # of a string, its count and its place in a dict, and its share of the words remembered
MAX_WORD_CHARACTERS: Final = 100  # a longer one is unknown to every tokenizer here
MERGED_AT_ONCE: Final = 16
WordCount = tuple[str, int]


class WordCounter:
    """Counts words after `split_word` has made them what a tokenizer sees: none, one or more pieces."""

    def __init__(
        self, folder: Path, *, memory: int, split_word: Callable[[str], tuple[str, ...]], at_spaces: bool = False
    ) -> None:
        self._folder, self._split_word, self._at_spaces = folder, split_word, at_spaces
        self._capacity = max(1000, memory // BYTES_PER_WORD)
        self._counts: dict[str, int] = {}
        self._pieces: dict[str, tuple[str, ...]] = {}
        self._runs: list[Path] = []
        self._num_written = 0

    def add(self, text: str) -> None:
        """Count the words of a text."""
        for chunk in split_chunks(text):
            words = find_words(chunk, at_spaces=self._at_spaces)
            _, first, counts = np.unique(words.hashes, return_index=True, return_counts=True)
            places = zip(words.starts[first].tolist(), words.ends[first].tolist(), counts.tolist(), strict=True)
            for start, end, count in places:
                if end - start <= MAX_WORD_CHARACTERS:
                    for piece in self._pieces_of(chunk[start:end]):
                        self._counts[piece] = self._counts.get(piece, 0) + count
            if len(self._counts) > self._capacity:
                self._spill()

    def most_frequent(self, num_words: int) -> list[WordCount]:
        """The most frequent words by falling count, and those of equal count by the alphabet."""
        self._spill()
        self._pieces.clear()
        while len(self._runs) > MERGED_AT_ONCE:
            self._merge_some()
        lowest = heapq.nsmallest(num_words, ((-count, word) for word, count in _merge(self._runs)))
        return [(word, -count) for count, word in lowest]

    def _pieces_of(self, word: str) -> tuple[str, ...]:
        pieces = self._pieces.get(word)
        if pieces is None:
            if len(self._pieces) >= self._capacity // 4:
                self._pieces.clear()
            pieces = self._pieces[word] = self._split_word(word)
        return pieces

    def _spill(self) -> None:
        if self._counts:
            self._runs.append(self._write(sorted(self._counts.items())))
            self._counts.clear()

    def _merge_some(self) -> None:
        """Fewer, longer runs."""
        merged = []
        for begin in range(0, len(self._runs), MERGED_AT_ONCE):
            some = self._runs[begin : begin + MERGED_AT_ONCE]
            merged.append(self._write(_merge(some)))
            for path in some:
                path.unlink()
        self._runs = merged

    def _write(self, words: Iterable[WordCount]) -> Path:
        """A run of sorted words, in a file of its own."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"words-{self._num_written:05d}"
        self._num_written += 1
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{word}\t{count}\n" for word, count in words)
        return path


def _merge(runs: Sequence[Path]) -> Iterator[WordCount]:
    for word, items in groupby(heapq.merge(*map(_read_run, runs)), key=itemgetter(0)):
        yield word, sum(count for _, count in items)


def _read_run(path: Path) -> Iterator[WordCount]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            word, _, count = line.rpartition("\t")
            yield word, int(count)
