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

__all__ = ["SplitFile", "read_rows", "row_groups", "split_path"]

ROWS_PER_GROUP: Final = 4000


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


def split_path(folder: Path, split: str) -> Path:
    """Where a task's folder holds a split."""
    return folder / f"{split}.parquet"


def row_groups(rows: Iterable[dict[str, Any]], kind: HeadKind) -> Iterator[pa.Table]:
    """Rows as tables of a row group's size."""
    rows = iter(rows)
    while group := list(islice(rows, ROWS_PER_GROUP)):
        yield pa.Table.from_pylist(group, schema=ROW_SCHEMAS[kind])


def read_rows(path: Path, kind: HeadKind) -> Iterator[pa.Table]:
    """The row groups of a split's file."""
    return read_row_groups(path, ROW_SCHEMAS[kind])
