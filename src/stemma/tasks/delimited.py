"""Tables of text: tab-separated files as GLUE has them, comma-separated files with quotes."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stemma.config import TaskFiles
from stemma.data.lines import read_lines
from stemma.errors import InputError, SettingsError
from stemma.protocols import HeadKind
from stemma.tasks.records import OPTIONAL, REQUIRED, Columns, check_columns

__all__ = ["read_delimited"]

Place = int | list[int]  # of a column, or of those that together are one list


def read_delimited(path: Path, name: str, source: TaskFiles, kind: HeadKind) -> Iterator[dict[str, Any]]:
    """The rows of a file of classification or of choices: what a row must have, and what else it has of the rest."""
    records = _read_tsv(path, name) if source.format == "tsv" else _read_csv(path, name)
    number, first = next(records, (1, None))
    if first is None:
        raise InputError(f"{name}: the file is empty")
    width = len(first)
    header = first if source.header else None
    positions = _find_columns(kind, header, width, source.columns, f"{name}:{number}")
    if not source.header:
        yield _row(first, positions, source)
    for number, fields in records:
        if len(fields) != width:
            raise InputError(f"{name}:{number}: {len(fields)} columns, expected {width} as in the first line")
        yield _row(fields, positions, source)


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
    kind: HeadKind, header: Sequence[str] | None, width: int, columns: Columns, where: str
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

    for ours in (*REQUIRED[kind], *OPTIONAL[kind]):
        theirs = columns.get(ours, ours)
        if ours == "choices" and not isinstance(theirs, list):
            raise SettingsError("columns: 'choices' must be a list of columns, one a choice")
        if isinstance(theirs, list):
            positions[ours] = [find(ours, one) for one in theirs]
        elif ours in columns or ours in REQUIRED[kind] or ours in (header or ()):
            positions[ours] = find(ours, theirs)
    return positions


def _row(fields: Sequence[str], positions: Mapping[str, Place], source: TaskFiles) -> dict[str, Any]:
    row: dict[str, Any] = {
        ours: [fields[one] for one in place] if isinstance(place, list) else fields[place]
        for ours, place in positions.items()
    }
    row["label"] = source.label_names.get(row["label"], row["label"])
    return row
