"""A task's splits from its original files.

A file that several splits name is divided between them by hash, by document where rows have one, so that a set that comes
without a validation split can give one. `max_examples` takes the rows with the lowest hash of their id, so that a larger
number keeps the rows of a smaller one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from stemma.config import Splits, Task, TaskFiles
from stemma.data.input_files import InputFile
from stemma.data.splits import SPLITS, Split, split_of
from stemma.errors import InputError, SettingsError
from stemma.protocols import HeadKind
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.conll import read_conll
from stemma.tasks.delimited import read_delimited
from stemma.tasks.known import KNOWN, layout_of, official_rows
from stemma.tasks.layout import Layout, LeaveOut
from stemma.tasks.mrpc_ids import divide, is_list_of_ids, read_ids
from stemma.tasks.records import convert_record, read_jsonl, read_parquet
from stemma.tasks.sampling import lowest_hashes
from stemma.tasks.squad import move_answers, read_squad
from stemma.tasks.trees import read_trees

__all__ = [
    "FileCount",
    "check_format",
    "check_splits",
    "complete_rows",
    "count_rows",
    "labelled",
    "read_file",
    "read_split",
]

Row = dict[str, Any]

KINDS: Final[Mapping[str, frozenset[HeadKind]]] = {
    "tsv": frozenset({"classification", "regression", "choice"}),
    "csv": frozenset({"classification", "regression", "choice"}),
    "squad": frozenset({"span"}),
    "conll": frozenset({"tagging"}),
    "jsonl": frozenset(ROW_SCHEMAS),
    "parquet": frozenset(ROW_SCHEMAS),
    **{name: frozenset({known.kind}) for name, known in KNOWN.items()},
}
_SHOWN: Final = 5  # of the rows left out of a file, those that are named


@dataclass(kw_only=True)
class FileCount:
    """What was found in a file: rows, those left out with the first of them named, and how many there should be."""

    file: str
    official: int | None  # of a known task's file, if its name says which one it is
    rows: int = 0  # left out or not
    left_out: int = 0
    named: list[str] = field(default_factory=list)

    def leave_out(self, where: str, why: str) -> None:
        """Count a row that is left out."""
        self.left_out += 1
        if len(self.named) < _SHOWN:
            self.named.append(f"{where}: {why}")

    def warnings(self) -> list[str]:
        """What a user should know of it, in words."""
        said = []
        if self.official is not None and self.rows not in (self.official, self.official + self.left_out):
            said.append(f"{self.file}: {self.rows:,} rows, but {self.official:,} were published")
        if self.left_out:
            said.append(f"{self.file}: {self.left_out:,} rows left out, such as {'; '.join(self.named)}")
        return said


def check_format(task: Task, format_name: str | None) -> None:
    """Refuse a format that holds no tasks of this kind, and labels that a known task does not have."""
    if format_name is None:
        return
    if task.kind not in KINDS[format_name]:
        raise SettingsError(f"format {format_name!r} does not hold {task.kind} tasks")
    known = KNOWN.get(format_name)
    renamed = isinstance(task.source, TaskFiles) and task.source.label_names
    if known is not None and not renamed and set(task.labels) != set(known.labels):
        raise SettingsError(f"format {format_name!r} has the labels {', '.join(known.labels) or 'none'}; write these")


def check_splits(task_name: str, names: Iterable[str]) -> None:
    """A task needs all three splits: validation chooses the epoch, test is read by `evaluate` alone."""
    missing = [split for split in SPLITS if split not in set(names)]
    if missing:
        raise SettingsError(f"params.yaml: tasks.{task_name}.source: no {' and no '.join(missing)} split; name one")


def read_split(
    task: Task,
    split: Split,
    files: Mapping[Split, list[InputFile]],
    splits: Splits,
    counts: list[FileCount] | None = None,
) -> Iterator[Row]:
    """The rows of one split, in the files' order, as `ROW_SCHEMAS` of the task's kind has them, each with `where` it stands.

    What each file held is added to `counts`.
    """
    source = task.source
    assert isinstance(source, TaskFiles)
    check_format(task, source.format)
    found = counts if counts is not None else []
    given = _rows_of_split(task, source, split, files, source.shares or splits, found)
    rows = complete_rows(given, split, ", ".join(file.name for file in files[split]), found)
    most = source.max_examples.get(split)
    return rows if most is None else iter(lowest_hashes(rows, most, lambda row: row["id"]))


def complete_rows(rows: Iterable[Row | None], split: str, files: str, counts: Sequence[FileCount]) -> Iterator[Row]:
    """Rows with an id (the split's name and the row's position, where they have none) and a document.

    A split without rows is an error that names its `files`, and what of them was left out.
    """
    position, any_row = -1, False
    for position, row in enumerate(rows):
        if row is not None:
            any_row = True
            yield {"id": f"{split}-{position}", "document": "", **row}
    if not any_row:
        raise InputError(f"{files or 'no files'}: no rows for the {split} split; {_advice(position >= 0, counts)}")


def read_file(file: InputFile, layout: Layout, kind: HeadKind, leave_out: LeaveOut) -> Iterator[Row]:
    """The rows of a file, without those that have no label."""
    return labelled(_read(file, layout, kind, leave_out), layout, leave_out)


def labelled(rows: Iterable[Row], layout: Layout, leave_out: LeaveOut) -> Iterator[Row]:
    """Rows without those whose label says that there is none, and with answers where they are."""
    for row in rows:
        if row.get("label") in layout.no_label:
            leave_out(row["where"], f"label {row['label']!r} says that there is none")
            continue
        if layout.misplaced == "move" and row.get("answers"):
            row["answers"] = move_answers(row["answers"], row["context"])
        yield row


def count_rows(records: Iterable[Row], count: FileCount) -> Iterator[Row]:
    """Rows as they come, counted."""
    for row in records:
        count.rows += 1
        yield row
    count.rows += count.left_out


def _advice(divided: bool, counts: Sequence[FileCount]) -> str:
    """What to do about a split without rows."""
    named = [row for count in counts for row in count.named]
    if divided:
        return "others get them all, so give it a larger share (`shares`) or a file of its own"
    if named:
        return f"all are left out, such as {named[0]}, so name a file that has labels"
    return "name a file that has some"


def _rows_of_split(
    task: Task,
    source: TaskFiles,
    split: Split,
    files: Mapping[Split, list[InputFile]],
    splits: Splits,
    counts: list[FileCount],
) -> Iterator[Row | None]:
    """Every row of the split's files, with None in the place of those that another split gets."""
    ids = [file for file in files[split] if is_list_of_ids(source.format, file.name)]
    held_back = read_ids(ids) if ids else None
    for file in files[split]:
        if file in ids:
            continue
        sharing = [other for other in SPLITS if file in files[other]]
        count = FileCount(file=file.name, official=official_rows(source.format, file.name))
        layout = layout_of(source, file.name)
        rows = read_file(file, layout if held_back is None else divide(layout), task.kind, count.leave_out)
        for number, row in enumerate(count_rows(rows, count)):
            if held_back is not None:
                mine = (row.pop("id") in held_back) == (split == "validation")
            else:
                mine = _owner(f"{file.name}:{row.get('document') or number}", sharing, splits) == split
            yield row if mine else None
        if not count.rows:
            raise InputError(f"{file.name}: no rows in the file")
        counts.append(count)


def _owner(key: str, sharing: list[Split], splits: Splits) -> Split:
    drawn = split_of(key, splits) if len(sharing) > 1 else sharing[0]
    return drawn if drawn in sharing else sharing[0]


def _read(file: InputFile, layout: Layout, kind: HeadKind, leave_out: LeaveOut) -> Iterator[Row]:
    match layout.format:
        case "tsv" | "csv":
            return read_delimited(file.path, file.name, layout, kind, leave_out)
        case "squad":
            return read_squad(file.path, file.name, layout)
        case "conll":
            return read_conll(file.path, file.name, layout)
        case "trees":
            return read_trees(file.path, file.name, layout)
    records = (read_jsonl if layout.format == "jsonl" else read_parquet)(file.path, file.name)
    return (convert_record(record, where, kind, layout) for where, record in records)
