"""Rows with named values (JSON lines, parquet, the Hub) as rows of a task's kind."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from stemma.data.lines import check_text, read_json_lines
from stemma.errors import InputError, SettingsError
from stemma.protocols import HeadKind
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.squad import check_answers

__all__ = ["OPTIONAL", "REQUIRED", "Columns", "check_columns", "convert_record", "read_jsonl", "read_parquet"]

Columns = Mapping[str, str | int | list[str | int]]

# What a row of a kind must have, and may have, beside its id and document.
REQUIRED: Final[dict[HeadKind, tuple[str, ...]]] = {
    "classification": ("text", "label"),
    "span": ("context", "question", "answers"),
    "tagging": ("tokens", "tags"),
    "choice": ("context", "choices", "label"),
}
OPTIONAL: Final[dict[HeadKind, tuple[str, ...]]] = {
    "classification": ("id", "document", "text_pair"),
    "span": ("id", "document"),
    "tagging": ("id", "document"),
    "choice": ("id", "document", "question"),
}
_BATCH = 1000


def read_jsonl(path: Path, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON lines file, each with where it stands."""
    for number, record in read_json_lines(path, name):
        yield f"{name}:{number}", record


def read_parquet(path: Path, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a parquet file, each with where it stands, a batch at a time."""
    if not path.is_file():
        raise InputError(f"{name}: no such file")
    row = 0
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(_BATCH, use_threads=False):
                for record in batch.to_pylist():
                    yield f"{name}: row {row}", record
                    row += 1
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: can't be read as parquet: {' '.join(str(error).split())}") from None


def convert_record(
    record: Mapping[str, Any],
    where: str,
    kind: HeadKind,
    columns: Columns,
    label_names: Mapping[str, str],
) -> dict[str, Any]:
    """A row of `kind` from a record whose keys the settings' `columns` translate."""
    check_columns(kind, columns)
    row: dict[str, Any] = {}
    for ours in (*REQUIRED[kind], *OPTIONAL[kind]):
        theirs = columns.get(ours, ours)
        if isinstance(theirs, list):
            row[ours] = [check_text(_value(record, name, ours, where), f"{where}: {name!r}") for name in theirs]
        elif theirs in record or ours in columns or ours in REQUIRED[kind]:
            value = _value(record, theirs, ours, where)
            absent = value is None and ROW_SCHEMAS[kind].field(ours).nullable
            row[ours] = None if absent else _convert(ours, value, f"{where}: {theirs!r}", label_names)
    return row


def check_columns(kind: HeadKind, columns: Columns) -> None:
    """Refuse columns that rows of a kind do not have, and a list of them for what is no list."""
    known = (*REQUIRED[kind], *OPTIONAL[kind])
    unknown = set(columns) - set(known)
    if unknown:
        raise SettingsError(f"columns: no {min(unknown)!r} among {', '.join(known)}")
    for ours, theirs in columns.items():
        if isinstance(theirs, list) and ours != "choices":
            raise SettingsError(f"columns: {ours!r} is one column, not {len(theirs)}")


def _value(record: Mapping[str, Any], theirs: str | int, ours: str, where: str) -> object:
    if theirs not in record:
        raise InputError(f"{where}: no {theirs!r} for {ours!r}; there are {', '.join(map(repr, sorted(record)))}")
    return record[str(theirs)]


def _convert(ours: str, value: object, where: str, label_names: Mapping[str, str]) -> object:
    match ours:
        case "answers":
            return check_answers(value, where)
        case "label":
            return _label(value, where, label_names)
        case "tokens" | "choices":
            return [check_text(text, where) for text in _list(value, where)]
        case "tags":
            return [_label(tag, where, label_names) for tag in _list(value, where)]
        case "id":
            return str(value) if isinstance(value, int) else check_text(value, where)
    return check_text(value, where)


def _label(value: object, where: str, label_names: Mapping[str, str]) -> str:
    raw = str(value) if isinstance(value, int | float) else check_text(value, where)
    return label_names.get(raw, raw)


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{where}: expected a list, found {type(value).__name__}")
    return value
