"""What a model is asked, from outside: records of text, of pairs, of questions on a context, of tokens to tag, of choices.

Ids are the asker's own business: they may be missing or repeat, so the predictor sees positions instead, and the answers
get the asker's ids back.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from stemma.data.lines import check_text
from stemma.errors import InputError
from stemma.protocols import HeadKind
from stemma.tasks.base import ANSWERS, PREDICTION_SCHEMAS, ROW_SCHEMAS

__all__ = ["FIELDS", "ask", "question_rows"]

Record = Mapping[str, Any]
Predict = Callable[[pa.Table], pa.Table]

FIELDS: Final[dict[HeadKind, dict[str, bool]]] = {  # what a record has, and whether it must
    "classification": {"text": True, "text_pair": False},
    "regression": {"text": True, "text_pair": False},
    "span": {"context": True, "question": True},
    "tagging": {"tokens": True, "document": False},
    "choice": {"context": True, "question": False, "choices": True},
}
_LISTS: Final = {"tokens": "words", "choices": "texts"}  # and of what


def ask(predict: Predict, kind: HeadKind, records: Sequence[Record], where: Sequence[str]) -> pa.Table:
    """The answers to some records, in their order; `where` says where each came from, for errors."""
    rows = question_rows(kind, records, where)
    answers = predict(rows).cast(PREDICTION_SCHEMAS[kind])
    assert answers["id"].to_pylist() == rows["id"].to_pylist(), "a predictor answers every row, in order"
    ids = [str(position if _missing(record.get("id")) else record["id"]) for position, record in enumerate(records, 1)]
    return answers.set_column(0, "id", pa.array(ids, pa.string()))


def question_rows(kind: HeadKind, records: Sequence[Record], where: Sequence[str]) -> pa.Table:
    """Records as rows of a task, without the answer; ids are positions."""
    schema = ROW_SCHEMAS[kind]
    columns: dict[str, list[Any]] = {"id": [str(position) for position in range(len(records))]}
    for name, required in FIELDS[kind].items():
        columns[name] = [_value(record, name, required, place) for record, place in zip(records, where, strict=True)]
    columns["document"] = [document or "" for document in columns.get("document", [None] * len(records))]
    schema = pa.schema([field for field in schema if field.name != ANSWERS[kind]])
    return pa.table(columns, schema=schema)


def _value(record: Record, name: str, required: bool, where: str) -> str | list[str] | None:
    value = record.get(name)
    if _missing(value):
        if required:
            given = ", ".join(repr(key) for key in record) or "nothing"
            raise InputError(f"{where}: no {name!r}; there is {given}")
        return None
    if name in _LISTS:
        return _texts(value, name, where)
    if not isinstance(value, str):
        raise InputError(f"{where}: {name!r} must be text, not {type(value).__name__}")
    return check_text(value, f"{where}: {name!r}")


def _texts(value: Any, name: str, where: str) -> list[str]:
    texts = value.tolist() if hasattr(value, "tolist") else value  # a server hands over arrays
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"{where}: {name!r} must be a list of {_LISTS[name]}")
    return [check_text(text, f"{where}: {name!r}") for text in texts]


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))  # pandas fills a gap with NaN
