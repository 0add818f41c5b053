"""Stories from a small grammar: text that a small model can learn in minutes, and that no licence binds.

Each story has a topic, a town, a firm and a few people, and stays with them; its sentences follow a grammar of agreement,
reference and word choice over a lexicon of about six hundred words and a few hundred invented names. Real prose has a far
longer tail: what a model shows here says how well it learned this language, not English.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from stemma.data.documents import Document
from stemma.data.lexicon import COMMON, FIRMS, PEOPLE, TOPICS, TOWNS, Topic, plural

__all__ = ["write_stories"]

T = TypeVar("T")
_MIN_SENTENCES: Final = 14
_MAX_SENTENCES: Final = 26


def write_stories(number: int, seed: int) -> Iterator[Document]:
    """Write stories; each is a function of the seed and its own number."""
    for at in range(number):
        rng = np.random.default_rng([seed, at])
        story = _Story(rng)
        count = int(rng.integers(_MIN_SENTENCES, _MAX_SENTENCES + 1))
        sentences = [story.sentence() for _ in range(count)]
        paragraphs = [" ".join(sentences[start : start + 6]) for start in range(0, count, 6)]
        yield Document(key=str(at), title=story.title, text="\n\n".join(paragraphs))


@dataclass(frozen=True, slots=True)
class _Person:
    name: str
    she: bool

    @property
    def pronoun(self) -> str:
        return "she" if self.she else "he"

    @property
    def possessive(self) -> str:
        return "her" if self.she else "his"


class _Story:
    """One story's world, and the sentences that are said of it."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._topic: Topic = TOPICS[self._one(sorted(TOPICS))]
        people = rng.choice(len(PEOPLE), size=4, replace=False)
        self._people = [_Person(PEOPLE[at], she=at % 2 == 0) for at in people]
        self._town, self._firm = self._one(TOWNS), self._one(FIRMS)
        self._patterns: list[Callable[[], str]] = [
            self._plain,
            self._plain,
            self._where,
            self._who_lives,
            self._when,
            self._told,
            self._there_were,
            self._because,
            self._firm_sold,
            self._neither,
            self._compared,
            self._pronoun_follows,
            self._every,
        ]
        self.title = f"{self._people[0].name} of {self._town}"

    def sentence(self) -> str:
        """A sentence with a capital and a full stop."""
        text = self._one(self._patterns)()
        return f"{text[0].upper()}{text[1:]}."

    def _plain(self) -> str:
        return f"{self._person().name} {self._action()} {self._place()}"

    def _where(self) -> str:
        return (
            f"in {self._town} the {self._one(self._topic.adjectives)} {self._noun()} {self._motion()} {self._place()}"
        )

    def _who_lives(self) -> str:
        person = self._person()
        return f"{person.name}, who {self._one(COMMON.lived)} in {self._town}, {self._action()}"

    def _when(self) -> str:
        before = f"{self._one(COMMON.times)} {self._thing()} {self._motion()} {self._place()}"
        return f"{before}, {self._person().name} {self._action()}"

    def _told(self) -> str:
        first, second = self._two()
        return (
            f"{first.name} {self._one(COMMON.said)} {second.name} that {self._thing()} {self._motion()} {self._place()}"
        )

    def _there_were(self) -> str:
        number, noun = self._one(COMMON.numbers), self._noun()
        if number == "one":
            return f"there was one {self._one(self._topic.adjectives)} {noun} {self._place()} of {self._town}"
        return f"there were {number} {self._one(self._topic.adjectives)} {plural(noun)} {self._place()} of {self._town}"

    def _because(self) -> str:
        first, second = self._two()
        return f"{first.name} and {second.name} {self._action()} because {self._thing()} was {self._one(COMMON.states)}"

    def _firm_sold(self) -> str:
        number = self._one(COMMON.numbers[1:])
        goods = f"{number} {plural(self._noun())}"
        return f"{self._firm} of {self._town} {self._one(COMMON.traded)} {goods} to {self._person().name}"

    def _neither(self) -> str:
        first, second = self._two()
        return f"neither {first.name} nor {second.name} {self._action()} {self._place()}"

    def _compared(self) -> str:
        owned = f"the {self._noun()} of {self._person().name}"
        return f"{owned} was {self._one(COMMON.comparatives)} than {self._thing()} of {self._town}"

    def _pronoun_follows(self) -> str:
        person = self._person()
        burden = f"{person.possessive} {self._noun()}"
        then = f"{person.pronoun} {self._one(COMMON.carried)} {burden} home to {self._town}"
        return f"{person.name} {self._action()}, and then {then}"

    def _every(self) -> str:
        return f"every {self._one(COMMON.days)} {self._firm} {self._one(COMMON.asked)} {self._person().name} for {self._thing()}"

    def _action(self) -> str:
        return f"{self._one(self._topic.actions)} {self._thing()}"

    def _motion(self) -> str:
        return self._one(self._topic.motions)

    def _place(self) -> str:
        return f"{self._one(COMMON.prepositions)} the {self._one(self._topic.places)}"

    def _thing(self) -> str:
        noun = self._noun()
        if self._rng.random() < 0.5:
            return f"the {noun}"
        adjective = self._one(self._topic.adjectives)
        return f"{_article(adjective)} {adjective} {noun}"

    def _noun(self) -> str:
        return self._one(self._topic.nouns)

    def _person(self) -> _Person:
        return self._people[int(self._rng.integers(len(self._people)))]

    def _two(self) -> tuple[_Person, _Person]:
        first, second = self._rng.choice(len(self._people), size=2, replace=False)
        return self._people[first], self._people[second]

    def _one(self, items: Sequence[T]) -> T:
        return items[int(self._rng.integers(len(items)))]


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"
