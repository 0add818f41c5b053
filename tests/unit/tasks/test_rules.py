"""The columns that rules on a task's rows look at, and the keys by which rows repeat."""

from typing import Any

import pyarrow as pa
import pytest

from stemma.config import Task
from stemma.protocols import HeadKind
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.conll import illegal_tag, to_iob2
from stemma.tasks.rules import content_key, derive_rows, question_key, split_figures
from tests import toy_inputs

Row = dict[str, Any]


def derive(kind: HeadKind, **changes: Any) -> dict[str, Any]:
    table = pa.Table.from_pylist([{**toy_inputs.row(kind, 1), **changes}], schema=ROW_SCHEMAS[kind])
    derived: list[dict[str, Any]] = derive_rows(Task.model_validate(toy_inputs.task(kind)), table, {}).to_pylist()
    return derived[0]


def test_spans_are_counted_in_characters() -> None:
    context = "中文 é👩 end"
    for text in ("é👩", "end", "中"):
        answers = [{"text": text, "start": context.index(text)}]
        assert derive("span", context=context, answers=answers)["misplaced_answer"] is None
    off = [{"text": "end", "start": context.index("end") + 1}]
    assert derive("span", context=context, answers=off)["misplaced_answer"] is not None


def test_every_answer_must_be_in_its_place() -> None:
    answers = [{"text": "a", "start": 0}, {"text": "b", "start": 0}]
    assert derive("span", context="a b", answers=answers)["misplaced_answer"] == (
        "answer 'b' is not at character 0 of its context"
    )


def test_an_empty_pair_is_blank_but_none_is_not() -> None:
    assert derive("classification", text_pair=None)["blank"] is None
    assert derive("classification", text_pair="\u3000")["blank"] == "text_pair"


@pytest.mark.parametrize(
    ("tags", "position"),
    [
        ("O O", None),
        ("B-PER I-PER I-PER", None),
        ("B-PER B-PER", None),
        ("I-PER", 0),
        ("O I-PER", 1),
        ("B-PER I-LOC", 1),
        ("B-PER O I-PER", 2),
    ],
)
def test_an_inside_tag_goes_on_with_its_own_kind(tags: str, position: int | None) -> None:
    assert illegal_tag(tags.split()) == position


def test_iob1_becomes_legal_and_iob2_stays() -> None:
    assert to_iob2("I-A I-A B-A I-B O I-B".split()) == "B-A I-A B-A B-B O B-B".split()  # noqa: SIM905
    legal = "B-A I-A O B-B B-B I-B".split()  # noqa: SIM905
    assert to_iob2(legal) == legal


def test_a_row_asks_the_same_whatever_the_answer() -> None:
    answers: dict[HeadKind, Row] = {
        "classification": {"label": "x"},
        "regression": {"score": 0.25},
        "span": {"answers": []},
        "tagging": {"tags": []},
        "choice": {"label": "x"},
    }
    for kind, answer in answers.items():
        row = toy_inputs.row(kind, 1)
        other = {**row, **answer, "id": "other"}
        assert question_key(kind, row) == question_key(kind, other)
        assert content_key(kind, row) != content_key(kind, other)


def test_keys_do_not_run_together() -> None:
    rows: list[Row] = [
        {"text": "a b", "text_pair": None},
        {"text": "a", "text_pair": "b"},
        {"text": "a b", "text_pair": ""},
    ]
    assert len({question_key("classification", row) for row in rows}) == 3


def test_figures_of_an_empty_split_are_numbers() -> None:
    assert split_figures("classification", {}) == {"label_share": 0.0}
    assert split_figures("classification", {"a": 3, "b": 1}) == {"label_share": 0.75}
    assert split_figures("tagging", {"O": 3, "B-PER": 2}) == {"entity_tags": 2}
    assert split_figures("choice", {"0": 3, "1": 1}) == {"label_share": 0.75}
    assert split_figures("span", {}) == {}
    assert split_figures("regression", {}) == {}
