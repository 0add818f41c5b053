"""How a passage becomes a task's rows: what each recipe asks for, and where its labels come from.

All text is in small letters with spaces between the words, so that neither capitals nor spacing tell an answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from stemma.protocols import HeadKind
from stemma.tasks.offline_passages import Passage

__all__ = ["RECIPES", "Recipe"]

Row = dict[str, Any]
_WINDOW: Final = 5  # words that a scrambled sentence has in another order
_MIN_INSERTED: Final = 4
_MAX_INSERTED: Final = 7
_QUESTION: Final = "which words come from another text ?"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A kind of task, its labels, and how rows are made: `make` gets a passage, one of another document, and draws."""

    kind: HeadKind
    labels: tuple[str, ...]
    rows_per_passage: int
    is_usable: Callable[[Passage], bool]
    make: Callable[[Passage, Passage, np.random.Generator], list[Row]]


def make_word_order(passage: Passage, _: Passage, rng: np.random.Generator) -> list[Row]:
    """Is this English word order? Every sentence comes twice, once with a few neighbouring words shuffled.

    The two have the same words and different labels, so that no bag of words tells them apart. Asks for a sense of which
    word may follow which.
    """
    words = list(passage.words)
    start = int(rng.choice(_windows(passage)))
    window = words[start : start + _WINDOW]
    moved = window
    while moved == window:
        moved = [window[at] for at in rng.permutation(_WINDOW)]
    scrambled = words[:start] + moved + words[start + _WINDOW :]
    rows = [
        {"text": " ".join(words), "text_pair": None, "label": "natural"},
        {"text": " ".join(scrambled), "text_pair": None, "label": "scrambled"},
    ]
    return [rows[at] for at in rng.permutation(2)]


def make_inserted(passage: Passage, other: Passage, rng: np.random.Generator) -> list[Row]:
    """Which words do not belong here? A stretch of a sentence of another document stands in the middle of this one.

    Asks for a sense of topic and of how a sentence goes on; the question is always the same.
    """
    length = int(rng.integers(_MIN_INSERTED, _MAX_INSERTED + 1))
    starts = _stretches(other, length)
    stretch = " ".join(other.words[(start := int(rng.choice(starts))) : start + length])
    at = int(rng.choice(_places(passage)))
    before, behind = " ".join(passage.words[:at]), " ".join(passage.words[at:])
    answer = {"text": stretch, "start": len(before) + 1}
    return [{"context": f"{before} {stretch} {behind}", "question": _QUESTION, "answers": [answer]}]


def make_names(passage: Passage, _: Passage, rng: np.random.Generator) -> list[Row]:  # noqa: ARG001  one shape for all
    """Which words does English write with a capital? A run of them is a name; the text shows none.

    The labels are the writer's own capitals. Asks for what kind of word each is, also of words not seen in tuning.
    """
    assert passage.names is not None
    tags, inside = [], False
    for is_name in passage.names:
        tags.append(("I-NAME" if inside else "B-NAME") if is_name else "O")
        inside = is_name
    return [{"tokens": list(passage.words), "tags": tags}]


def _windows(passage: Passage) -> Sequence[int]:
    """Where a window may begin: inside the sentence, without punctuation, and with at least two different words."""
    return [
        start
        for start in range(len(passage.words) - _WINDOW)
        if len(set(window := passage.words[start : start + _WINDOW])) > 1 and all(_is_word(word) for word in window)
    ]


def _stretches(passage: Passage, length: int) -> Sequence[int]:
    """Where a stretch of words without punctuation begins."""
    return [
        start
        for start in range(len(passage.words) - length)
        if all(_is_word(word) for word in passage.words[start : start + length])
    ]


def _places(passage: Passage) -> Sequence[int]:
    """Where a stretch may be put: inside the sentence, between two words."""
    words = passage.words
    return [at for at in range(2, len(words) - 1) if _is_word(words[at - 1]) and _is_word(words[at])]


def _is_word(word: str) -> bool:
    return word[0].isalnum()


def _has_window(passage: Passage) -> bool:
    return bool(_windows(passage))


def _has_stretch_and_place(passage: Passage) -> bool:
    return bool(_stretches(passage, _MAX_INSERTED)) and bool(_places(passage))


def _has_names(passage: Passage) -> bool:
    return passage.names is not None and any(passage.names)


RECIPES: Final[dict[str, Recipe]] = {
    "word-order": Recipe(
        kind="classification",
        labels=("scrambled", "natural"),
        rows_per_passage=2,
        is_usable=_has_window,
        make=make_word_order,
    ),
    "inserted": Recipe(
        kind="span", labels=(), rows_per_passage=1, is_usable=_has_stretch_and_place, make=make_inserted
    ),
    "names": Recipe(
        kind="tagging",
        labels=("O", "B-NAME", "I-NAME"),
        rows_per_passage=1,
        is_usable=_has_names,
        make=make_names,
    ),
}
