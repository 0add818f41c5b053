"""Two rows of the table held against each other, task by task and probe by probe: from the comparisons that the table carries."""

from collections.abc import Mapping
from typing import Any

from stemma.errors import InputError
from stemma.tasks.systems import correct

__all__ = ["compare_rows"]


def compare_rows(table: Mapping[str, Any], first: str, second: str, task: str | None = None) -> list[dict[str, Any]]:
    """How much the first is above the second on each task and probe that has both, or on one; Holm's correction over these."""
    for name in (first, second):
        _check_row(table, name)
    if first == second:
        raise InputError(f"--compare: {first!r} is both rows; name two")
    names = [column["name"] for column in table["columns"]]
    if task is not None and task not in names:
        raise InputError(f"--task: no {task!r} in the table; there are {', '.join(names)}")
    found = [
        {"task": name, **_turned(one, first)}
        for name in names
        if task in (None, name)
        for one in table["comparisons"].get(name, [])
        if {one["first"], one["second"]} == {first, second}
    ]
    if not found:
        where = "no task" if task is None else task
        raise InputError(f"--compare: {where} has answers of both {first!r} and {second!r}; see `stemma leaderboard`")
    return correct(found)


def _check_row(table: Mapping[str, Any], name: str) -> None:
    rows = [row["name"] for row in table["rows"]]
    if name in rows:
        return
    if name in [row["name"] for row in table["published"]]:
        raise InputError(f"--compare: {name!r} is a published row, and no answers are published that could be paired")
    raise InputError(f"--compare: no row {name!r}; there are {', '.join(rows)}")


def _turned(one: Mapping[str, Any], first: str) -> dict[str, Any]:
    """A comparison with `first` as its first."""
    if one["first"] == first:
        return dict(one)
    turned = {"first": first, "second": one["first"], "difference": -one["difference"] + 0.0}
    return {**one, **turned, "low": -one["high"] + 0.0, "high": -one["low"] + 0.0}
