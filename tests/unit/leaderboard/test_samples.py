"""The rows that are shown of a task."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stemma.leaderboard.samples import sample_rows
from stemma.tasks.base import PREDICTION_SCHEMAS, ROW_SCHEMAS
from tests import toy_tasks


def classification(right: dict[str, list[bool]]) -> tuple[pa.Table, dict[str, pa.Table]]:
    count = len(next(iter(right.values())))
    ids = [f"row-{number}" for number in range(count)]
    texts = [f"text {number}" for number in range(count)]
    columns = {
        "id": ids,
        "document": [""] * count,
        "text": texts,
        "text_pair": [None] * count,
        "label": ["yes"] * count,
    }
    answers = {
        name: pa.table(
            {"id": ids, "label": ["yes" if one else "no" for one in of], "probabilities": [[0.5, 0.5]] * count},
            schema=PREDICTION_SCHEMAS["classification"],
        )
        for name, of in right.items()
    }
    return pa.table(columns, schema=ROW_SCHEMAS["classification"]), answers


def test_rows_that_one_system_alone_gets_right_or_wrong_come_first():
    right = {
        "one": [True, False, True, False, True, True, True, True],
        "two": [True, False, False, True, True, False, True, True],
        "bag": [False] * 8,
    }
    rows, answers = classification(right)
    samples = sample_rows(toy_tasks.TASKS["first"], rows, answers, {"one": "bert", "two": "gpt"})
    # alone right, alone wrong: one at 2 and 3; two's are the same rows, so the next best; then one again
    assert [sample["id"] for sample in samples] == ["row-2", "row-3", "row-0", "row-5", "row-4", "row-1"]
    first = samples[0]
    assert first["asked"] == [{"name": "text", "text": "text 2"}]
    assert first["wanted"] == "yes"
    told = [(answer["system"], answer["answer"], answer["right"]) for answer in first["answers"]]
    assert told == [("one", "yes", True), ("two", "no", False), ("bag", "no", False)]


def test_every_family_has_two_rows_before_another_variant_has_one():
    families = {
        "ngram": "ngram",
        "glove": "glove",
        "word2vec": "word2vec",
        "elmo": "elmo",
        "gpt": "gpt",
        **{f"bert-{number}": "bert" for number in range(7)},
    }
    names = list(families)
    shown = ["ngram", "glove", "word2vec", "elmo", "gpt", "bert-0"]
    # row 2k: of the families' first variants the k-th alone is right; row 2k + 1: it alone is wrong; 30 rows all get right
    right = {name: [True] * 42 for name in names}
    for place, name in enumerate(shown):
        for other in shown:
            right[other][2 * place] = other == name
            right[other][2 * place + 1] = other != name
    rows, answers = classification(right)
    samples = sample_rows(toy_tasks.TASKS["first"], rows, answers, families)
    assert [sample["id"] for sample in samples] == [f"row-{number}" for number in range(12)]
    assert [answer["system"] for answer in samples[0]["answers"]] == names
    marks = [{answer["system"]: answer["right"] for answer in sample["answers"]} for sample in samples]
    for place, name in enumerate(shown):
        assert [other for other in shown if marks[2 * place][other]] == [name]
        assert [other for other in shown if not marks[2 * place + 1][other]] == [name]


def test_numbers_show_the_smallest_and_the_largest_error_with_every_score():
    wanted = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 5.0]
    errors = {"one": [1.0, 0.1, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0], "two": [1.0, 1.0, 1.0, 1.0, 0.5, 1.0, 2.0, 1.0]}
    ids = [f"row-{number}" for number in range(8)]
    columns = {"id": ids, "document": [""] * 8, "text": ids, "text_pair": [None] * 8, "score": wanted}
    rows = pa.table(columns, schema=ROW_SCHEMAS["regression"])
    answers = {
        name: pa.table(
            {"id": ids, "score": [score + error for score, error in zip(wanted, of, strict=True)]},
            schema=PREDICTION_SCHEMAS["regression"],
        )
        for name, of in errors.items()
    }
    samples = sample_rows(toy_tasks.TASKS["how-many"], rows, answers, {"one": "bert", "two": "gpt"})
    assert [sample["id"] for sample in samples][:4] == ["row-1", "row-2", "row-4", "row-6"]
    assert samples[1]["wanted"] == "2.00"
    assert samples[1]["answers"] == [
        {"system": "one", "answer": "5.00", "right": None},
        {"system": "two", "answer": "3.00", "right": None},
    ]


def test_few_rows_and_no_variants_are_no_trouble():
    rows, answers = classification({"bag": [True, False]})
    assert [sample["id"] for sample in sample_rows(toy_tasks.TASKS["first"], rows, answers, {})] == ["row-0", "row-1"]


def right_answers(kind: str, rows: pa.Table) -> dict[str, Any]:
    """What is wanted of each row; of choices always the first."""
    count = len(rows)
    if kind == "where":
        texts = [answers[0]["text"] for answers in rows["answers"].to_pylist()]
        return {"text": texts, "start": [0] * count, "end": [1] * count, "score": [1.0] * count}
    if kind == "letters":
        return {"tags": rows["tags"].to_pylist()}
    return {"label": ["one"] * count, "text": ["x"] * count, "probabilities": [[1.0, 0.0, 0.0]] * count}


@pytest.mark.parametrize("kind", ["where", "letters", "pick"])
def test_every_kind_tells_what_was_asked_and_wanted(kind):
    task, rng = toy_tasks.TASKS[kind], np.random.default_rng(1)
    rows = pa.Table.from_pylist([toy_tasks.make_row(kind, number, rng) for number in range(8)], ROW_SCHEMAS[task.kind])
    row = rows.to_pylist()[0]
    given = right_answers(kind, rows)
    answers = pa.table({"id": rows["id"].to_pylist(), **given}, schema=PREDICTION_SCHEMAS[task.kind])
    samples = {one["id"]: one for one in sample_rows(task, rows, {"bert": answers}, {"bert": "bert"})}
    sample = samples[row["id"]]
    names = {"where": ["question", "context"], "letters": ["tokens"], "pick": ["context", *["choice"] * 3]}
    assert [part["name"] for part in sample["asked"]] == names[kind]
    if kind == "pick":
        assert {one["answers"][0]["right"] for one in samples.values()} == {True, False}
    else:
        assert sample["answers"] == [{"system": "bert", "answer": sample["wanted"], "right": True}]


def test_a_long_context_is_cut_around_its_answer():
    context = "before " * 200 + "Ada" + " after" * 200
    answer = [{"text": "Ada", "start": context.index("Ada")}]
    row = {"id": "1", "document": "", "context": context, "question": "who?", "answers": answer}
    rows = pa.Table.from_pylist([row], ROW_SCHEMAS["span"])
    given = pa.table(
        {"id": ["1"], "text": ["after"], "start": [0], "end": [1], "score": [1.0]}, schema=PREDICTION_SCHEMAS["span"]
    )
    (sample,) = sample_rows(toy_tasks.TASKS["where"], rows, {"bert": given}, {"bert": "bert"})
    shown = sample["asked"][1]["text"]
    assert "Ada" in shown
    assert len(shown) < 300
    assert shown.startswith("… ")
    assert shown.endswith(" …")
