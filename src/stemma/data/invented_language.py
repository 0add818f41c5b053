"""Sentences with their translation into an invented language: parallel text that needs no licence, and that a grammar decides.

English is of the stories' words. The other language puts the place first and the verb last, adjectives and numbers behind
their noun, and prepositions behind that. Articles are endings of nouns, as are the plural and who does what to whom; the verb
says whether one or two did it. Words have stems of their own, names stay. So to translate is to reorder and to inflect, and
there is one right answer. What a model scores here says how well it learned this, not how well it translates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeVar

import numpy as np

from stemma.data.documents import Document
from stemma.data.lexicon import COMMON, PEOPLE, TOPICS, TOWNS, Topic, plural

__all__ = ["write_pairs"]

T = TypeVar("T")
_SUBJECT, _OBJECT, _RECEIVER, _PLACE = "a", "em", "os", "ir"  # endings by case
_SEVERAL, _KNOWN = "un", "ta"  # endings of the plural, and for what English calls `the`
_VERB, _VERB_OF_TWO = "ek", "ekan"
_SYLLABLES: Final = tuple(consonant + vowel for consonant in "bdfgjklmnprstvz" for vowel in "aeiou")


def write_pairs(number: int, seed: int) -> Iterator[Document]:
    """Write pairs, a line each side; each pair is a function of the seed and its own number."""
    for at in range(number):
        writer = _Writer(np.random.default_rng([seed, at]))
        pair = writer.pair()
        yield Document(key=str(at), title="", text="\n".join(f"{side[0].upper()}{side[1:]}." for side in pair))


@dataclass(frozen=True)
class _Thing:
    """A thing, or several."""

    noun: str
    adjective: str | None
    number: str | None = None  # two or more; none is one

    def english(self, *, known: bool) -> str:
        words = [self.adjective] if self.adjective else []
        if self.number:
            return " ".join([self.number, *words, plural(self.noun)])
        words.append(self.noun)
        article = "the" if known else "an" if words[0][0] in "aeiou" else "a"
        return " ".join([article, *words])

    def invented(self, case: str, *, known: bool) -> str:
        noun = _stem(self.noun) + _SEVERAL * (self.number is not None) + _KNOWN * known + case
        behind = [_stem(word) for word in (self.adjective, self.number) if word]
        return " ".join([noun, *behind])


class _Writer:
    """The sentences of one topic, in both languages."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._topic: Topic = TOPICS[self._one(sorted(TOPICS))]

    def pair(self) -> tuple[str, str]:
        """A sentence and its translation, without capital and full stop."""
        return self._one([self._deed, self._deed, self._deed_of_two, self._motion, self._told, self._when])()

    def _deed(self) -> tuple[str, str]:
        who, (what, its), (where, there) = self._one(PEOPLE), self._thing(_OBJECT), self._place()
        verb = self._one(self._topic.actions)
        return f"{who} {verb} {what} {where}", f"{there} {who}{_SUBJECT} {its} {_stem(verb)}{_VERB}"

    def _deed_of_two(self) -> tuple[str, str]:
        first, second = self._rng.choice(len(PEOPLE), size=2, replace=False)
        who, other, town = PEOPLE[first], PEOPLE[second], self._one(TOWNS)
        verb, (what, its) = self._one(self._topic.actions), self._thing(_OBJECT)
        return (
            f"in {town} {who} and {other} {verb} {what}",
            f"{town}{_PLACE} {who}{_SUBJECT} {other}{_SUBJECT} {its} {_stem(verb)}{_VERB_OF_TWO}",
        )

    def _motion(self) -> tuple[str, str]:
        (what, its), (where, there) = self._thing(_SUBJECT), self._place()
        verb = self._one(self._topic.motions)
        return f"{what} {verb} {where}", f"{there} {its} {_stem(verb)}{_VERB}"

    def _told(self) -> tuple[str, str]:
        who, whom, verb, (what, its) = self._one(PEOPLE), self._one(PEOPLE), self._one(COMMON.said), self._motion()
        return (
            f"{who} {verb} {whom} that {what}",
            f"{who}{_SUBJECT} {whom}{_RECEIVER}, {its}, {_stem(verb)}{_VERB}",
        )

    def _when(self) -> tuple[str, str]:
        (what, its), (then, after), time = self._motion(), self._deed(), self._one(COMMON.times)
        return f"{time} {what}, {then}", f"{its} {_stem(time)}, {after}"

    def _thing(self, case: str) -> tuple[str, str]:
        adjective = self._one(self._topic.adjectives) if self._rng.random() < 0.5 else None
        number = self._one(COMMON.numbers[1:]) if case == _OBJECT and self._rng.random() < 0.3 else None
        thing = _Thing(self._one(self._topic.nouns), adjective, number)
        known = number is None and bool(self._rng.random() < 0.5)
        return thing.english(known=known), thing.invented(case, known=known)

    def _place(self) -> tuple[str, str]:
        place, preposition = self._one(self._topic.places), self._one(COMMON.prepositions)
        return f"{preposition} the {place}", f"{_stem(place)}{_KNOWN}{_PLACE} {_stem(preposition)}"

    def _one(self, items: Sequence[T]) -> T:
        return items[int(self._rng.integers(len(items)))]


def _stem(word: str) -> str:
    """The invented word: two or three syllables, another for every word of the lexicon."""
    return _stems()[word]


@cache
def _stems() -> dict[str, str]:
    topics = (
        words for topic in TOPICS.values() for words in (topic.nouns, topic.actions, topic.motions, topic.adjectives)
    )
    places = (topic.places for topic in TOPICS.values())
    common = (COMMON.prepositions, COMMON.numbers, COMMON.times, COMMON.said)
    every = sorted({word for words in (*topics, *places, *common) for word in words})
    stems = {}
    for number, word in enumerate(every):
        at = number * 7919 % len(_SYLLABLES) ** 2  # walks all pairs of syllables before it meets one again
        first, second = divmod(at, len(_SYLLABLES))
        third = _SYLLABLES[number * 31 % len(_SYLLABLES)] if number % 3 == 0 else ""
        stems[word] = _SYLLABLES[first] + _SYLLABLES[second] + third
    return stems
