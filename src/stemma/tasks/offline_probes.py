"""Probes that the project makes from the words of its own stories: what was learned of this language, not of English.

story-kinds     similarity: two words of one kind, such as two places at sea, score 1; two that share only the topic, or only
                the part of speech, score 0; as many of each. With two scores, no correlation is above 0.87
story-plurals   analogy: a noun is to its plural as another noun is to its plural
story-pairs     minimal pairs: sentences that the stories could have, and that they could not; see `offline_pairs`

Which words are asked is a function of the seed alone. A word of two kinds is in none.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Final, TypeVar

import numpy as np

from stemma.data.lexicon import COMMON, PEOPLE, TOPICS, plural
from stemma.errors import SettingsError
from stemma.tasks.offline_pairs import ask_story_pairs
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
    kinds = _kinds()
    names = sorted(kinds)
    while True:
        topic, part = names[int(rng.integers(len(names)))]
        first, second = _two(kinds[topic, part], rng)
        yield {"first": first, "second": second, "score": 1.0}
        near = [name for name in names if (name[0] == topic) != (name[1] == part)]
        other = kinds[near[int(rng.integers(len(near)))]]
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


def _kinds() -> dict[tuple[str, str], list[str]]:
    """The words of each topic and part of speech that stand for nothing else."""
    groups = {(name, part): words for name, topic in TOPICS.items() for part, words in asdict(topic).items()}
    others = [*asdict(COMMON).values(), PEOPLE]
    counts = Counter(word.lower() for words in (*groups.values(), *others) for word in words)
    return {kind: [word for word in words if counts[word] == 1] for kind, words in groups.items()}


_RECIPES: Final[dict[str, tuple[ProbeKind, Callable[[np.random.Generator], Iterator[Row]]]]] = {
    "story-kinds": ("similarity", _ask_kinds),
    "story-plurals": ("analogy", _ask_plurals),
    "story-pairs": ("minimal-pairs", ask_story_pairs),
}
