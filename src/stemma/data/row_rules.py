"""What every row must hold: rules as records, and the columns that they look at, derived a row group at a time.

A rule names an expectation in Great Expectations' words; who checks it is an adapter's business.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stemma.config import Validation

__all__ = [
    "BAD_CHARACTER_SHARE",
    "Rule",
    "Verdict",
    "derive_documents",
    "describe_schema",
    "document_rules",
    "filled_rule",
    "input_rules",
    "least_rule",
    "most_rule",
    "present_rules",
    "readable",
    "text_columns",
    "text_rules",
    "unique_rule",
]

# One stray character must not cost a whole book, but a tenth of a per mille is no stray.
BAD_CHARACTER_SHARE: Final = 1e-4
_REPLACEMENT: Final = "\ufffd"
_CONTROL: Final = r"[\x{0}-\x{8}\x{E}-\x{1F}\x{7F}-\x{84}\x{86}-\x{9F}]"  # all but those that are white space


@dataclass(frozen=True, kw_only=True)
class Rule:
    """An expectation on derived columns; `reason` is what quarantine says of a row that fails, from the row's values."""

    name: str
    expectation: str
    kwargs: Mapping[str, object]
    reason: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a rule says of a table: whether it holds, with counts or an observed value, and where rows fail it."""

    rule: Rule
    success: bool
    result: Mapping[str, Any]
    failing: Sequence[int]


def document_rules(settings: Validation) -> tuple[Rule, ...]:
    """What every document of a corpus must hold."""
    return (
        *present_rules("id", "source", "licence", "characters"),
        *(filled_rule(column) for column in ("id", "source", "licence")),
        Rule(
            name="length",
            expectation="expect_column_values_to_be_between",
            kwargs={
                "column": "characters",
                "min_value": settings.min_characters,
                "max_value": settings.max_characters,
            },
            reason="{characters} characters, expected {min_value} to {max_value}",
        ),
        *text_rules(),
        unique_rule("repeated_id", "its id"),
    )


def describe_schema(paths: Iterable[Path]) -> str:
    """The columns of parquet files, in one line; files that differ are told apart."""
    return " | ".join(dict.fromkeys(_columns(pq.read_schema(path)) for path in paths))


def input_rules(settings: Validation, schema: pa.Schema) -> tuple[Rule, ...]:
    """What every input must hold as a whole: the columns of `schema`, rows at all, and not too many that fail."""
    return (
        Rule(
            name="columns",
            expectation="expect_column_values_to_be_in_set",
            kwargs={"column": "columns", "value_set": [_columns(schema)]},
            reason="its columns are {columns}",
        ),
        least_rule("passed", 1, "no row is left"),
        most_rule(
            "quarantined_share",
            settings.max_quarantined_share,
            "{quarantined_share:.2%} of its rows fail, more than the {max_value:.2%} of validation.max_quarantined_share",
        ),
    )


def least_rule(column: str, value: float, reason: str) -> Rule:
    """A figure of a whole input is at least so much."""
    kwargs = {"column": column, "min_value": value}
    return Rule(name=_words(column), expectation="expect_column_min_to_be_between", kwargs=kwargs, reason=reason)


def most_rule(column: str, value: float, reason: str) -> Rule:
    """A figure of a whole input is at most so much."""
    kwargs = {"column": column, "max_value": value}
    return Rule(name=_words(column), expectation="expect_column_max_to_be_between", kwargs=kwargs, reason=reason)


def present_rules(*columns: str) -> tuple[Rule, ...]:
    """No nulls in any of some columns."""
    return tuple(
        Rule(
            name=f"{column} null",
            expectation="expect_column_values_to_not_be_null",
            kwargs={"column": column},
            reason=f"{column} is null",
        )
        for column in columns
    )


def filled_rule(column: str) -> Rule:
    """No empty text in a column."""
    return Rule(
        name=f"{column} empty",
        expectation="expect_column_value_lengths_to_be_between",
        kwargs={"column": column, "min_value": 1},
        reason=f"{column} is empty",
    )


def text_rules() -> tuple[Rule, ...]:
    """What every text must hold, whatever it is part of."""
    return (
        Rule(
            name="encoding",
            expectation="expect_column_values_to_be_in_set",
            kwargs={"column": "valid_utf8", "value_set": [True]},
            reason="not valid UTF-8 (lone surrogates or broken bytes)",
        ),
        _rare("replacement", "replacement characters (U+FFFD), as a wrong decoding leaves them"),
        _rare("control", "control characters"),
    )


def unique_rule(column: str, what: str) -> Rule:
    """No row repeats another; the column, found over the whole input, says where the other stands, or nothing."""
    return Rule(
        name=_words(column),
        expectation="expect_column_values_to_be_null",
        kwargs={"column": column},
        reason=f"{what} is that of {{{column}}}",
    )


def derive_documents(table: pa.Table, repeated_id: pa.Array) -> pa.Table:
    """The columns that `document_rules` look at; `repeated_id` says where an id stood before, or null."""
    plain, valid = readable(table)
    return pa.table(
        {
            **{name: plain[name] for name in ("id", "source", "licence")},
            "characters": pc.utf8_length(plain["text"]),
            **text_columns([plain["text"]], valid),
            "repeated_id": repeated_id,
        }
    )


def text_columns(texts: Sequence[pa.ChunkedArray], valid: pa.Array) -> dict[str, pa.Array]:
    """How much of each row's texts is a replacement or a control character."""
    length = _total([pc.utf8_length(text) for text in texts])
    replacement = _total([pc.count_substring(text, _REPLACEMENT) for text in texts])
    control = _total([pc.count_substring_regex(text, _CONTROL) for text in texts])
    divisor = pc.max_element_wise(length, 1)
    return {
        "valid_utf8": valid,
        "replacement_share": pc.divide(pc.cast(replacement, pa.float64()), divisor),
        "control_share": pc.divide(pc.cast(control, pa.float64()), divisor),
    }


def readable(table: pa.Table) -> tuple[pa.Table, pa.Array]:
    """The table with undecodable text replaced, and which rows had none; parquet readers do not look by themselves."""
    try:
        table.validate(full=True)
    except pa.ArrowInvalid:
        return _replace_undecodable(table)
    return table, pa.array([True] * table.num_rows, pa.bool_())


def _replace_undecodable(table: pa.Table) -> tuple[pa.Table, pa.Array]:
    valid = [True] * table.num_rows
    for position, field in enumerate(table.schema):
        if field.type != pa.string():
            continue
        values: list[str | None] = []
        for row, data in enumerate(table[field.name].cast(pa.binary()).to_pylist()):
            text = None if data is None else data.decode("utf-8", "replace")
            valid[row] &= text is None or text.encode() == data
            values.append(text)
        table = table.set_column(position, field, pa.array(values, pa.string()))
    return table, pa.array(valid, pa.bool_())


def _total(counts: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    total = pc.fill_null(counts[0], 0)
    for count in counts[1:]:
        total = pc.add(total, pc.fill_null(count, 0))
    return total


def _rare(name: str, what: str) -> Rule:
    column = f"{name}_share"
    return Rule(
        name=name,
        expectation="expect_column_values_to_be_between",
        kwargs={"column": column, "min_value": 0, "max_value": BAD_CHARACTER_SHARE},
        reason=f"{{{column}:.2%}} of the text are {what}",
    )


def _words(column: str) -> str:
    return column.replace("_", " ")


def _columns(schema: pa.Schema) -> str:
    # What a list calls its values is the writer's affair: `element` in parquet, `item` in Arrow.
    return ", ".join(f"{field.name} {field.type}".replace("<element: ", "<item: ") for field in schema)
