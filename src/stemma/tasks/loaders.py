"""A task's splits from its original files.

A file that several splits name is divided between them by hash, by document where rows have one, so that a set that comes
without a validation split can give one. `max_examples` takes the rows with the lowest hash of their id, so that a larger
number keeps the rows of a smaller one.
"""

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from stemma.config import Splits, Task, TaskFiles
from stemma.data.input_files import InputFile
from stemma.data.splits import SPLITS, Split, split_of
from stemma.errors import InputError, SettingsError
from stemma.protocols import HeadKind
from stemma.tasks.conll import read_conll
from stemma.tasks.delimited import read_delimited
from stemma.tasks.records import convert_record, read_jsonl, read_parquet
from stemma.tasks.squad import read_squad

__all__ = ["check_splits", "complete_rows", "read_split"]

Row = dict[str, Any]

KINDS: Final[Mapping[str, frozenset[HeadKind]]] = {
    "tsv": frozenset({"classification", "choice"}),
    "csv": frozenset({"classification", "choice"}),
    "squad": frozenset({"span"}),
    "conll": frozenset({"tagging"}),
    "jsonl": frozenset({"classification", "span", "tagging", "choice"}),
    "parquet": frozenset({"classification", "span", "tagging", "choice"}),
}


def check_splits(task_name: str, names: Iterable[str]) -> None:
    """A task needs all three splits: validation chooses the epoch, test is read by `evaluate` alone."""
    missing = [split for split in SPLITS if split not in set(names)]
    if missing:
        raise SettingsError(f"params.yaml: tasks.{task_name}.source: no {' and no '.join(missing)} split; name one")


def read_split(task: Task, split: Split, files: Mapping[Split, list[InputFile]], splits: Splits) -> Iterator[Row]:
    """The rows of one split, in the files' order, as `ROW_SCHEMAS` of the task's kind has them."""
    source = task.source
    assert isinstance(source, TaskFiles)
    if task.kind not in KINDS[source.format]:
        raise SettingsError(f"format {source.format!r} does not hold {task.kind} tasks")
    rows = complete_rows(_rows_of_split(task, source, split, files, splits), split)
    most = source.max_examples.get(split)
    return rows if most is None else iter(_lowest_hashes(rows, most))


def complete_rows(rows: Iterable[Row | None], split: str) -> Iterator[Row]:
    """Rows with an id (the split's name and the row's position, where they have none) and a document."""
    position = -1
    for position, row in enumerate(rows):
        if row is not None:
            yield {"id": f"{split}-{position}", "document": "", **row}
    if position < 0:
        raise InputError(f"no rows for the {split} split")


def _rows_of_split(
    task: Task, source: TaskFiles, split: Split, files: Mapping[Split, list[InputFile]], splits: Splits
) -> Iterator[Row | None]:
    """Every row of the split's files, with None in the place of those that another split gets."""
    for file in files[split]:
        sharing = [other for other in SPLITS if file in files[other]]
        num_rows = 0
        for num_rows, row in enumerate(_read(file, source, task.kind), start=1):
            key = row.get("document") or str(num_rows - 1)
            yield row if _owner(f"{file.name}:{key}", sharing, splits) == split else None
        if num_rows == 0:
            raise InputError(f"{file.name}: no rows in the file")


def _owner(key: str, sharing: list[Split], splits: Splits) -> Split:
    drawn = split_of(key, splits) if len(sharing) > 1 else sharing[0]
    return drawn if drawn in sharing else sharing[0]


def _read(file: InputFile, source: TaskFiles, kind: HeadKind) -> Iterator[Row]:
    match source.format:
        case "tsv" | "csv":
            return read_delimited(file.path, file.name, source, kind)
        case "squad":
            return read_squad(file.path, file.name)
        case "conll":
            return read_conll(file.path, file.name, source)
    records = (read_jsonl if source.format == "jsonl" else read_parquet)(file.path, file.name)
    return (convert_record(record, where, kind, source.columns, source.label_names) for where, record in records)


def _lowest_hashes(rows: Iterable[Row], most: int) -> list[Row]:
    heap: list[tuple[int, int, Row]] = []  # the largest hash on top; positions differ, so rows are never compared
    for position, row in enumerate(rows):
        entry = (-_hash(row["id"]), -position, row)
        if len(heap) < most:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)
    return [row for _, _, row in sorted(heap, key=lambda entry: -entry[1])]


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8, person=b"stemma example").digest(), "big")
