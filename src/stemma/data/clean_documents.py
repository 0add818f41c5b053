"""Cleaned documents: sentences, in a folder a split."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa

from stemma.data.documents import parquet_files, read_row_groups
from stemma.data.splits import Split

__all__ = ["CLEAN_SCHEMA", "read_clean"]

CLEAN_SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("sentences", pa.list_(pa.string()), nullable=False),
    ]
)


def read_clean(corpus: Path, split: Split) -> Iterator[pa.Table]:
    """The documents of a split of a cleaned corpus, a row group at a time, in order."""
    for path in parquet_files(corpus / split):
        yield from read_row_groups(path, CLEAN_SCHEMA)
