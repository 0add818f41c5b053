"""A task's rows on disk: one parquet file a split, written and read a row group at a time."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from stemma.data.documents import read_row_groups
from stemma.protocols import HeadKind
from stemma.tasks.base import ROW_SCHEMAS

__all__ = [
    "COUNTS_FILE",
    "PlaceFile",
    "PlacesOfRows",
    "SplitFile",
    "places_path",
    "read_rows",
    "row_groups",
    "split_path",
]

ROWS_PER_GROUP: Final = 4000
COUNTS_FILE: Final = "files.json"  # what each file held that a task's rows come from
_WHERE: Final = "where"  # the file and the line, or whatever it has instead


class SplitFile:
    """A parquet file that is written table by table; also without rows it has the schema."""

    def __init__(self, path: Path, kind: HeadKind) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.num_rows = 0
        self._writer = pq.ParquetWriter(path, ROW_SCHEMAS[kind], compression="zstd", use_dictionary=False)

    def write(self, table: pa.Table) -> None:
        """Add a table, as row groups of the usual size."""
        if table.num_rows:
            self._writer.write_table(table, row_group_size=ROWS_PER_GROUP)
        self.num_rows += table.num_rows

    def __enter__(self) -> "SplitFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()


class PlaceFile:
    """Where the rows of a split stood in the files that they come from, beside the rows; written only if that is known."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: pq.ParquetWriter | None = None

    def take(self, table: pa.Table) -> pa.Table:
        """Write the places of a table's rows, and give back the rows without them."""
        if _WHERE not in table.column_names:
            return table
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, pa.schema([(_WHERE, pa.string())]), compression="zstd")
        self._writer.write_table(table.select([_WHERE]), row_group_size=ROWS_PER_GROUP)
        return table.drop_columns([_WHERE])

    def __enter__(self) -> "PlaceFile":
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()


class PlacesOfRows:
    """Where rows stood, by their position in the split; read only when one is asked for."""

    def __init__(self, path: Path) -> None:
        self._path, self._group = path, -1
        self._places: list[str | None] = []

    def find(self, row: int) -> str:
        """The file and line of a row; empty if that is not known."""
        if not self._path.is_file():
            return ""
        if row // ROWS_PER_GROUP != self._group:
            self._group = row // ROWS_PER_GROUP
            with pq.ParquetFile(self._path, pre_buffer=False) as file:
                self._places = file.read_row_group(self._group, use_threads=False)[_WHERE].to_pylist()
        return self._places[row % ROWS_PER_GROUP] or ""


def split_path(folder: Path, split: str) -> Path:
    """Where a task's folder holds a split."""
    return folder / f"{split}.parquet"


def places_path(folder: Path, split: str) -> Path:
    """Where a task's folder holds the places of a split's rows."""
    return folder / f"{split}.where.parquet"


def row_groups(rows: Iterable[dict[str, Any]], kind: HeadKind) -> Iterator[pa.Table]:
    """Rows as tables of a row group's size, with a column for the place where each stood."""
    rows, schema = iter(rows), ROW_SCHEMAS[kind].append(pa.field(_WHERE, pa.string()))
    while group := list(islice(rows, ROWS_PER_GROUP)):
        yield pa.Table.from_pylist(group, schema=schema)


def read_rows(path: Path, kind: HeadKind) -> Iterator[pa.Table]:
    """The row groups of a split's file."""
    return read_row_groups(path, ROW_SCHEMAS[kind])
