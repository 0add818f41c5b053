"""Which rows of a benchmark a column of ours is of, so that a published figure can say how its rows differ."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal

from stemma.config import Params, ProbeFiles, TaskFiles, TaskHub
from stemma.data.compression import plain_name

__all__ = ["OwnRows", "own_rows"]

Split = Literal["dev", "test"]
_DEV: Final = re.compile(r"(?<![a-z])(dev|val|valid|validation|testa)(?![a-z])")
_TEST: Final = re.compile(r"(?<![a-z])(test|testb)(?![a-z])")


@dataclass(frozen=True)
class OwnRows:
    """Our test rows: what they are in words, and the published split that they are the whole of, if they are."""

    what: str
    split: Split | None = None

    def differ(self, split: Split) -> str:
        """How a figure on a published split differs in its rows; nothing where it does not."""
        return "" if self.split == split or not self.what else f"{split} set, ours {self.what}"


def own_rows(params: Params, column: str, n: int) -> OwnRows:
    """Of a task's files, or of a probe's, as the settings name them; `n` is how many rows there are."""
    if column in params.probes:
        source = params.probes[column].source
        pairs = source.max_pairs if isinstance(source, ProbeFiles) else None
        return OwnRows(f"{pairs:,} pairs of each paradigm" if pairs else "")
    task = params.tasks[column].source
    if isinstance(task, TaskHub):
        return _of_split(task.splits.get("test", ""))
    return _of_files(task, n) if isinstance(task, TaskFiles) else OwnRows("rows made here")


def _of_files(source: TaskFiles, n: int) -> OwnRows:
    test = source.files.get("test", [])
    if any(file in source.files.get(split, []) for file in test for split in ("train", "validation")):
        return OwnRows("rows held out here")
    if len(test) != 1:
        return OwnRows("several files")
    whole = _of_split(plain_name(PurePosixPath(test[0].replace("\\", "/")).name))
    return whole if "test" not in source.max_examples else OwnRows(f"{n:,} rows of {whole.what}")


def _of_split(name: str) -> OwnRows:
    """By the name that a file or the Hub gives it: GLUE's dev, CoNLL's testa, HellaSwag's val."""
    split: Split | None = "dev" if _DEV.search(name.lower()) else "test" if _TEST.search(name.lower()) else None
    return OwnRows(split or f"the file {name}", split)
