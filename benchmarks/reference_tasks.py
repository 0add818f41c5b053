"""The tasks of the comparison with Trainer: their files, their settings, and how their rows are chosen.

Nothing is left out but by hash: of more rows than `most` says, those with the lowest hash of their id stay. `MAIN` are the tasks
that are compared unless others are named: with three seeds of both sides about two and a half hours on two cores, by reckoning.
Where a set's own test labels are not public, its dev file is the test, and every tenth training row, by hash, chooses the epoch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from stemma.config import Finetuning, Splits, Task, parse_settings
from stemma.data.input_files import InputFile
from stemma.data.splits import SPLITS, Split
from stemma.errors import InputError
from stemma.files import atomic_dir, digest_tree
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.known import KNOWN
from stemma.tasks.loaders import read_split
from stemma.tasks.storage import SplitFile, read_rows, split_path

__all__ = ["MAIN", "TASKS", "ReferenceTask", "Rows", "prepare_rows"]

MOST: Final = 8_000  # training rows
_SPLITS: Final = Splits(validation=0.1, test=0.0)  # of a file that training and validation share


@dataclass(frozen=True, kw_only=True)
class ReferenceTask:
    """A task with what both sides are told of its training."""

    format: str  # a known task, or `squad`
    files: Mapping[str, Sequence[str]]  # by split, below the folder of data sets
    epochs: int
    learning_rate: float
    max_length: int = 128
    stride: int = 0
    most: Mapping[str, int] = field(default_factory=lambda: {"train": MOST})

    @property
    def metrics(self) -> tuple[str, ...]:
        """The primary one first."""
        return KNOWN["squad-1.1" if self.format == "squad" else self.format].metrics

    def settings(self) -> Task:
        """The task as `params.yaml` would have it."""
        known = KNOWN["squad-1.1" if self.format == "squad" else self.format]
        source = {"kind": "files", "format": self.format, "files": {k: list(v) for k, v in self.files.items()}}
        values: dict[str, Any] = {
            "kind": known.kind,
            "source": {**source, "max_examples": dict(self.most), "duplicates": "keep", "misplaced": "move"},
            "labels": list(known.labels),
            "metric": known.metrics[0],
            "max_length": self.max_length,
            "stride": self.stride,
        }
        if known.kind == "regression":
            values["score_range"] = (0.0, 5.0)
        return parse_settings(Task, values, self.format)

    def tuning(self, seed: int, threads: int) -> Finetuning:
        """How both sides train."""
        return Finetuning(
            seeds=[seed],
            epochs=self.epochs,
            batch_size=32,
            learning_rate=self.learning_rate,
            grid=None,
            weight_decay=0.01,
            warmup_share=0.1,
            max_gradient_norm=1.0,
            threads=threads,
        )


@dataclass(frozen=True, kw_only=True)
class Rows:
    """A task's rows: for one side as a folder, for the other as tables."""

    folder: Path
    tables: Mapping[Split, pa.Table]
    digest: str


def _glue(name: str, *, test: str = "", **others: Any) -> dict[str, Any]:
    """Files of a GLUE task: with a labelled test file dev chooses the epoch, without one dev is the test."""
    train, dev = (f"glue/{name}/{split}.tsv.gz" for split in ("train", "dev"))
    return {"files": {"train": [train], "validation": [dev if test else train], "test": [test or dev]}, **others}


_SHIFTS: Final = [f"squadshifts/{name}_v1.0.json.gz" for name in ("new_wiki", "amazon_reviews", "reddit")]
TASKS: Final[dict[str, ReferenceTask]] = {
    "mrpc": ReferenceTask(
        format="mrpc",
        **_glue("MRPC", test="glue/MRPC/msr_paraphrase_test.txt.gz", epochs=4, learning_rate=5e-5),
    ),
    "sts-b": ReferenceTask(
        format="sts-b",
        **_glue("STS-B", test="glue/STS-B/original/sts-test.tsv.gz", epochs=4, learning_rate=5e-5),
        most={"train": 3_000},
    ),
    "rte": ReferenceTask(format="rte", **_glue("RTE", epochs=4, learning_rate=5e-5)),
    "cola": ReferenceTask(format="cola", **_glue("CoLA", epochs=3, learning_rate=5e-5)),
    "sst-2": ReferenceTask(
        format="sst-2", **_glue("SST-2", epochs=3, learning_rate=5e-5), most={"train": MOST, "validation": 1_000}
    ),
    "conll-2003": ReferenceTask(
        format="conll-2003",
        files={
            split: [f"conll2003/eng.{name}.gz"] for split, name in zip(SPLITS, ("train", "testa", "testb"), strict=True)
        },
        epochs=3,
        learning_rate=1e-4,
        most={"train": 4_000, "validation": 1_000},
    ),
    "squadshifts": ReferenceTask(
        format="squad",
        files={"train": _SHIFTS, "validation": _SHIFTS, "test": ["squad/dev-v1.1.json.gz"]},
        epochs=1,
        learning_rate=1e-4,
        max_length=256,
        stride=64,
        most={"train": 4_000, "validation": 500, "test": 2_000},
    ),
}
MAIN: Final = ("mrpc", "sts-b", "conll-2003", "squadshifts")


def prepare_rows(task: ReferenceTask, data: Path, folder: Path) -> Rows:
    """A task's rows, read once from its files into a folder of parquet files."""
    settings = task.settings()
    if not folder.is_dir():
        named = {split: [InputFile(data / file, file) for file in task.files[split]] for split in SPLITS}
        missing = [file.path for files in named.values() for file in files if not file.path.is_file()]
        if missing:
            raise InputError(f"{missing[0]}: no such file; --data names the folder that holds the data sets")
        schema = ROW_SCHEMAS[settings.kind]
        with atomic_dir(folder) as out:
            for split in SPLITS:
                rows = [
                    {name: row.get(name) for name in schema.names}
                    for row in read_split(settings, split, named, _SPLITS)
                ]
                with SplitFile(split_path(out, split), settings.kind) as file:
                    file.write(pa.Table.from_pylist(rows, schema=schema))
    tables = {split: pa.concat_tables(read_rows(split_path(folder, split), settings.kind)) for split in SPLITS}
    return Rows(folder=folder, tables=tables, digest=digest_tree([folder]))
