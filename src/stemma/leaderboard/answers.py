"""The answers that `evaluate` stored: read back, held against the majority's, and against what is right."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stemma.config import Task
from stemma.errors import InputError

__all__ = ["MAJORITY", "answer_column", "degenerate_seeds", "read_answers"]

MAJORITY: Final = "majority"
_BESIDE: Final = ("id", "probabilities", "start", "end")  # what a prediction has beside the answer itself
_SAME: Final = 1e-6  # numbers nearer than this are one answer


def read_answers(folder: Path, rows: Sequence[str]) -> dict[int, pa.Table]:
    """A system's answers on a task by seed, each in the order of `rows` (ids); none where nothing is stored."""
    found = {}
    for path in sorted(folder.glob("seed-*.parquet")):
        seed = re.fullmatch(r"seed-(\d+)\.parquet", path.name)
        if seed:
            found[int(seed[1])] = _in_order(pq.read_table(path), rows, path)
    return dict(sorted(found.items()))


def answer_column(table: pa.Table) -> str:
    """The column that holds the answers."""
    return next(str(name) for name in table.column_names if name not in _BESIDE)


def degenerate_seeds(task: Task, answers: dict[int, pa.Table], majority: dict[int, pa.Table]) -> list[int]:
    """The seeds whose run gives the majority's answer throughout, or some other answer throughout."""
    commonest = [_values(table) for table in majority.values()]
    return [
        seed
        for seed, table in answers.items()
        if _values(table) in commonest or (task.kind != "span" and _is_constant(_values(table)))
    ]


def _in_order(table: pa.Table, rows: Sequence[str], path: Path) -> pa.Table:
    given = table["id"].to_pylist()
    if given == list(rows):
        return table
    places = {row: place for place, row in enumerate(given)}
    if len(places) != len(rows) or not places.keys() >= set(rows):
        raise InputError(f"{path}: not the answers to the test rows that there are; run `dvc repro evaluate`")
    return table.take([places[row] for row in rows])


def _values(table: pa.Table) -> list[Any]:
    return list(table[answer_column(table)].to_pylist())


def _is_constant(values: list[Any]) -> bool:
    """Whether all answers are one: a label, a number, or the same tag at every token."""
    if values and isinstance(values[0], float):
        return bool(np.ptp(values) < _SAME)
    flat = [tag for tags in values for tag in tags] if values and isinstance(values[0], list) else values
    return len(set(flat)) <= 1
