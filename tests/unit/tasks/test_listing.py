"""`stemma tasks`: every known task has its line, and says what a user needs to get and to name it."""

from dataclasses import astuple

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


def test_the_command_prints_them() -> None:
    result = CliRunner().invoke(app, ["tasks"], env={"COLUMNS": "240"})
    assert result.exit_code == 0
    for known in KNOWN.values():
        assert known.title.split(",")[0] in result.output
