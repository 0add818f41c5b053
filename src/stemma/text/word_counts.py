"""How often each word of a corpus occurs, exactly and in bounded memory.

Words of a chunk are told apart by hash, on arrays; only distinct ones become strings. When more of those have gathered than
memory allows, they go to disk as a sorted run, and the runs are merged at the end.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

import numpy as np

from stemma.text.words import find_words, split_chunks

__all__ = ["MAX_WORD_CHARACTERS", "WordCount", "WordCounter"]

BYTES_PER_WORD: Final = 256  # of a string, its count and its place in two dicts
MAX_WORD_CHARACTERS: Final = 100  # a longer one is unknown to every tokenizer here
WordCount = tuple[str, int]


class WordCounter:
    """Counts words after `split_word` has made them what a tokenizer sees: none, one or more pieces."""

    def __init__(self, folder: Path, *, memory: int, split_word: Callable[[str], tuple[str, ...]]) -> None:
        self._folder, self._split_word = folder, split_word
        self._capacity = max(1000, memory // BYTES_PER_WORD)
        self._counts: dict[str, int] = {}
        self._pieces: dict[str, tuple[str, ...]] = {}
        self._runs: list[Path] = []

    def add(self, text: str) -> None:
        """Count the words of a text."""
        for chunk in split_chunks(text):
            words = find_words(chunk)
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
        return heapq.nsmallest(num_words, self._merged(), key=lambda item: (-item[1], item[0]))

    def _pieces_of(self, word: str) -> tuple[str, ...]:
        pieces = self._pieces.get(word)
        if pieces is None:
            if len(self._pieces) >= self._capacity:
                self._pieces.clear()
            pieces = self._pieces[word] = self._split_word(word)
        return pieces

    def _spill(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"words-{len(self._runs):05d}"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{word}\t{count}\n" for word, count in sorted(self._counts.items()))
        self._runs.append(path)
        self._counts = {}

    def _merged(self) -> Iterator[WordCount]:
        runs = [*map(_read_run, self._runs), iter(sorted(self._counts.items()))]
        for word, items in groupby(heapq.merge(*runs), key=itemgetter(0)):
            yield word, _total(items)


def _total(items: Iterable[WordCount]) -> int:
    return sum(count for _, count in items)


def _read_run(path: Path) -> Iterator[WordCount]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            word, _, count = line.rpartition("\t")
            yield word, int(count)
