"""Probes that the project makes from the words of its own stories: what vectors learned of this language, not of English.

story-kinds     similarity: two words of one kind (nouns of the farm, numbers, towns) score 1, of two kinds 0; as many of each
story-plurals   analogy: a noun is to its plural as another noun is to its plural

Which words are asked is a function of the seed alone. A word that stands in two kinds is in none.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Final, TypeVar

import numpy as np

from stemma.data.lexicon import COMMON, PEOPLE, TOPICS, TOWNS, plural
from stemma.errors import SettingsError
from stemma.tasks.probes import ProbeKind, Row

__all__ = ["make_probe"]

T = TypeVar("T")
_MAX_REPEATS: Final = 500


def make_probe(recipe: str, kind: ProbeKind, questions: int, seed: int) -> list[Row]:
    """Different questions by a recipe, as many as asked."""
    if recipe not in _RECIPES:
        raise SettingsError(f"no recipe {recipe!r}; there are {', '.join(sorted(_RECIPES))}")
    made, ask = _RECIPES[recipe]
    if made != kind:
        raise SettingsError(f"recipe {recipe!r} makes a probe of kind {made!r}, not {kind!r}")
    found: dict[tuple[object, ...], Row] = {}
    repeats = 0  # one after the other
    for row in ask(np.random.default_rng([seed, *recipe.encode()])):
        repeats = repeats + 1 if tuple(row.values()) in found else 0
        found.setdefault(tuple(row.values()), row)
        if len(found) == questions:
            break
        if repeats == _MAX_REPEATS:
            raise SettingsError(f"recipe {recipe!r} has no {questions} different questions; ask for fewer")
    return list(found.values())


def _ask_kinds(rng: np.random.Generator) -> Iterator[Row]:
    """Pairs of one kind and of two in turn, without end."""
    kinds = [words for words in _kinds() if len(words) > 1]
    while True:
        one, other = _two(kinds, rng)
        first, second = _two(one, rng)
        yield {"first": first, "second": second, "score": 1.0}
        yield {"first": first, "second": other[int(rng.integers(len(other)))], "score": 0.0}


def _ask_plurals(rng: np.random.Generator) -> Iterator[Row]:
    nouns = sorted({noun for topic in TOPICS.values() for noun in topic.nouns})
    while True:
        first, third = _two(nouns, rng)
        yield {"section": "plurals", "first": first, "second": plural(first), "third": third, "answer": plural(third)}


def _two(items: Sequence[T], rng: np.random.Generator) -> tuple[T, T]:
    """Two different ones."""
    first, second = rng.integers(len(items)), rng.integers(len(items) - 1)
    return items[int(first)], items[int(second + (second >= first))]


def _kinds() -> list[list[str]]:
    """The words of each kind that are of no other, small letters or not."""
    groups = [*(words for topic in TOPICS.values() for words in asdict(topic).values()), *asdict(COMMON).values()]
    groups += [PEOPLE, TOWNS]
    counts = Counter(word.lower() for words in groups for word in words)
    return [[word for word in words if counts[word.lower()] == 1 and " " not in word] for words in groups]


_RECIPES: Final[dict[str, tuple[ProbeKind, Callable[[np.random.Generator], Iterator[Row]]]]] = {
    "story-kinds": ("similarity", _ask_kinds),
    "story-plurals": ("analogy", _ask_plurals),
}
