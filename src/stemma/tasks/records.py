"""Rows with named values (JSON lines, parquet, the Hub) as rows of a task's kind."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stemma.data.lines import check_text, read_json_lines
from stemma.errors import InputError
from stemma.protocols import HeadKind
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.layout import Column, Layout, check_columns, columns_of, read_score
from stemma.tasks.squad import check_answers

__all__ = ["convert_record", "read_jsonl", "read_parquet"]

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


def convert_record(record: Mapping[str, Any], where: str, kind: HeadKind, layout: Layout) -> dict[str, Any]:
    """A row of `kind` from a record whose keys the layout's `columns` translate."""
    check_columns(kind, layout.columns)
    required, optional = columns_of(kind, answers=layout.answers)
    row: dict[str, Any] = {"where": where}
    for ours in (*required, *optional):
        theirs = _present(layout.columns.get(ours, ours), record)
        if isinstance(theirs, list):
            read = _id_part if ours == "id" else check_text
            texts = [read(_value(record, name, ours, where), f"{where}: {name!r}") for name in theirs]
            row[ours] = "-".join(texts) if ours == "id" else texts
        elif theirs in record or ours in layout.columns or ours in required:
            value = _value(record, theirs, ours, where)
            absent = value is None and ROW_SCHEMAS[kind].field(ours).nullable
            row[ours] = None if absent else _convert(ours, value, f"{where}: {theirs!r}", layout.label_names)
    return row


def _present(column: Column, record: Mapping[str, Any]) -> str | int | list[str | int]:
    """Of several names for a column the first that the record has, or the first of all."""
    if isinstance(column, tuple):
        return next((name for name in column if name in record), column[0])
    return column


def _value(record: Mapping[str, Any], theirs: str | int, ours: str, where: str) -> object:
    if theirs not in record:
        raise InputError(f"{where}: no {theirs!r} for {ours!r}; there are {', '.join(map(repr, sorted(record)))}")
    return record[str(theirs)]


def _convert(ours: str, value: object, where: str, label_names: Mapping[str, str]) -> object:
    match ours:
        case "answers":
            return check_answers(value, where)
        case "score":
            return read_score(value, where)
        case "label":
            return _label(value, where, label_names)
        case "tokens" | "choices":
            return [check_text(text, where) for text in _list(value, where)]
        case "tags":
            return [_label(tag, where, label_names) for tag in _list(value, where)]
        case "id":
            return _id_part(value, where)
    return check_text(value, where)


def _id_part(value: object, where: str) -> str:
    return str(value) if isinstance(value, int) else check_text(value, where)


def _label(value: object, where: str, label_names: Mapping[str, str]) -> str:
    raw = str(value) if isinstance(value, int | float) else check_text(value, where)
    return label_names.get(raw, raw)


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{where}: expected a list, found {type(value).__name__}")
    return value
