"""The table as data: columns, rows with their figures, published rows, what is missing, comparisons and ablations."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any, Final

from stemma.config import Params
from stemma.leaderboard.benchmarks import TITLES, benchmark_of
from stemma.leaderboard.effects import PERPLEXITY, Effect, effect_of, other_budget
from stemma.leaderboard.missing import missing_pairs
from stemma.leaderboard.own_rows import OwnRows, own_rows
from stemma.leaderboard.probes import compare_probes, probe_cells, probe_columns
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
        | compare_probes(params, metrics),
        "ablations": _ablations(params, metrics, columns),
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


def _ablations(
    params: Params, metrics: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Every two variants that differ by a change that a paper made, in that paper's direction."""
    found = []
    for base, variant in permutations(params.variants, 2):
        one, other = params.variants[base], params.variants[variant]
        if (one.family, one.corpus, one.tokenizer) != (other.family, other.corpus, other.tokenizer):
            continue
        before, after = params.family_settings(base), params.family_settings(variant)
        effect = effect_of(one.family, before, after)
        if effect is not None:
            row = {"base": base, "variant": variant, "what": effect.what, "source": effect.source}
            row["budget"] = other_budget(before, after)
            found.append(row | {"effects": _effects(effect, base, variant, metrics, columns)})
    return sorted(found, key=lambda row: list(params.variants).index(row["variant"]))


def _effects(
    effect: Effect, base: str, variant: str, metrics: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    if PERPLEXITY in effect.sizes:
        return _perplexity_effect(effect, metrics["language_models"], base, variant)
    benchmarks = {column["name"]: column["benchmark"] for column in columns}
    effects = []
    for task, result in metrics["tasks"].items():
        ours = _difference(result["comparisons"], variant, base)
        if ours is None:
            continue
        size = effect.sizes.get(benchmarks[task] or "")
        where = TITLES[benchmarks[task]] if size is not None else effect.headline[0]
        published = (effect.headline[1] if size is None else size) / 100
        shown = {"column": task, "published": round(published, 4), "on": where, "same_task": size is not None}
        effects.append(ours | shown | {"verdict": _verdict(ours, published, 1 - metrics["confidence"])})
    return effects


def _difference(comparisons: Sequence[Mapping[str, Any]], variant: str, base: str) -> dict[str, Any] | None:
    """How much the variant is above its base, from a comparison of the two in either order."""
    for one in comparisons:
        if {one["first"], one["second"]} == {variant, base}:
            sign = 1 if one["first"] == variant else -1
            low, high = sorted((sign * one["low"], sign * one["high"]))
            kept = {key: one[key] for key in ("holm", "smallest_effect")}
            return {"difference": sign * one["difference"] + 0.0, "low": low + 0.0, "high": high + 0.0, **kept}
    return None


def _verdict(ours: Mapping[str, Any], published: float, level: float) -> str:
    """Whether ours goes the way of the published one, if ours is clear at all once corrected for how many there are."""
    clear = (ours["low"] > 0 or ours["high"] < 0) and (ours["holm"] is None or ours["holm"] < level)
    if not clear:
        return f"not clear: below {ours['smallest_effect']:.3f} it would likely go unseen"
    if published == 0:
        return "clear here, none published"
    return "same sign" if (ours["difference"] > 0) == (published > 0) else "opposite sign"


def _perplexity_effect(effect: Effect, models: Mapping[str, Any], base: str, variant: str) -> list[dict[str, Any]]:
    values = [models.get(name, {}).get("test", {}).get("perplexity") for name in (variant, base)]
    if None in values:
        return []
    difference = values[0] - values[1]
    size = effect.sizes[PERPLEXITY]
    sign = effect.sign if size is None else (1 if size > 0 else -1)
    return [
        {
            "column": PERPLEXITY,
            "difference": round(difference, 6),
            "low": None,
            "high": None,
            "holm": None,
            "smallest_effect": None,
            "published": size,
            "sign": sign,
            "on": effect.headline[0],
            "same_task": False,
            "verdict": "same sign" if difference * sign > 0 else "opposite sign",
        }
    ]
