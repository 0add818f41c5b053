"""The table as data: columns, rows with their figures, published rows, what is missing, comparisons and ablations."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stemma.config import Params
from stemma.leaderboard.ablations import ablations
from stemma.leaderboard.benchmarks import benchmark_of
from stemma.leaderboard.missing import missing_pairs
from stemma.leaderboard.own_rows import OwnRows, own_rows
from stemma.leaderboard.probes import probe_cells, probe_columns, probe_comparisons
from stemma.leaderboard.published import PUBLISHED, Published
from stemma.leaderboard.translations import translation_cells, translation_columns

__all__ = ["build_table"]

Degenerate = Mapping[str, Mapping[str, Sequence[int]]]  # by task, then system: the seeds
_HEADS: Final = {"cbow": "CBoW", "bilstm": "BiLSTM + attention"}


def build_table(params: Params, metrics: Mapping[str, Any], degenerate: Degenerate) -> dict[str, Any]:
    """The leaderboard from a report of `evaluate`; `degenerate` names the seeds that give one answer throughout."""
    columns = _columns(params, metrics)
    return {
        "confidence": metrics["confidence"],
        "columns": columns,
        "rows": _rows(params, metrics, degenerate),
        "published": _published(params, columns),
        "missing": missing_pairs(params, metrics),
        "comparisons": {name: task["comparisons"] for name, task in metrics["tasks"].items()}
        | probe_comparisons(metrics),
        "ablations": ablations(params, metrics, columns),
    }


def _columns(params: Params, metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    tasks = [
        {"name": name, "of": "task", "kind": task["kind"], "metric": task["metric"], "n": task["n"]}
        for name, task in metrics["tasks"].items()
    ]
    known = [*tasks, *probe_columns(params, metrics)]
    public = [column | {"benchmark": benchmark_of(params, column["name"])} for column in known]
    notes = params.evaluation.notes
    return [
        column | {"note": notes.get(column["name"], "")} for column in (*public, *translation_columns(params, metrics))
    ]


def _rows(params: Params, metrics: Mapping[str, Any], degenerate: Degenerate) -> list[dict[str, Any]]:
    """Baselines as the tasks name them, then every variant, also one without a figure, then transfers."""
    tasks = metrics["tasks"]
    baselines = dict.fromkeys(name for task in tasks.values() for name in task["order"] if name not in task["variants"])
    rows = [{"name": name, "of": "baseline", "family": None, "head": ""} for name in baselines]
    rows += [
        {"name": name, "of": "variant", "family": family, "head": _head(params, name, tasks)}
        for name, family in params.families_of.items()
    ]
    for row in rows:
        name = str(row["name"])
        row["cells"] = {
            task: _cell(found["rows"][name], found["n"], degenerate.get(task, {}).get(name, []))
            for task, found in tasks.items()
            if name in found["rows"]
        }
        row["cells"] |= probe_cells(metrics, name) | translation_cells(params, metrics, name)
    return rows


def _head(params: Params, variant: str, tasks: Mapping[str, Any]) -> str:
    """What network tasks put on a variant's word vectors, where it has any task; none of a variant that is its own network."""
    settings = params.family_settings(params.pretrained_as(variant))
    if "task_network" not in settings or not any(variant in task["rows"] for task in tasks.values()):
        return ""
    tuned = {"frozen": "frozen vectors", "whole": "tuned vectors"}[settings["tune"]]
    return f"{_HEADS[settings['task_network']]} head, {tuned}"


def _cell(row: Mapping[str, Any], n: int, degenerate: Sequence[int]) -> dict[str, Any]:
    figures = {key: row[key] for key in ("mean", "low", "high", "seeds", "also")}
    return {**figures, "n": n, "degenerate": len(degenerate), "note": ""}


def _published(params: Params, columns: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The published rows that have a figure in one of these columns."""
    rows = []
    ours = {
        name: own_rows(params, name, column["n"])
        for column in columns
        if column["benchmark"] and (name := column["name"])
    }
    for one in PUBLISHED:
        cells = {
            column["name"]: _published_cell(one, column, ours[column["name"]])
            for column in columns
            if column["benchmark"] in one.figures
        }
        if cells:
            row = {"name": one.system, "source": one.source, "split": one.split, "protocol": one.protocol}
            rows.append({**row, "average": one.average, "read": one.read, "cells": cells})
    return rows


def _published_cell(row: Published, column: Mapping[str, Any], ours: OwnRows) -> dict[str, Any]:
    """The figure in the column's own metric, or in the first that there is, with the difference named."""
    figures = row.figures[column["benchmark"]]
    metric = column["metric"] if column["metric"] in figures else next(iter(figures))
    differs = list(filter(None, [ours.differ(row.split)]))
    if metric != column["metric"]:
        called = "a metric that the source does not name" if metric == "unsaid" else _plain(metric)
        differs.append(f"{called}, ours {_plain(column['metric'])}")
    return {"value": round(figures[metric] / 100, 4), "metric": metric, "differs": differs}


def _plain(metric: str) -> str:
    return metric.replace("_", " ")
