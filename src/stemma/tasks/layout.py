"""How a file holds the rows of a task: what its columns are called, how labels are spelled, what to leave out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from stemma.errors import InputError, SettingsError
from stemma.protocols import HeadKind
from stemma.tasks.base import ANSWERS

__all__ = ["Column", "Columns", "Format", "Layout", "LeaveOut", "check_columns", "columns_of", "read_score"]

Format = Literal["tsv", "csv", "jsonl", "parquet", "squad", "conll", "trees"]
Column = str | int | list[str | int] | tuple[str, ...]  # a list: columns that together are one; a tuple: other names
Columns = Mapping[str, Column]
LeaveOut = Callable[[str, str], None]  # told where a row stands and why it is left out

_REQUIRED: dict[HeadKind, tuple[str, ...]] = {
    "classification": ("text",),
    "regression": ("text",),
    "span": ("context", "question"),
    "tagging": ("tokens",),
    "choice": ("context", "choices"),
}
_OPTIONAL: dict[HeadKind, tuple[str, ...]] = {
    "classification": ("id", "document", "text_pair"),
    "regression": ("id", "document", "text_pair"),
    "span": ("id", "document"),
    "tagging": ("id", "document"),
    "choice": ("id", "document", "question"),
}
_LISTS = ("choices", "id")  # what several columns may be together


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How one file is to be read."""

    format: Format
    columns: Columns = field(default_factory=dict)  # what each of our columns is called there
    header: bool = True  # whether the first line of a table names its columns
    bare: Columns | None = None  # where columns stand if the first line does not name them after all
    label_names: Mapping[str, str] = field(default_factory=dict)
    no_label: frozenset[str] = frozenset()  # labels that say that there is none: such rows are left out
    uneven: Literal["refuse", "leave out", "more"] = "refuse"  # lines of another width; "more" columns may follow
    misplaced: Literal["quarantine", "move"] = "quarantine"  # answers that are not where they are said to be
    answers: bool = True  # whether rows have what is asked for; those of a file to be submitted have not


def columns_of(kind: HeadKind, *, answers: bool = True) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a row of a kind must have, and may have beside it."""
    return (*_REQUIRED[kind], *((ANSWERS[kind],) if answers else ())), _OPTIONAL[kind]


def read_score(value: object, where: str) -> float:
    """A score as a number, which may still be out of range."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    try:
        return float(value if isinstance(value, str) else "")
    except ValueError:
        raise InputError(f"{where}: score {value!r} is no number") from None


def check_columns(kind: HeadKind, columns: Columns) -> None:
    """Refuse columns that rows of a kind do not have, and a list of them for what is no list."""
    required, optional = columns_of(kind)
    known = (*required, *optional)
    unknown = set(columns) - set(known)
    if unknown:
        raise SettingsError(f"columns: no {min(unknown)!r} among {', '.join(known)}")
    for ours, theirs in columns.items():
        if isinstance(theirs, list) and ours not in _LISTS:
            raise SettingsError(f"columns: {ours!r} is one column, not {len(theirs)}")
