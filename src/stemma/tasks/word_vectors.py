"""Probes asked of word vectors: the cosine of two words, and analogies by 3CosAdd (Mikolov et al. 2013).

A question with a word that has no vector is not asked. Where several answers are right (`gas/oxygen`), any of them will do, and
one of them must have a vector. What the answers are worth is `probe_figures`' matter.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from stemma.tasks.probe_answers import ANSWER_SCHEMAS
from stemma.tasks.probes import ProbeKind
from stemma.text.vectors import WordVectors, unit
from stemma.text.vocabulary import load_tokenizer

__all__ = ["ask_words", "solve_analogies", "spelling"]

Columns = dict[str, list[Any]]
_DIGITS: Final = 6  # of cosines: below that is rounding, which must not rank words that are equally near
_BLOCK: Final = 1 << 24  # cosines held at once: 64 MiB


def ask_words(kind: ProbeKind, columns: Columns, vectors: WordVectors, spell: Callable[[str], str]) -> pa.Table:
    """The answers to a probe's questions; `spell` writes a word as the model does."""
    words = {
        name: [spell(word) for word in column]
        for name, column in columns.items()
        if name in ("first", "second", "third", "answer")
    }
    assert kind != "minimal-pairs", "asked of scorers"
    answers = _compare_words(words, vectors) if kind == "similarity" else _answer_analogies(words, vectors)
    return pa.table(answers, schema=ANSWER_SCHEMAS[kind])


def solve_analogies(vectors: WordVectors, questions: Sequence[tuple[str, str, str]]) -> list[str]:
    """The answer to each question of three words that have vectors: of all words but these, the nearest (3CosAdd)."""
    places, step = vectors.places, max(1, _BLOCK // len(vectors.words))
    answers: list[str] = []
    for begin in range(0, len(questions), step):
        block = questions[begin : begin + step]
        columns = zip(*block, strict=True)
        first, second, third = (unit(np.stack([vectors.known(word) for word in column])) for column in columns)
        cosines = (second - first + third) @ vectors.units.T  # (block, words); not of length 1, which changes no order
        asked = [(row, places[word]) for row, words in enumerate(block) for word in words if word in places]
        if asked:
            cosines[tuple(np.array(asked).T)] = -np.inf
        answers += [vectors.words[place] for place in cosines.argmax(axis=1)]
    return answers


def spelling(model_dir: Path) -> Callable[[str], str]:
    """How a model's text writes a word: in small letters if its tokenizer makes them, else as it is."""
    normalizer = load_tokenizer(model_dir).normalizer
    return str.lower if normalizer is not None and normalizer.normalize_str("A") == "a" else str


def _compare_words(words: Columns, vectors: WordVectors) -> Columns:
    pairs = list(zip(words["first"], words["second"], strict=True))
    cosines = [vectors.similarity(*pair) for pair in pairs]
    return {
        "cosine": [None if cosine is None else round(cosine, _DIGITS) for cosine in cosines],
        "composed": [
            cosine is not None and not (pair[0] in vectors and pair[1] in vectors)
            for pair, cosine in zip(pairs, cosines, strict=True)
        ],
    }


def _answer_analogies(words: Columns, vectors: WordVectors) -> Columns:
    questions = list(zip(words["first"], words["second"], words["third"], strict=True))
    has_vector = {word: vectors.vector(word) is not None for question in set(questions) for word in question}
    wanted = [answer.split("/") for answer in words["answer"]]
    known = [
        place
        for place, (question, right_ones) in enumerate(zip(questions, wanted, strict=True))
        if any(answer in vectors for answer in right_ones) and all(has_vector[word] for word in question)
    ]
    given = dict(zip(known, solve_analogies(vectors, [questions[place] for place in known]), strict=True))
    places = range(len(questions))
    return {
        "answer": [given.get(place) for place in places],
        "right": [given[place] in wanted[place] if place in given else None for place in places],
    }
