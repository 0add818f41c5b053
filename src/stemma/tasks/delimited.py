"""Tables of text: tab-separated files as GLUE has them, comma-separated files with quotes."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from stemma.config import TaskFiles
from stemma.data.lines import read_lines
from stemma.errors import InputError, SettingsError

__all__ = ["read_delimited"]

REQUIRED: Final = ("text", "label")
OPTIONAL: Final = ("id", "document", "text_pair")


def read_delimited(path: Path, name: str, source: TaskFiles) -> Iterator[dict[str, Any]]:
    """The rows of a classification file: text, label, and what else of id, document and text_pair it has."""
    records = _read_tsv(path, name) if source.format == "tsv" else _read_csv(path, name)
    number, first = next(records, (1, None))
    if first is None:
        raise InputError(f"{name}: the file is empty")
    width = len(first)
    positions = _find_columns(first if source.header else None, width, source.columns, f"{name}:{number}")
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
    header: Sequence[str] | None, width: int, columns: Mapping[str, str | int], where: str
) -> dict[str, int]:
    """Where each of our columns stands: by number, by the name that the settings give, or by our own name."""
    unknown = set(columns) - set(REQUIRED) - set(OPTIONAL)
    if unknown:
        raise SettingsError(f"columns: no {min(unknown)!r} among {', '.join((*REQUIRED, *OPTIONAL))}")
    positions = {}
    for ours in (*REQUIRED, *OPTIONAL):
        theirs = columns.get(ours, ours)
        if isinstance(theirs, str) and header is not None and theirs in header:
            positions[ours] = list(header).index(theirs)
        elif isinstance(theirs, int) and 0 <= theirs < width:
            positions[ours] = theirs
        elif ours in columns or ours in REQUIRED:
            found = ", ".join(map(repr, header)) if header is not None else f"{width} without names"
            raise InputError(f"{where}: no column {theirs!r} for {ours!r}; the columns are {found}")
    return positions


def _row(fields: Sequence[str], positions: Mapping[str, int], source: TaskFiles) -> dict[str, Any]:
    row: dict[str, Any] = {ours: fields[position] for ours, position in positions.items()}
    row["label"] = source.label_names.get(row["label"], row["label"])
    return row
