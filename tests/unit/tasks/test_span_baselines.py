"""Spans found without reading."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.metrics import score
from stemma.tasks.span_baselines import fit_overlap, guess_spans, predict_overlap, predict_typical


def predict_bag(train: pa.Table, test: pa.Table) -> pa.Table:
    return predict_overlap(fit_overlap(train, seed=1), test)


def questions(rows: Sequence[tuple[str, str, str]]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "id": f"q{i}",
                "document": "",
                "context": context,
                "question": question,
                "answers": [{"text": answer, "start": context.index(answer)}],
            }
            for i, (context, question, answer) in enumerate(rows)
        ],
        schema=ROW_SCHEMAS["span"],
    )


def facts(count: int, seed: int) -> pa.Table:
    """The question repeats the words around the answer's sentence."""
    rng = np.random.default_rng(seed)
    names = ["Ada", "Bela", "Carl", "Dora", "Emil"]
    verbs = ["painted", "sold", "found", "lost"]
    things = ["house", "boat", "garden", "clock"]
    rows = []
    for _ in range(count):
        people, actions, objects = (rng.permutation(words)[:3] for words in (names, verbs, things))
        context = " ".join(
            f"In spring {person} {action} the {thing}."
            for person, action, thing in zip(people, actions, objects, strict=True)
        )
        asked = int(rng.integers(3))
        rows.append((context, f"Who {actions[asked]} the {objects[asked]}?", str(people[asked])))
    return questions(rows)


def test_the_typical_span_has_the_place_and_length_of_training_answers():
    train = questions([(" ".join(f"w{i}" for i in range(20)), "?", "w10 w11 w12")] * 3)
    test = questions([(" ".join(f"v{i}" for i in range(40)), "?", "v1"), ("just one", "?", "one")])
    assert predict_typical(train, test)["text"].to_pylist() == ["v20 v21 v22", "one"]


def test_a_bag_of_words_for_spans_follows_the_questions_words():
    train, test = facts(60, 1), facts(40, 2)
    found = score("span", test, predict_bag(train, test), [])
    typical = score("span", test, predict_typical(train, test), [])
    assert found["em"] > 0.9
    assert typical["em"] < 0.6


@pytest.mark.parametrize("predict", [predict_typical, predict_bag])
def test_spans_lie_in_their_context(predict):
    train, test = facts(60, 1), facts(40, 2)
    for row, given in zip(test.to_pylist(), predict(train, test).to_pylist(), strict=True):
        assert given["text"] == row["context"][given["start"] : given["end"]] != ""


@pytest.mark.parametrize("predict", [predict_typical, predict_bag])
def test_a_context_without_words_gets_an_empty_span(predict):
    empty = questions([("...", "?", ".")])
    assert predict(facts(20, 1), empty)["text"].to_pylist() == [""]


def test_an_answer_that_is_no_candidate_teaches_nothing():
    train = questions([("So (it) is.", "?", "(it)")])
    predictions = predict_bag(train, train)
    assert predictions["text"].to_pylist() == ["So"]


def test_guesses_are_uniform_over_places():
    """One-word answers in contexts of five words: one guess in five is right."""
    test = questions([("Ada Bela Carl Dora Emil", "?", "Dora")] * 50)
    tables = guess_spans(test, test, guesses=20, rng=np.random.default_rng(1))
    assert np.mean([score("span", test, table, [])["em"] for table in tables]) == pytest.approx(0.2, abs=0.04)


def test_guesses_are_as_long_as_training_answers():
    train = questions([("Ada Bela Carl Dora Emil", "?", "Bela Carl Dora")])
    test = questions([(" ".join(f"w{i}" for i in range(100)), "?", "w1")])
    texts = [
        table["text"].to_pylist()[0] for table in guess_spans(train, test, guesses=30, rng=np.random.default_rng(1))
    ]
    assert max(len(text.split()) for text in texts) == 3
    assert len(set(texts)) > 10
