"""What every row must hold: rules as records, and the columns that they look at, derived a row group at a time.

A rule names an expectation in Great Expectations' words; who checks it is an adapter's business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from stemma.config import Validation

__all__ = [
    "BAD_CHARACTER_SHARE",
    "Rule",
    "derive_documents",
    "document_rules",
    "duplicate_rule",
    "readable",
    "text_columns",
    "text_rules",
]

# One stray character must not cost a whole book, but a tenth of a per mille is no stray.
BAD_CHARACTER_SHARE: Final = 1e-4
_REPLACEMENT: Final = "\ufffd"
_CONTROL: Final = r"[\x{0}-\x{8}\x{B}\x{E}-\x{1F}\x{7F}-\x{84}\x{86}-\x{9F}]"  # all but white space (and U+0085)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """An expectation on derived columns; `reason` is what quarantine says of a row that fails, from the row's values."""

    name: str
    expectation: str
    kwargs: Mapping[str, object]
    reason: str


def document_rules(settings: Validation) -> tuple[Rule, ...]:
    """What every document of a corpus must hold."""
    return (
        *(_filled(column) for column in ("id", "source", "licence")),
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
        duplicate_rule(),
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


def duplicate_rule() -> Rule:
    """No row repeats an earlier one, or one of a split that is scored; which do is found over the whole input."""
    return Rule(
        name="duplicate",
        expectation="expect_column_values_to_be_null",
        kwargs={"column": "duplicate_of"},
        reason="duplicate of {duplicate_of}",
    )


def derive_documents(table: pa.Table, duplicate_of: pa.Array) -> pa.Table:
    """The columns that `document_rules` look at."""
    plain, valid = readable(table)
    return pa.table(
        {
            **{name: plain[name] for name in ("id", "source", "licence")},
            "characters": pc.utf8_length(plain["text"]),
            **text_columns([plain["text"]], valid),
            "duplicate_of": duplicate_of,
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


def _filled(column: str) -> Rule:
    return Rule(
        name=column,
        expectation="expect_column_value_lengths_to_be_between",
        kwargs={"column": column, "min_value": 1},
        reason=f"{column} is empty",
    )


def _rare(name: str, what: str) -> Rule:
    column = f"{name}_share"
    return Rule(
        name=name,
        expectation="expect_column_values_to_be_between",
        kwargs={"column": column, "min_value": 0, "max_value": BAD_CHARACTER_SHARE},
        reason=f"{{{column}:.2%}} of the text are {what}",
    )
