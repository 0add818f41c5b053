from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stemma.data.documents import (
    DOCUMENT_SCHEMA,
    Document,
    RowGroupWriter,
    count_documents,
    document_id,
    document_row,
    read_documents,
)
from stemma.errors import InputError
from stemma.files import digest_tree


def write(folder: Path, texts: list[str], **options: int) -> None:
    with RowGroupWriter(folder, "documents", DOCUMENT_SCHEMA, **options) as writer:
        for number, text in enumerate(texts):
            row = document_row(Document(key=str(number), title=f"T{number}", text=text), "source", "CC0")
            writer.write(row, len(text))


def test_what_is_written_is_read_back_in_order(tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(2500)]
    write(tmp_path, texts)
    tables = list(read_documents(tmp_path))
    assert [len(table) for table in tables] == [1000, 1000, 500]
    assert pa.concat_tables(tables)["text"].to_pylist() == texts
    assert count_documents(tmp_path) == 2500


def test_long_documents_end_a_row_group_early(tmp_path: Path) -> None:
    write(tmp_path, ["x" * (size << 20) for size in (1, 3, 1, 9, 2, 2)])
    assert [len(table) for table in read_documents(tmp_path)] == [2, 1, 1, 2]


def test_files_are_bounded(tmp_path: Path) -> None:
    write(tmp_path, ["x" * (5 << 20)] * 3, bytes_per_file=6 << 20)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["documents-00000.parquet", "documents-00001.parquet"]
    assert count_documents(tmp_path) == 3


def test_no_documents_is_a_file_with_no_rows(tmp_path: Path) -> None:
    write(tmp_path, [])
    assert count_documents(tmp_path) == 0
    assert list(read_documents(tmp_path)) == []


def test_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    write(tmp_path / "a", ["one", "two"])
    write(tmp_path / "b", ["one", "two"])
    assert digest_tree([tmp_path / "a"]) == digest_tree([tmp_path / "b"])


def test_ids_depend_on_source_and_key_alone() -> None:
    assert document_id("a", "1") == document_id("a", "1") != document_id("b", "1") != document_id("b", "2")
    assert len(document_id("a", "1")) == 32


def test_a_folder_without_parquet_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no parquet files"):
        list(read_documents(tmp_path))


def test_other_columns_are_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["1"], "body": ["x"]}), tmp_path / "documents-00000.parquet")
    with pytest.raises(InputError, match=r"documents-00000.parquet: columns are id string, body string, expected id"):
        list(read_documents(tmp_path))


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "documents-00000.parquet").write_bytes(b"not parquet")
    with pytest.raises(InputError, match=r"documents-00000.parquet: not readable as parquet"):
        list(read_documents(tmp_path))
