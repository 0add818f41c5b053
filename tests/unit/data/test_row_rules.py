"""The columns that rules on text look at."""

import pyarrow as pa
import pytest

from stemma.data.documents import DOCUMENT_SCHEMA
from stemma.data.row_rules import BAD_CHARACTER_SHARE, derive_documents, readable, text_columns
from tests import toy_inputs


def shares(*texts: str | None) -> dict[str, list[float]]:
    column = pa.chunked_array([pa.array(texts, pa.string())])
    columns = text_columns([column], pa.array([True] * len(texts)))
    return {name: values.to_pylist() for name, values in columns.items() if name != "valid_utf8"}


def test_white_space_and_letters_of_any_script_are_no_control_characters() -> None:
    found = shares("tab\t line\r\n page\f next\x85", "Ünï 中文 עברית \u200d👩\u200d🚀 \u2028", "", None)
    assert found["control_share"] == [0, 0, 0, 0]


@pytest.mark.parametrize("character", ["\x00", "\x08", "\x1b", "\x7f", "\x80", "\x9f"])
def test_control_characters_are_counted_by_character_not_byte(character: str) -> None:
    assert shares(f"é{character}é中")["control_share"] == [0.25]


def test_one_stray_character_does_not_cost_a_book() -> None:
    book, page = shares("x" * 20_000 + "\ufffd", "x" * 2_000 + "\ufffd")["replacement_share"]
    assert book < BAD_CHARACTER_SHARE < page


def test_bytes_that_are_no_text_are_found_by_row_and_replaced() -> None:
    data = [b"good", b"lone \xed\xa0\x80", b"cut \xc3", "ü".encode()]
    table = pa.table({"text": pa.array(data, pa.binary()).view(pa.string()), "number": [1, 2, 3, 4]})
    plain, valid = readable(table)
    assert valid.to_pylist() == [True, False, False, True]
    assert plain["text"].to_pylist() == ["good", "lone \ufffd\ufffd\ufffd", "cut \ufffd", "ü"]
    assert plain["number"].to_pylist() == [1, 2, 3, 4]


def test_characters_are_counted_as_a_reader_counts() -> None:
    document = {**toy_inputs.document(1), "text": "中文é"}
    table = pa.Table.from_pylist([document], schema=DOCUMENT_SCHEMA)
    derived = derive_documents(table, pa.nulls(1, pa.string()))
    assert derived["characters"].to_pylist() == [3]
