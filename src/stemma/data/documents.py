"""Documents of a corpus: rows of parquet files, written and read a row group at a time.

A row group ends at a thousand documents, or before the document that would make it more than a few MiB of text, so that memory
does not grow with the corpus: a longer document is a group by itself.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from stemma.data.splits import Split
from stemma.data.string_columns import string_array, string_list_array
from stemma.errors import InputError

__all__ = [
    "DOCUMENT_SCHEMA",
    "Document",
    "RowGroupWriter",
    "count_documents",
    "document_id",
    "document_row",
    "parquet_files",
    "read_documents",
    "read_row_groups",
]

DOCUMENT_SCHEMA: Final = pa.schema(
    [pa.field(name, pa.string(), nullable=False) for name in ("id", "source", "licence", "title", "text")]
)
ROWS_PER_GROUP: Final = 1000
BYTES_PER_GROUP: Final = 4 << 20
BYTES_PER_FILE: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Document:
    """A document as a source gives it: `key` is its own id, title or position, unique within the source.

    In a parallel corpus it is a sentence and its translation, in two lines. A source that has splits of its own says the `split`.
    """

    key: str
    title: str
    text: str
    split: Split | None = None


def document_id(source: str, key: str, split: Split | None = None) -> str:
    """A document's stable id: a hash of its source's name and its key there, after its split if the source says one."""
    digest = hashlib.blake2b(f"{source}\0{key}".encode(), digest_size=16).hexdigest()
    return f"{split}-{digest}" if split else digest


def document_row(document: Document, source: str, licence: str) -> dict[str, bytes]:
    """A document as a row of `DOCUMENT_SCHEMA`, in UTF-8."""
    values = {
        "id": document_id(source, document.key, document.split),
        "source": source,
        "licence": licence,
        "title": document.title,
        "text": document.text,
    }
    return {name: value.encode() for name, value in values.items()}


class RowGroupWriter:
    """Writes rows into `<stem>-00000.parquet`, `<stem>-00001.parquet`, … of a folder, a row group at a time.

    Columns are strings or lists of strings; of either, a value may be given as UTF-8, a list as lines. Even without rows there
    is a first file, so that a reader finds the schema.
    """

    def __init__(self, folder: Path, stem: str, schema: pa.Schema, *, bytes_per_file: int = BYTES_PER_FILE) -> None:
        self._folder, self._stem, self._schema, self._bytes_per_file = folder, stem, schema, bytes_per_file
        self._rows: list[list[bytes]] = []  # a value a column
        self._buffered = self._in_file = self._num_files = 0
        self._writer: pq.ParquetWriter | None = None

    def write(self, row: Mapping[str, object], num_bytes: int) -> None:
        """Add a row of about `num_bytes`."""
        if self._rows and self._buffered + num_bytes > BYTES_PER_GROUP:
            self._flush()
        self._rows.append(
            [_encode(row[field.name]) for field in self._schema]
        )  # bytes take half of most strings' memory
        self._buffered += num_bytes
        if len(self._rows) >= ROWS_PER_GROUP or self._buffered >= BYTES_PER_GROUP:
            self._flush()

    def close(self) -> None:
        """Write what is left."""
        if self._rows or self._num_files == 0:
            self._flush()
        self._close_file()

    def __enter__(self) -> "RowGroupWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._close_file()

    def _flush(self) -> None:
        if self._writer is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{self._stem}-{self._num_files:05d}.parquet"
            self._writer = pq.ParquetWriter(
                path,
                self._schema,
                compression="zstd",
                use_dictionary=False,
                write_statistics=False,  # they would hold whole texts, and nobody asks for the least and greatest of them
            )
            self._num_files += 1
        if self._rows:
            values = zip(*self._rows, strict=True)
            self._rows = []
            columns = [_column(column, field.type) for column, field in zip(values, self._schema, strict=True)]
            del values
            self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))
            del columns
            pa.default_memory_pool().release_unused()  # Arrow would keep tens of MB for the next time
        self._in_file += self._buffered
        self._rows, self._buffered = [], 0
        if self._in_file >= self._bytes_per_file:
            self._close_file()

    def _close_file(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer, self._in_file = None, 0


def parquet_files(folder: Path) -> list[Path]:
    """The parquet files of a folder, in order."""
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise InputError(f"{folder}: no parquet files there; run the stage that writes them")
    return files


def read_row_groups(path: Path, schema: pa.Schema, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """The row groups of a parquet file as tables of `schema`; other columns than it asks for are an error."""
    try:
        # No memory map and no read-ahead: both would count the whole file as this process's memory.
        with pq.ParquetFile(path, memory_map=False, pre_buffer=False) as file:
            if not file.schema_arrow.equals(schema):
                raise InputError(f"{path}: columns are {_describe(file.schema_arrow)}, expected {_describe(schema)}")
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns=columns, use_threads=False)
                pa.default_memory_pool().release_unused()
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: not readable as parquet: {' '.join(str(error).split())}") from None


def read_documents(folder: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """The documents of a corpus folder, a row group at a time, in order."""
    for path in parquet_files(folder):
        yield from read_row_groups(path, DOCUMENT_SCHEMA, columns)


def count_documents(folder: Path) -> int:
    """How many rows a corpus folder holds, from the files' footers alone."""
    return sum(pq.read_metadata(path).num_rows for path in parquet_files(folder))


def _encode(value: Any) -> bytes:
    """A string, or a list of them as lines, as UTF-8."""
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else "\n".join(value)).encode()


def _column(values: Sequence[bytes], kind: pa.DataType) -> pa.Array:
    return string_array(values) if kind == pa.string() else string_list_array(values)


def _describe(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
