"""`reports/leaderboard.json`, `.md` and `.html`: made from what `evaluate` stored, and from nothing else."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from stemma.config import Params
from stemma.files import read_json, write_json, write_text
from stemma.leaderboard.answers import MAJORITY, degenerate_seeds, read_answers
from stemma.leaderboard.markdown import markdown
from stemma.leaderboard.page import page
from stemma.leaderboard.samples import sample_rows
from stemma.leaderboard.table import build_table
from stemma.tasks.storage import read_rows, split_path

__all__ = ["write_leaderboard"]


def write_leaderboard(params: Params, path: Path, *, tasks: Path, evaluation: Path, predictions: Path) -> None:
    """Write the table at `path`, which ends in .json, and beside it as markdown and as a page."""
    metrics = read_json(evaluation / "metrics.json")
    metrics["tasks"] = {name: metrics["tasks"][name] for name in params.tasks}  # in the order of the settings
    degenerate: dict[str, dict[str, list[int]]] = {}
    samples: dict[str, list[dict[str, Any]]] = {}
    for name, found in metrics["tasks"].items():
        task = params.tasks[name]
        rows = pa.concat_tables(read_rows(split_path(tasks / name, "test"), task.kind))
        ids = rows["id"].to_pylist()
        answers = {system: read_answers(predictions / f"{system}-{name}", ids) for system in found["order"]}
        majority = answers.pop(MAJORITY, {})
        answers = {system: by_seed for system, by_seed in answers.items() if by_seed}  # chance has none
        degenerate[name] = {system: degenerate_seeds(task, of, majority) for system, of in answers.items()}
        first = {system: next(iter(by_seed.values())) for system, by_seed in answers.items()}
        families = {variant: params.families_of[variant] for variant in found["variants"]}
        samples[name] = sample_rows(task, rows, first, families)
    table = build_table(params, metrics, degenerate) | {"samples": samples}
    write_json(path, table)
    write_text(path.with_suffix(".md"), markdown(table))
    write_text(path.with_suffix(".html"), page(table, _curves(evaluation / "plots")))


def _curves(folder: Path) -> Mapping[str, list[dict[str, str]]]:
    """The learning curves that `evaluate` collected, by what they are of."""
    curves = {}
    for name in ("pretraining", "finetuning"):
        with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            curves[name] = list(csv.DictReader(file))
    return curves
