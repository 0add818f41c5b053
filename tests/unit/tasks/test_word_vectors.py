"""What probes find: coverage, spelling, answers in blocks, intervals over what questions are made of."""

from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from scipy import stats

from stemma.config import Evaluation, Tokenizer
from stemma.tasks import word_vectors
from stemma.tasks.probe_figures import measure_answers
from stemma.tasks.probes import ProbeKind
from stemma.tasks.word_vectors import ask_words, solve_analogies, spelling
from stemma.text.vectors import WordVectors
from stemma.text.vocabulary import learn_tokenizer, save_tokenizer

SETTINGS = Evaluation(confidence=0.9, bootstrap_draws=200, bootstrap_seed=1, pseudo_perplexity_sentences=1)
WORDS = ["king", "queen", "man", "woman", "苹果"]
MATRIX = np.array([[2, 0, 1], [2, 1, 1], [1, 0, 0], [1, 1, 0], [0, 0, 3]], np.float32)
VECTORS = WordVectors(WORDS, MATRIX)
FAR = {"first": "King", "second": "苹果", "score": 1.0}
ALIKE = [
    {"first": "king", "second": "queen", "score": 9.0},
    {"first": "king", "second": "man", "score": 5.0},
    FAR,
    {"first": "king", "second": "emperor", "score": 7.0},
]
FAMILY = {"section": "family", "first": "man", "second": "king", "third": "woman", "answer": "queen"}
FRUIT = {"section": "fruit", "first": "man", "second": "king", "third": "苹果", "answer": "woman"}
UNKNOWN = {"section": "fruit", "first": "man", "second": "king", "third": "pear", "answer": "queen"}


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def measure(
    kind: ProbeKind, asked: dict[str, list[Any]], vectors: WordVectors, spell: Callable[[str], str]
) -> dict[str, Any]:
    return measure_answers(kind, asked, ask_words(kind, asked, vectors, spell), SETTINGS)


def test_similarity_is_of_the_pairs_that_are_covered() -> None:
    figures = measure("similarity", columns(ALIKE), VECTORS, str.lower)
    assert figures["value"] == pytest.approx(1)
    assert figures["low"] <= 1 <= figures["high"] + 1e-9
    assert (figures["n"], figures["covered"], figures["coverage"], figures["composed"]) == (4, 3, 0.75, 0)


def test_words_are_spelled_as_the_model_does() -> None:
    assert measure("similarity", columns(ALIKE), VECTORS, str)["covered"] == 2  # no King


def test_composed_vectors_cover_and_are_counted() -> None:
    composing = WordVectors(WORDS, MATRIX, compose=lambda _: np.array([2, 0, 1], np.float32))
    figures = measure("similarity", columns(ALIKE), composing, str.lower)
    assert (figures["coverage"], figures["composed"]) == (1, 1)
    answered = measure("analogy", columns([FAMILY, UNKNOWN]), composing, str)
    assert answered["covered"] == 2
    unanswerable = measure("analogy", columns([UNKNOWN | {"answer": "pears"}]), composing, str)
    assert unanswerable["covered"] == 0  # only words of the vocabulary can be answers


@pytest.mark.parametrize("rows", [[FAR | {"second": "pear"}], [FAR], [FAR, FAR]])
def test_without_an_order_to_compare_there_is_no_figure(rows: list[dict[str, Any]]) -> None:
    figures = measure("similarity", columns(rows), VECTORS, str.lower)
    assert (figures["value"], figures["low"], figures["high"]) == (None, None, None)


def test_analogies_count_what_is_left_out_a_second_time_as_wrong() -> None:
    figures = measure("analogy", columns([FAMILY, FRUIT, UNKNOWN]), VECTORS, str)
    right = figures["sections"]["family"]
    assert right == {"n": 1, "covered": 1, "coverage": 1.0, "value": 1.0, "of_all": 1.0}
    assert figures["sections"]["fruit"] == {"n": 2, "covered": 1, "coverage": 0.5, "value": 0.0, "of_all": 0.0}
    assert (figures["value"], figures["of_all"]) == (0.5, pytest.approx(1 / 3))


def test_of_several_right_answers_any_will_do() -> None:
    several = [FAMILY | {"answer": right} for right in ("empress/Queen", "empress/苹果", "empress/czarina")]
    figures = measure("analogy", columns(several), VECTORS, str.lower)
    assert (figures["n"], figures["covered"], figures["value"]) == (3, 2, 0.5)


def test_no_question_covered_is_no_figure() -> None:
    figures = measure("analogy", columns([UNKNOWN]), VECTORS, str)
    assert (figures["value"], figures["of_all"], figures["coverage"]) == (None, 0.0, 0.0)


def test_answers_in_blocks_are_those_of_one_question_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    words = [f"w{number}" for number in range(60)]
    vectors = WordVectors(words, rng.normal(size=(60, 8)).astype(np.float32))
    questions = [tuple(map(str, rng.choice(words, 3))) for _ in range(50)]
    alone = [vectors.analogy(*question, 1)[0][0] for question in questions]  # type: ignore[call-arg,arg-type]
    monkeypatch.setattr(word_vectors, "_BLOCK", 7 * 60)
    assert solve_analogies(vectors, questions) == alone  # type: ignore[arg-type]


def test_of_equal_candidates_the_more_frequent_is_the_answer() -> None:
    twins = WordVectors(["a", "b", "c", "one", "two"], np.array([[1, 0], [0, 1], [1, 0], [0, 2], [0, 2]], np.float32))
    assert solve_analogies(twins, [("a", "b", "c")]) == ["one"]


@pytest.mark.parametrize("lowercase", [True, False])
def test_spelling_is_the_tokenizers(tmp_path: Path, lowercase: bool) -> None:
    settings = Tokenizer(corpus="c", kind="word", vocabulary_size=50, min_frequency=1, lowercase=lowercase)
    save_tokenizer(learn_tokenizer([("a", 3)], settings), settings, tmp_path)
    assert spelling(tmp_path)("Élan 北京") == ("élan 北京" if lowercase else "Élan 北京")


def test_what_was_answered_is_kept() -> None:
    alike = ask_words("similarity", columns(ALIKE), VECTORS, str.lower).to_pydict()
    cosine = VECTORS.similarity("king", "queen")
    assert cosine is not None
    assert alike["cosine"][0] == pytest.approx(cosine, abs=1e-6)
    assert alike["cosine"][3] is None
    assert alike["composed"] == [False] * 4
    answered = ask_words("analogy", columns([FAMILY, FRUIT, UNKNOWN]), VECTORS, str).to_pydict()
    assert answered["right"] == [True, False, None]
    assert (answered["answer"][0], answered["answer"][2]) == ("queen", None)


def analogies(count: int, rng: np.random.Generator) -> tuple[dict[str, list[Any]], npt.NDArray[np.bool_]]:
    """Every two of so many pairs of words, and who is right: a pair that is hard is so in all of its questions."""
    both = list(permutations(range(count), 2))
    easy = rng.normal(size=count)
    right = np.array([easy[one] + easy[other] + rng.normal() > 0 for one, other in both])
    asked = {"section": ["s"] * len(both), "first": [f"w{one}" for one, _ in both]}
    return asked | {"third": [f"w{other}" for _, other in both]}, right


def test_the_interval_of_analogies_is_over_the_pairs_of_words_that_they_are_made_of() -> None:
    """Drawn one by one in loops: pairs with replacement, and a question as often as both of its pairs are drawn."""
    asked, right = analogies(12, np.random.default_rng(3))
    covered = np.array(
        [first != "w5" and third != "w5" for first, third in zip(asked["first"], asked["third"], strict=True)]
    )
    answers = pa.table({"right": pa.array(right, mask=~covered)})
    settings = SETTINGS.model_copy(update={"bootstrap_draws": 4000})
    figures = measure_answers("analogy", asked, answers, settings)
    rng, words = np.random.default_rng(8), sorted(set(asked["first"]) - {"w5"})
    scores = []
    for _ in range(4000):
        drawn = Counter(rng.choice(words, len(words)).tolist())
        times = [drawn[one] * drawn[other] for one, other in zip(asked["first"], asked["third"], strict=True)]
        scores.append(np.average(right[covered], weights=np.array(times)[covered]))
    assert figures["value"] == pytest.approx(right[covered].mean())
    assert (figures["low"], figures["high"]) == pytest.approx(np.quantile(scores, [0.05, 0.95]), abs=0.02)
    of_questions = stats.norm.ppf(0.95) * np.sqrt(figures["value"] * (1 - figures["value"]) / covered.sum())
    assert figures["high"] - figures["low"] > 2 * 2 * of_questions, "over questions it would be far narrower"


def test_a_single_analogy_has_no_interval() -> None:
    figures = measure("analogy", columns([FAMILY]), VECTORS, str)
    assert (figures["value"], figures["low"], figures["high"]) == (1.0, None, None)
