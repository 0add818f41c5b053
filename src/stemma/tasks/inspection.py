"""A task's splits under inspection: rows checked a row group at a time, repeats over the splits as a whole."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from stemma.config import OfflineTask, Task
from stemma.data.quarantine import Inspection
from stemma.data.repeats import Places, Repeats, find_repeats
from stemma.data.row_rules import readable
from stemma.data.splits import Split
from stemma.data.workspace import Workspace
from stemma.progress import Progress
from stemma.protocols import HeadKind
from stemma.tasks.rules import content_key, derive_rows, question_key
from stemma.tasks.storage import PlacesOfRows, SplitFile, places_path, read_rows, split_path

__all__ = ["TaskRepeats", "find_task_repeats", "inspect_split"]

# A row that two splits share stays in the one that must not be trained or chosen on.
PRECEDENCE: Final[tuple[Split, ...]] = ("test", "validation", "train")
_SHOWN: Final = 5  # of the rows that two splits share and that stay in both, those that are named

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TaskRepeats:
    """Rows of a task that repeat others, numbered through its splits from test to train."""

    places: Places
    ids: Repeats  # the id stood before in the split
    rows: Repeats  # all of the row stood before in the split
    leaks: Repeats  # what the row asks stands in a split that comes first
    lines: Mapping[str, PlacesOfRows]  # of each split's file, where its rows come from

    def name_row(self, row: int) -> str:
        """Where a row stands, in words; with the line of the original file, if that is known."""
        name, position = self.places.locate(row)
        line = self.lines[name].find(position)
        return f"{self.places.name_row(row)} ({line})" if line else self.places.name_row(row)


def find_task_repeats(task: Task, folder: Path, workspace: Workspace) -> TaskRepeats:
    """Find ids and rows that stood before in their split, and rows that ask what a row of a later split asks."""
    paths = [split_path(folder, split) for split in PRECEDENCE]
    places = Places.of(paths)

    def keys(key: Callable[[str, dict[str, Any]], str]) -> Iterator[list[str]]:
        for path in paths:
            for table in read_rows(path, task.kind):
                yield [key(path.name, row) for row in readable(table)[0].to_pylist()]

    asked = find_repeats(keys(lambda _, row: question_key(task.kind, row)), workspace)
    return TaskRepeats(
        places=places,
        ids=find_repeats(keys(lambda file, row: f"{file}\0{row['id']}"), workspace),
        rows=find_repeats(keys(lambda file, row: f"{file}\0{content_key(task.kind, row)}"), workspace),
        leaks=places.across_files(asked),
        lines={split_path(folder, split).name: PlacesOfRows(places_path(folder, split)) for split in PRECEDENCE},
    )


def inspect_split(
    task: Task, path: Path, out: Path, inspection: Inspection, repeats: TaskRepeats, progress: Progress
) -> None:
    """Check every row of a split and write those that pass."""
    places = repeats.places
    start = row = places.start(path.name)
    labels: Counter[str] = Counter()
    with SplitFile(out, task.kind) as file:
        for table in read_rows(path, task.kind):
            columns = _repeat_columns(task, repeats, row, table.num_rows)
            derived = derive_rows(task, table, columns)
            good = inspection.sift(table, derived, path.name, row - start, repeats.lines[path.name].find)
            file.write(good)
            labels.update(_labels(task.kind, good))
            row += table.num_rows
            progress.update(row)
    inspection.facts |= {
        "labels": dict(sorted(labels.items())),
        "repeated_rows": repeats.rows.count(start, row),
        "leaked_rows": repeats.leaks.count(start, row),
    }
    if _keeps_repeats(task):
        _warn_of_leaks(inspection.name, repeats, start, row)


def _warn_of_leaks(name: str, repeats: TaskRepeats, start: int, stop: int) -> None:
    """Say which rows of a split stay although they ask what a row asks that must not be trained or chosen on."""
    count = repeats.leaks.count(start, stop)
    if not count:
        return
    shown = islice(repeats.leaks.within(start, stop), _SHOWN)
    named = "; ".join(f"{repeats.name_row(row)} as {repeats.name_row(first)}" for row, first in shown)
    more = "; …" if count > _SHOWN else ""
    log.warning("%s: %s rows ask what another split asks, and are kept: %s%s", name, f"{count:,}", named, more)


def _repeat_columns(task: Task, repeats: TaskRepeats, start: int, count: int) -> dict[str, pa.Array]:
    """What the rules on repeats look at; where the settings keep a published set whole, only ids must differ."""
    kept = _keeps_repeats(task)
    nothing = pa.nulls(count, pa.string())

    def describe(found: Repeats) -> pa.Array:
        return repeats.places.describe(found, start, count, repeats.name_row)

    return {
        "repeated_id": describe(repeats.ids),
        "repeated_row": nothing if kept else describe(repeats.rows),
        "leaked_row": nothing if kept else describe(repeats.leaks),
    }


def _keeps_repeats(task: Task) -> bool:
    return not isinstance(task.source, OfflineTask) and task.source.duplicates == "keep"


def _labels(kind: HeadKind, table: pa.Table) -> list[str]:
    match kind:
        case "classification" | "choice":
            column = table["label"]
        case "tagging":
            column = pc.list_flatten(table["tags"])
        case "regression" | "span":
            return []
    labels: list[str] = column.to_pylist()
    return labels
