"""`stemma tasks`: every known task has its line, and says what a user needs to get and to name it."""

from dataclasses import astuple

import pytest
from typer.testing import CliRunner

from stemma.cli import app
from stemma.tasks.known import KNOWN
from stemma.tasks.listing import list_tasks


def test_every_known_task_is_listed_with_all_that_is_asked_for() -> None:
    listed = {one.name: one for one in list_tasks()}
    assert {f"format: {name}" for name in KNOWN} <= set(listed)
    for one in listed.values():
        assert all(astuple(one)[:-1]), one
    assert listed["format: cola"].rows == "train 8,551, dev 1,043, test 1,063"
    assert listed["format: mnli"].rows == (
        "train 392,702, dev_matched 9,815, dev_mismatched 9,832, test_matched 9,796, test_mismatched 9,847"
    )
    assert listed["format: ax"].rows == "test 1,104"
    assert listed["format: hellaswag"].kind == "choice"


def test_word_sets_are_listed_by_their_own_names() -> None:
    listed = {one.title: one for one in list_tasks() if one.kind == "word vectors"}
    rows = {title: one.rows for title, one in listed.items()}
    assert rows["MEN"] == "3,000"
    assert rows["MSR's analogies"] == "8,000"
    assert rows["BATS 3.0"] == "40 × 2,450"
    assert len(rows) == 16
    assert listed["RW"].name == "probe of kind similarity"


@pytest.mark.parametrize("width", [60, 120, 160, 240])
def test_the_command_prints_them_at_every_width(width: int) -> None:
    result = CliRunner().invoke(app, ["tasks"], env={"COLUMNS": str(width)})
    assert result.exit_code == 0
    for known in KNOWN.values():
        assert known.title.split(",")[0] in result.output
    assert all(len(line) <= width for line in result.output.splitlines())


def test_a_narrow_terminal_gets_a_block_a_task() -> None:
    result = CliRunner().invoke(app, ["tasks"], env={"COLUMNS": "120"})
    assert (
        "CoLA\n  in params.yaml: format: cola\n  kind: classification\n  metrics: matthews, accuracy\n"
        "  rows: train 8,551, dev 1,043, test 1,063\n  where to get it: gluebenchmark.com/tasks; Hub: nyu-mll/glue:cola\n"
        "  licence: examples from published texts on linguistics\n\nSST-2\n"
    ) in result.output
