"""Tables of text: tab-separated files as GLUE has them, comma-separated files with quotes."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from stemma.data.lines import read_lines
from stemma.errors import InputError, SettingsError
from stemma.protocols import HeadKind
from stemma.tasks.layout import Column, Columns, Layout, LeaveOut, check_columns, columns_of, read_score

__all__ = ["read_delimited"]

Place = int | list[int]  # of a column, or of those that together are one


def read_delimited(
    path: Path, name: str, layout: Layout, kind: HeadKind, leave_out: LeaveOut
) -> Iterator[dict[str, Any]]:
    """The rows of a file of texts or of choices: what a row must have, and what else it has of the rest."""
    records = _read_tsv(path, name) if layout.format == "tsv" else _read_csv(path, name)
    begin, first = next(records, (1, None))
    if first is None:
        raise InputError(f"{name}: the file is empty")
    named, columns = _first_line(first, kind, layout)
    positions = _find_columns(kind, first if named else None, len(first), columns, layout, f"{name}:{begin}")
    for number, fields in records if named else chain([(begin, first)], records):
        where = f"{name}:{number}"
        if len(fields) == len(first) or (layout.uneven == "more" and len(fields) > len(first)):
            yield _row(fields, positions, layout, where)
            continue
        problem = f"{len(fields)} columns, expected {len(first)} as in the first line"
        if layout.uneven != "leave out":
            raise InputError(f"{where}: {problem}")
        leave_out(where, problem)


def _first_line(fields: Sequence[str], kind: HeadKind, layout: Layout) -> tuple[bool, Columns]:
    """Whether a file's first line names its columns, and how to find ours."""
    if layout.bare is None:
        return layout.header, layout.columns
    required, _ = columns_of(kind, answers=False)
    if all(_present(layout.columns.get(ours, ours), fields) in fields for ours in required):
        return True, layout.columns
    return False, layout.bare


def _read_tsv(path: Path, name: str) -> Iterator[tuple[int, Sequence[str]]]:
    # A quote is a character like any other here (csv.QUOTE_NONE), and a field may be of any length.
    return ((number, line.split("\t")) for number, line in read_lines(path, name) if line)


def _read_csv(path: Path, name: str) -> Iterator[tuple[int, Sequence[str]]]:
    lines = (f"{line}\n" for _, line in read_lines(path, name))
    reader = csv.reader(lines, strict=True)
    try:
        for fields in reader:
            if fields:
                yield reader.line_num, fields
    except csv.Error as error:
        raise InputError(f"{name}:{reader.line_num}: not valid CSV: {error}") from None


def _find_columns(
    kind: HeadKind, header: Sequence[str] | None, width: int, columns: Columns, layout: Layout, where: str
) -> dict[str, Place]:
    """Where each of our columns stands: by number, by the name that the settings give, or by our own name."""
    check_columns(kind, columns)
    positions: dict[str, Place] = {}

    def find(ours: str, theirs: str | int) -> int:
        if isinstance(theirs, str) and header is not None and theirs in header:
            return list(header).index(theirs)
        if isinstance(theirs, int) and 0 <= theirs < width:
            return theirs
        found = ", ".join(map(repr, header)) if header is not None else f"{width} without names"
        raise InputError(f"{where}: no column {theirs!r} for {ours!r}; the columns are {found}")

    required, optional = columns_of(kind, answers=layout.answers)
    for ours in (*required, *optional):
        theirs = _present(columns.get(ours, ours), header or ())
        if ours == "choices" and not isinstance(theirs, list):
            raise SettingsError("columns: 'choices' must be a list of columns, one a choice")
        if isinstance(theirs, list):
            positions[ours] = [find(ours, one) for one in theirs]
        elif ours in columns or ours in required or ours in (header or ()):
            positions[ours] = find(ours, theirs)
    return positions


def _present(column: Column, header: Sequence[str]) -> str | int | list[str | int]:
    """Of several names for a column the first that the file has, or the first of all."""
    if isinstance(column, tuple):
        return next((name for name in column if name in header), column[0])
    return column


def _row(fields: Sequence[str], positions: Mapping[str, Place], layout: Layout, where: str) -> dict[str, Any]:
    row: dict[str, Any] = {"where": where}
    for ours, place in positions.items():
        if isinstance(place, list):
            texts = [fields[one] for one in place]
            row[ours] = "-".join(texts) if ours == "id" else texts
        else:
            row[ours] = fields[place]
    if "score" in row:
        row["score"] = read_score(row["score"], where)
    if "label" in row:
        row["label"] = layout.label_names.get(row["label"], row["label"])
    return row
