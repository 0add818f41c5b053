"""What probes find in word vectors: rank correlation with people's judgement, and analogies by 3CosAdd (Mikolov et al. 2013).

Words without a vector are left out, and how many is said (coverage); for analogies a second figure counts what is left out as
wrong, so that a small vocabulary is no advantage. Where several answers are right (`gas/oxygen`), any of them will do.
Analogies get no interval: the questions of a section are made of the same few pairs of words, and one over questions would be
far too narrow.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stemma.config import Evaluation
from stemma.statistics import percentile_interval, resamples, spearman
from stemma.tasks.probes import ProbeKind
from stemma.text.vectors import WordVectors, unit
from stemma.text.vocabulary import load_tokenizer

__all__ = ["measure_probe", "measure_similarity", "solve_analogies", "spelling"]

Columns = dict[str, list[Any]]
_DIGITS: Final = 6  # of cosines: below that is rounding, which must not rank words that are equally near
_BLOCK: Final = 1 << 24  # cosines held at once: 64 MiB


def measure_probe(
    kind: ProbeKind, columns: Columns, vectors: WordVectors, spell: Callable[[str], str], settings: Evaluation
) -> dict[str, Any]:
    """A probe's figures; `spell` writes a word as the model does."""
    words = {
        name: [spell(word) for word in column]
        for name, column in columns.items()
        if name in ("first", "second", "third", "answer")
    }
    assert kind != "minimal-pairs", "asked of scorers"
    if kind == "similarity":
        return measure_similarity(words["first"], words["second"], columns["score"], vectors, settings)
    return _measure_analogies(words, columns["section"], vectors)


def measure_similarity(
    first: Sequence[str], second: Sequence[str], gold: Sequence[float], vectors: WordVectors, settings: Evaluation
) -> dict[str, Any]:
    """Spearman's correlation of cosines with judgements, with an interval over pairs."""
    cosines = [vectors.similarity(*pair) for pair in zip(first, second, strict=True)]
    known = [place for place, cosine in enumerate(cosines) if cosine is not None]
    composed = sum(first[place] not in vectors or second[place] not in vectors for place in known)
    result: dict[str, Any] = {"metric": "spearman", "n": len(gold), "covered": len(known), "composed": composed}
    result["coverage"] = len(known) / len(gold)
    found = np.array([cosines[place] for place in known], np.float64).round(_DIGITS)
    wanted = np.array([gold[place] for place in known], np.float64)
    return result | _correlation(found, wanted, settings)


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


def _correlation(found: npt.NDArray[np.float64], gold: npt.NDArray[np.float64], settings: Evaluation) -> dict[str, Any]:
    """The correlation and its interval; none where there is no order to compare."""
    if len(found) < 2:
        return {"value": None, "low": None, "high": None}
    value = float(spearman(found, gold, np.ones((1, len(found))))[0])
    blocks = resamples(len(found), draws=settings.bootstrap_draws, seed=settings.bootstrap_seed)
    draws = np.concatenate([spearman(found, gold, weights) for weights in blocks])
    draws = draws[np.isfinite(draws)]
    if not np.isfinite(value) or not len(draws):
        return {"value": None, "low": None, "high": None}
    interval = percentile_interval(draws, settings.confidence)
    return {"value": value, "low": interval.low, "high": interval.high}


def _measure_analogies(words: dict[str, list[str]], sections: Sequence[str], vectors: WordVectors) -> dict[str, Any]:
    questions = list(zip(words["first"], words["second"], words["third"], strict=True))
    has_vector = {word: vectors.vector(word) is not None for question in set(questions) for word in question}
    wanted = [answer.split("/") for answer in words["answer"]]
    known = [
        place
        for place, (question, right_ones) in enumerate(zip(questions, wanted, strict=True))
        if any(answer in vectors for answer in right_ones) and all(has_vector[word] for word in question)
    ]
    answers = solve_analogies(vectors, [questions[place] for place in known])
    right = np.zeros(len(questions), bool)
    right[known] = [answer in wanted[place] for place, answer in zip(known, answers, strict=True)]
    covered = np.zeros(len(questions), bool)
    covered[known] = True
    names = np.array(sections)
    figures = {name: _accuracy(right[names == name], covered[names == name]) for name in dict.fromkeys(sections)}
    return {"metric": "accuracy", **_accuracy(right, covered), "sections": figures}


def _accuracy(right: npt.NDArray[np.bool_], covered: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """The share of right answers among what is covered, and among all."""
    number, num_right = int(covered.sum()), int(right.sum())
    return {
        "n": len(covered),
        "covered": number,
        "coverage": number / len(covered),
        "value": num_right / number if number else None,
        "of_all": num_right / len(covered),
    }
