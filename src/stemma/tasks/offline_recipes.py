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
_LONG: Final = 4  # letters
_MIN_LONG_WORDS: Final = 4
_ODD_SHARE: Final = 0.2  # of the long words
_CHOICES: Final = ("first", "second", "third", "fourth")
_QUESTION: Final = "which words are out of order ?"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A kind of task, its labels, and how rows are made: `make` gets a passage, some of other documents, and draws."""

    kind: HeadKind
    labels: tuple[str, ...]
    sentences: int  # of a passage
    rows_per_passage: int
    is_usable: Callable[[Passage], bool]
    make: Callable[[Passage, Sequence[Passage], np.random.Generator], list[Row]]
    others: int = 1  # how many passages of other documents at most, no two of them of one


def _make_word_order(passage: Passage, _: Sequence[Passage], rng: np.random.Generator) -> list[Row]:
    """Is this English word order? Every sentence comes twice, once with a few neighbouring words shuffled.

    The two have the same words and different labels, so that no bag of words tells them apart. Asks for a sense of which
    word may follow which.
    """
    scrambled, _start = _scramble(passage, rng)
    rows = [
        {"text": " ".join(passage.words), "text_pair": None, "label": "natural"},
        {"text": " ".join(scrambled), "text_pair": None, "label": "scrambled"},
    ]
    return [rows[at] for at in rng.permutation(2)]


def _make_out_of_order(passage: Passage, _: Sequence[Passage], rng: np.random.Generator) -> list[Row]:
    """Which words are out of order? A few neighbouring words of one of two sentences are shuffled; they are the answer.

    The words are all the writer's own, so that only their order tells; the question is always the same.
    """
    words, start = _scramble(passage, rng)
    before = "".join(f"{word} " for word in words[:start])
    answer = {"text": " ".join(words[start : start + _WINDOW]), "start": len(before)}
    return [{"context": " ".join(words), "question": _QUESTION, "answers": [answer]}]


def _make_odd_words(passage: Passage, others: Sequence[Passage], rng: np.random.Generator) -> list[Row]:
    """Which words do not belong here? A few long words have given way to long words of another document.

    Asks whether each word fits its company: the odd ones are as ordinary as the rest.
    """
    words = list(passage.words)
    places = [at for at, word in enumerate(words) if _is_long(word)]
    strange = sorted({word for word in others[0].words if _is_long(word)} - set(words))
    number = min(max(1, round(_ODD_SHARE * len(places))), len(strange))
    replaced = sorted(rng.choice(places, size=number, replace=False).tolist())
    for at, word in zip(replaced, rng.permutation(strange)[:number].tolist(), strict=True):
        words[at] = word
    odd = [at in replaced for at in range(len(words))]
    return [{"tokens": words, "tags": _bio(odd, "ODD")}]


def _make_names(passage: Passage, _: Sequence[Passage], rng: np.random.Generator) -> list[Row]:  # noqa: ARG001  one shape for all
    """Which words does English write with a capital? A run of them is a name; the text shows none.

    The labels are the writer's own capitals. Asks for what kind of word each is, also of words not seen in tuning.
    """
    assert passage.names is not None
    return [{"tokens": list(passage.words), "tags": _bio(passage.names, "NAME")}]


def _make_next_sentence(passage: Passage, others: Sequence[Passage], rng: np.random.Generator) -> list[Row]:
    """Which of four sentences comes next? The other three are of other documents.

    A story stays with its people, town and topic, and so the next sentence is the one that does.
    """
    context, right = passage.sentences
    last, first = ([other.sentences[at] for other in others] for at in (-1, 0))
    return _choose(context, right, [*last, *first], rng)


def _make_right_ending(passage: Passage, others: Sequence[Passage], rng: np.random.Generator) -> list[Row]:
    """How does this sentence go on? Its second half stands among second halves of sentences of other documents.

    Asks what may follow what: an ending that fits is of the same build, topic and number.
    """
    begin, right = _halves(passage)
    return _choose(begin, right, [_halves(other)[1] for other in others], rng)


def _halves(passage: Passage) -> tuple[str, str]:
    middle = len(passage.words) // 2
    return " ".join(passage.words[:middle]), " ".join(passage.words[middle:])


def _choose(context: str, right: str, others: Sequence[str], rng: np.random.Generator) -> list[Row]:
    """A row with the right choice among the first of the others that differ; none, if too few do."""
    wrong = [text for text in dict.fromkeys(others) if text != right][: len(_CHOICES) - 1]
    if len(wrong) < len(_CHOICES) - 1:
        return []
    order = rng.permutation(len(_CHOICES)).tolist()
    choices = [[right, *wrong][at] for at in order]
    return [{"context": context, "question": None, "choices": choices, "label": _CHOICES[order.index(0)]}]


def _bio(marked: Sequence[bool], label: str) -> list[str]:
    """Tags of runs of marked words."""
    before = [False, *marked]
    return [("I-" if inside else "B-") + label if now else "O" for now, inside in zip(marked, before, strict=False)]


def _scramble(passage: Passage, rng: np.random.Generator) -> tuple[list[str], int]:
    """The passage with a window of it in another order that differs at both ends, and where the window begins."""
    words = list(passage.words)
    start = int(rng.choice(_windows(passage)))
    window = words[start : start + _WINDOW]
    moved = window
    while moved[0] == window[0] or moved[-1] == window[-1]:
        moved = [window[at] for at in rng.permutation(_WINDOW)]
    return words[:start] + moved + words[start + _WINDOW :], start


def _windows(passage: Passage) -> Sequence[int]:
    """Where a window may begin: inside a sentence, without punctuation, all its words different."""
    return [
        start
        for start in range(len(passage.words) - _WINDOW)
        if len(set(window := passage.words[start : start + _WINDOW])) == _WINDOW
        and all(_is_word(word) for word in window)
    ]


def _is_word(word: str) -> bool:
    return word[0].isalnum()


def _is_long(word: str) -> bool:
    return len(word) >= _LONG and word.isalpha()


def _has_window(passage: Passage) -> bool:
    return bool(_windows(passage))


def _has_long_words(passage: Passage) -> bool:
    return sum(_is_long(word) for word in passage.words) >= _MIN_LONG_WORDS


def _is_any(_: Passage) -> bool:
    return True


def _has_names(passage: Passage) -> bool:
    return passage.names is not None and any(passage.names)


RECIPES: Final[dict[str, Recipe]] = {
    "word-order": Recipe(
        kind="classification",
        labels=("scrambled", "natural"),
        sentences=1,
        rows_per_passage=2,
        is_usable=_has_window,
        make=_make_word_order,
    ),
    "out-of-order": Recipe(
        kind="span", labels=(), sentences=2, rows_per_passage=1, is_usable=_has_window, make=_make_out_of_order
    ),
    "names": Recipe(
        kind="tagging",
        labels=("O", "B-NAME", "I-NAME"),
        sentences=1,
        rows_per_passage=1,
        is_usable=_has_names,
        make=_make_names,
    ),
    "odd-words": Recipe(
        kind="tagging",
        labels=("O", "B-ODD", "I-ODD"),
        sentences=2,
        rows_per_passage=1,
        is_usable=_has_long_words,
        make=_make_odd_words,
    ),
    "next-sentence": Recipe(
        kind="choice",
        labels=_CHOICES,
        sentences=2,
        rows_per_passage=1,
        is_usable=_is_any,
        make=_make_next_sentence,
        others=len(_CHOICES) - 1,
    ),
    "right-ending": Recipe(
        kind="choice",
        labels=_CHOICES,
        sentences=1,
        rows_per_passage=1,
        is_usable=_is_any,
        make=_make_right_ending,
        others=2 * len(_CHOICES) - 2,  # some may end alike
    ),
}
