"""Minimal pairs in the language of the project's stories: a sentence that its grammar can write, and one that it can't.

number       three brown cows / cow                      there-is     there were three / there was three
article      a brown cow / an brown cow                  pronoun      Rose …, and then she / he …
order        the brown cow / the cow brown               neither-nor  neither Ada nor Bob / neither Ada or Bob

They say how well a model learned this language, not English: BLiMP, in its own files, asks for that.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

import numpy as np

from stemma.data.lexicon import COMMON, PEOPLE, TOPICS, TOWNS, Topic, plural
from stemma.tasks.probes import Row

__all__ = ["ask_story_pairs"]

T = TypeVar("T")


def ask_story_pairs(rng: np.random.Generator) -> Iterator[Row]:
    """Pairs of every paradigm in turn, without end."""
    while True:
        for paradigm, (phenomenon, write) in _PARADIGMS.items():
            good, bad = write(_Words(rng))
            yield {"paradigm": paradigm, "phenomenon": phenomenon, "good": _sentence(good), "bad": _sentence(bad)}


class _Words:
    """Draws words of one topic."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.topic: Topic = TOPICS[self.one(sorted(TOPICS))]

    def one(self, items: Sequence[T]) -> T:
        return items[int(self._rng.integers(len(items)))]

    @property
    def place(self) -> str:
        return f"{self.one(COMMON.prepositions)} the {self.one(self.topic.places)}"

    @property
    def several(self) -> str:
        return self.one([number for number in COMMON.numbers if number != "one"])

    def person(self) -> int:
        return int(self._rng.integers(len(PEOPLE)))


def _number(words: _Words) -> tuple[str, str]:
    noun = words.one(words.topic.nouns)
    begin, end = (
        f"there were {words.several} {words.one(words.topic.adjectives)}",
        f"{words.place} of {words.one(TOWNS)}",
    )
    return f"{begin} {plural(noun)} {end}", f"{begin} {noun} {end}"


def _there_is(words: _Words) -> tuple[str, str]:
    noun = plural(words.one(words.topic.nouns))
    rest = f"{words.several} {words.one(words.topic.adjectives)} {noun} {words.place} of {words.one(TOWNS)}"
    return f"there were {rest}", f"there was {rest}"


def _article(words: _Words) -> tuple[str, str]:
    adjective = words.one(words.topic.adjectives)
    right, wrong = ("an", "a") if adjective[0] in "aeiou" else ("a", "an")
    begin = f"{PEOPLE[words.person()]} {words.one(words.topic.actions)}"
    end = f"{adjective} {words.one(words.topic.nouns)} {words.place}"
    return f"{begin} {right} {end}", f"{begin} {wrong} {end}"


def _order(words: _Words) -> tuple[str, str]:
    adjective, noun = words.one(words.topic.adjectives), words.one(words.topic.nouns)
    begin, end = f"in {words.one(TOWNS)} the", f"{words.one(words.topic.motions)} {words.place}"
    return f"{begin} {adjective} {noun} {end}", f"{begin} {noun} {adjective} {end}"


def _pronoun(words: _Words) -> tuple[str, str]:
    """A person is one who is called she, or he, in all stories."""
    person, noun = words.person(), words.one(words.topic.nouns)
    forms = (("she", "her"), ("he", "his"))
    begin = f"{PEOPLE[person]} {words.one(words.topic.actions)} the {words.one(words.topic.nouns)}, and then"
    carried, town = words.one(COMMON.carried), words.one(TOWNS)
    ends = [f"{pronoun} {carried} {whose} {noun} home to {town}" for pronoun, whose in forms]
    right = person % 2
    return f"{begin} {ends[right]}", f"{begin} {ends[1 - right]}"


def _neither_nor(words: _Words) -> tuple[str, str]:
    first, second = PEOPLE[words.person()], PEOPLE[words.person()]
    end = f"{second} {words.one(words.topic.actions)} the {words.one(words.topic.nouns)} {words.place}"
    return f"neither {first} nor {end}", f"neither {first} or {end}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


_PARADIGMS: Final[dict[str, tuple[str, Callable[[_Words], tuple[str, str]]]]] = {
    "number": ("agreement", _number),
    "there-is": ("agreement", _there_is),
    "article": ("determiners", _article),
    "order": ("order", _order),
    "pronoun": ("anaphora", _pronoun),
    "neither-nor": ("coordination", _neither_nor),
}
