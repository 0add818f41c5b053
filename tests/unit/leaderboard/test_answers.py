"""Stored answers, and the runs that give one answer throughout."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stemma.errors import InputError
from stemma.leaderboard.answers import degenerate_seeds, read_answers
from stemma.tasks.base import PREDICTION_SCHEMAS
from tests import toy_tasks

ROWS = ["a", "b", "c"]


def labels(*values: str) -> pa.Table:
    columns = {"id": ROWS, "label": list(values), "probabilities": [[0.5, 0.5]] * 3}
    return pa.table(columns, schema=PREDICTION_SCHEMAS["classification"])


def tags(*values: list[str]) -> pa.Table:
    return pa.table({"id": ROWS, "tags": list(values)}, schema=PREDICTION_SCHEMAS["tagging"])


def spans(*values: str) -> pa.Table:
    columns: dict[str, Any] = {"id": ROWS, "text": list(values), "start": [0] * 3, "end": [1] * 3, "score": [1.0] * 3}
    return pa.table(columns, schema=PREDICTION_SCHEMAS["span"])


def test_answers_are_read_by_seed_in_the_order_of_the_rows(tmp_path):
    for seed in (10, 2):
        pq.write_table(labels("no", "yes", "no").take([2, 0, 1]), tmp_path / f"seed-{seed}.parquet")
    found = read_answers(tmp_path, ROWS)
    assert list(found) == [2, 10]
    assert [table["label"].to_pylist() for table in found.values()] == [["no", "yes", "no"]] * 2
    assert read_answers(tmp_path / "none", ROWS) == {}


def test_answers_to_other_rows_are_refused(tmp_path):
    pq.write_table(labels("no", "yes", "no"), tmp_path / "seed-1.parquet")
    for rows in (["a", "b"], ["a", "b", "d"], ["a", "b", "c", "d"]):
        with pytest.raises(InputError, match=r"seed-1\.parquet: not the answers to the test rows that there are"):
            read_answers(tmp_path, rows)


def test_the_majoritys_answer_and_any_one_answer_are_degenerate():
    task, majority = toy_tasks.TASKS["first"], {0: labels("no", "no", "no")}
    runs = {1: labels("no", "no", "no"), 2: labels("yes", "yes", "yes"), 3: labels("no", "no", "yes")}
    assert degenerate_seeds(task, runs, majority) == [1, 2]
    assert degenerate_seeds(task, runs, {}) == [1, 2]


def test_tags_are_degenerate_where_every_token_has_the_same():
    outside = [["O", "O"], ["O"], []]
    runs = {1: tags(*outside), 2: tags(["O", "B-A"], ["O"], []), 3: tags(["B-A", "B-A"], ["B-A"], [])}
    assert degenerate_seeds(toy_tasks.TASKS["letters"], runs, {0: tags(*outside)}) == [1, 3]


def test_spans_are_degenerate_only_where_all_are_the_majoritys():
    task, majority = toy_tasks.TASKS["where"], {0: spans("x", "y", "z")}
    runs = {1: spans("x", "y", "z"), 2: spans("x", "y", "q"), 3: spans("the", "the", "the")}
    assert degenerate_seeds(task, runs, majority) == [1]


def test_a_number_is_degenerate_where_it_never_changes():
    def numbers(*values: float) -> pa.Table:
        return pa.table({"id": ROWS, "score": list(values)})

    runs = {1: numbers(2.5, 2.5 + 1e-9, 2.5), 2: numbers(2.5, 2.6, 2.5)}
    assert degenerate_seeds(toy_tasks.TASKS["first"], runs, {}) == [1]
