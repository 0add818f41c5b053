"""Passages of running text that the offline tasks are made from.

A passage is a few sentences of ordinary prose as words in small letters, with what the writer's capitals said kept apart: a
task that shows capitals would give its answers away.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from stemma.text.sentences import split_sentences

__all__ = ["Passage", "find_passages"]

_WORD: Final = re.compile(r"\w+(?:['’.-]\w+)*|[^\w\s]")
_MIN_WORDS: Final = 8
_MAX_WORDS: Final = 32
_MIN_PLAIN_SHARE: Final = 0.8  # of a sentence's tokens are words of letters: no table, formula or list
_BEFORE_A_CAPITAL: Final = frozenset("\"“‘':")  # after these, as at a sentence's start, a capital need not mean a name


@dataclass(frozen=True, slots=True)
class Passage:
    """Sentences in small letters; `names` says of each word whether it is written with a capital wherever it stands.

    `names` is None where that can't be told.
    """

    words: tuple[str, ...]
    names: tuple[bool, ...] | None
    lengths: tuple[int, ...]  # words of each sentence

    @property
    def sentences(self) -> list[str]:
        """The sentences as texts, with spaces between the words."""
        ends = itertools.accumulate(self.lengths)
        return [" ".join(self.words[end - length : end]) for end, length in zip(ends, self.lengths, strict=True)]


def find_passages(text: str, length: int = 1) -> Iterator[tuple[int, Passage]]:
    """The usable runs of `length` sentences of a document, none in two, each with the number of its first sentence."""
    known: dict[str, str] = {}  # each word once in memory, however often it stands in a long text
    sentences = [[known.setdefault(word, word) for word in _WORD.findall(part)] for part in split_sentences(text)]
    usual, capital = _count_cases(sentences)
    for number in range(0, len(sentences) - length + 1, length):
        run = sentences[number : number + length]
        if all(_is_prose(words) for words in run):
            names = [_find_names(words, usual, capital) for words in run]
            yield number, _join(run, names)


def _join(run: Sequence[Sequence[str]], names: Sequence[tuple[bool, ...] | None]) -> Passage:
    known = [of_sentence for of_sentence in names if of_sentence is not None]
    return Passage(
        words=tuple(word.lower() for words in run for word in words),
        names=tuple(itertools.chain(*known)) if len(known) == len(names) else None,
        lengths=tuple(len(words) for words in run),
    )


def _is_prose(words: Sequence[str]) -> bool:
    plain = sum(word.replace("-", "").replace("'", "").isalpha() and word.isascii() for word in words)
    ends = bool(words) and words[-1] == "." and words[0][0].isupper()
    return ends and _MIN_WORDS <= len(words) <= _MAX_WORDS and plain >= _MIN_PLAIN_SHARE * len(words)


def _count_cases(sentences: Sequence[Sequence[str]]) -> tuple[Counter[str], Counter[str]]:
    """How often each word stands with a small letter, and with a capital, where that is the writer's choice."""
    usual: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for words in sentences:
        for at, word in enumerate(words):
            if not _is_forced(words, at):
                (capital if word[0].isupper() else usual)[word.lower()] += 1
    return usual, capital


def _is_forced(words: Sequence[str], at: int) -> bool:
    return at == 0 or words[at - 1] in _BEFORE_A_CAPITAL


def _find_names(words: Sequence[str], usual: Counter[str], capital: Counter[str]) -> tuple[bool, ...] | None:
    """Which words bear a capital of their own; a forced one is judged by the rest of the document."""
    names = []
    for at, word in enumerate(words):
        small = word.lower()
        if not word[0].isupper() or small == "i":
            names.append(False)
        elif not _is_forced(words, at):
            names.append(True)
        elif usual[small] == capital[small] == 0:
            return None
        else:
            names.append(capital[small] > usual[small])
    return tuple(names)
