"""Tables for `dvc plots show`: learning curves, and scores with their intervals."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stemma.errors import InputError

__all__ = ["finetuning_curves", "pretraining_curves", "scores_csv"]


def pretraining_curves(folders: Mapping[str, Path]) -> str:
    """`variant,step,loss`, of every variant's folder that has a `curve.csv`."""
    rows = [
        (variant, row["step"], row["loss"])
        for variant, folder in folders.items()
        if (folder / "curve.csv").is_file()
        for row in _read(folder / "curve.csv", ("step", "loss"))
    ]
    return _table(("variant", "step", "loss"), rows)


def finetuning_curves(folders: Mapping[tuple[str, str], Path]) -> str:
    """`task,variant,epoch,score`, the validation score's mean over seeds, of folders by (task, variant)."""
    rows: list[tuple[object, ...]] = []
    for (task, variant), folder in folders.items():
        by_epoch: dict[int, list[float]] = defaultdict(list)
        for row in _read(folder / "curve.csv", ("epoch", "score")):
            if row["score"]:
                by_epoch[int(float(row["epoch"]))].append(float(row["score"]))
        rows += [(task, variant, epoch, round(sum(of) / len(of), 6)) for epoch, of in sorted(by_epoch.items())]
    return _table(("task", "variant", "epoch", "score"), rows)


def scores_csv(tasks: Mapping[str, Any]) -> str:
    """`task,system,score,low,high`, from a report's tasks."""
    return _table(
        ("task", "system", "score", "low", "high"),
        [
            (task, system, row["mean"], row["low"], row["high"])
            for task, result in tasks.items()
            for system, row in result["rows"].items()
        ],
    )


def _read(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    if not path.is_file():
        raise InputError(f"{path}: no such file; run the stage that writes it again")
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        missing = set(columns) - set(reader.fieldnames or ())
        if missing:
            raise InputError(f"{path}: no column {min(missing)!r}; run the stage that writes it again")
        return list(reader)


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
