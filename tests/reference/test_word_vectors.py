"""Probes against gensim: the same correlation and the same answers on the same vectors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.models import KeyedVectors

from stemma.config import Evaluation
from stemma.data.bundled import bundled_path
from stemma.data.input_files import InputFile
from stemma.tasks.probe_figures import measure_answers
from stemma.tasks.probes import ProbeKind, read_questions
from stemma.tasks.word_vectors import ask_words
from stemma.text.vectors import WordVectors

SETTINGS = Evaluation(confidence=0.95, bootstrap_draws=50, bootstrap_seed=1, pseudo_perplexity_sentences=1)


def questions(path: Path, kind: ProbeKind) -> dict[str, list[Any]]:
    rows = list(read_questions([InputFile(path, path.name)], kind))
    return {name: [row[name] for row in rows] for name in rows[0]}


def sides(columns: dict[str, list[Any]], names: tuple[str, ...]) -> list[str]:
    return sorted({word.lower() for name in names for word in columns[name]})


@pytest.fixture
def analogies(tmp_path: Path) -> Path:
    """Every seventh question of the public set's first two and of its sixth section."""
    text = bundled_path("google-analogies").read_text().split(": ")[1:]
    parts = []
    for section in (text[0], text[4], text[5]):
        title, *lines = section.splitlines()
        parts += [f": {title}", *lines[::7]]
    (tmp_path / "analogies.txt").write_text("\n".join(parts) + "\n")
    return tmp_path / "analogies.txt"


def vectors_for(columns: dict[str, list[Any]], rng: np.random.Generator) -> WordVectors:
    """Vectors of nine words in ten in which about half of the analogies hold: the offset of a pair is the same, with noise."""
    known = {word: rng.normal(size=12) for word in sides(columns, ("first", "third"))}
    for first, second in zip(columns["first"] + columns["third"], columns["second"] + columns["answer"], strict=True):
        if second.lower() not in known:
            known[second.lower()] = known[first.lower()] + 1.5 + rng.normal(size=12) * 0.8
    words = [word for word in known if rng.random() < 0.9]
    return WordVectors(words, np.stack([known[word] for word in words]).astype(np.float32))


def as_gensim(vectors: WordVectors) -> Any:
    keyed = KeyedVectors(vectors.matrix.shape[1])
    keyed.add_vectors(list(vectors.words), vectors.matrix)
    return keyed


def test_analogies_are_answered_as_gensim_answers_them(analogies: Path) -> None:
    columns = questions(analogies, "analogy")
    vectors = vectors_for(columns, np.random.default_rng(3))
    ours = measure_answers("analogy", columns, ask_words("analogy", columns, vectors, str.lower), SETTINGS)
    # by default, gensim looks at the first 300,000 words and takes no heed of case
    value, sections = as_gensim(vectors).evaluate_word_analogies(str(analogies))
    assert 0.2 < ours["value"] < 0.8
    assert ours["value"] == pytest.approx(value)
    for section in sections[:-1]:
        covered = len(section["correct"]) + len(section["incorrect"])
        found = ours["sections"][section["section"]]
        assert (found["covered"], round(found["value"] * covered)) == (covered, len(section["correct"]))
    of_all, _ = as_gensim(vectors).evaluate_word_analogies(str(analogies), dummy4unknown=True)
    assert 0.4 < ours["coverage"] < 1
    assert ours["of_all"] == pytest.approx(of_all)


@pytest.mark.parametrize("name", ["wordsim353", "simlex999"])
def test_similarity_is_gensims(name: str) -> None:
    path = bundled_path(name)
    columns = questions(path, "similarity")
    rng = np.random.default_rng(4)
    words = [word for word in sides(columns, ("first", "second")) if rng.random() < 0.8]
    vectors = WordVectors(words, rng.normal(size=(len(words), 4)).astype(np.float32))
    ours = measure_answers("similarity", columns, ask_words("similarity", columns, vectors, str.lower), SETTINGS)
    _, spearman, unknown = as_gensim(vectors).evaluate_word_pairs(str(path))
    assert ours["value"] == pytest.approx(spearman.statistic, abs=1e-5)
    assert 100 * (1 - ours["coverage"]) == pytest.approx(unknown)
    assert 0 < unknown < 60
    assert ours["low"] < ours["value"] < ours["high"]
