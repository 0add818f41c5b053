"""A model's scorecard: gathered from the evaluation's files, kept beside the registered model, read back for the next gate.

The figures are those of `reports/evaluation`; each test example's part is worked out again from the stored predictions,
and must give the same scores, so that a report of other bytes is not taken for evidence.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stemma.config import Params, Task
from stemma.errors import InputError, ReleaseError
from stemma.files import digest_file, read_json, write_json
from stemma.release.scorecard import Examples, Scorecard
from stemma.tasks.base import PREDICTION_SCHEMAS
from stemma.tasks.metrics import additive, per_example
from stemma.tasks.storage import read_rows, split_path

__all__ = ["Sources", "gather", "read_evidence", "read_split", "validation_scores", "write_evidence"]

_MAJORITY: Final = "majority"
_ROUNDING: Final = 2e-6  # the report's figures have six digits


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Where the pipeline has left what a release is made of."""

    tasks: Path
    finetuned: Path
    evaluation: Path
    predictions: Path


def gather(params: Params, pair: str, sources: Sources) -> Scorecard:
    """The scorecard of a fine-tuned pair, all seeds."""
    name, variant = params.pairs[pair].task, params.pairs[pair].variant
    task, path = params.tasks[name], sources.evaluation / "metrics.json"
    report = read_json(path)
    try:
        rows: Mapping[str, Any] = report["tasks"][name]["rows"]
        row, majority, confidence = rows[variant], float(rows[_MAJORITY]["mean"]), float(report["confidence"])
        scores = [float(score) for score in row["seeds"]]
        figures = {key: float(row[key]) for key in ("mean", "low", "high")}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: no results of {pair} ({error!r}); run `dvc repro evaluate`") from None
    seeds = sorted(validation_scores(params, pair, sources))
    examples = _examples(task, seeds, split_path(sources.tasks / name, "test"), sources.predictions / pair)
    _check_scores(path, pair, scores, examples)
    return Scorecard(
        model=pair,
        task=name,
        metric=task.metric,
        seeds=dict(zip(seeds, scores, strict=True)),
        **figures,
        confidence=confidence,
        majority=majority,
        test_digest=digest_file(split_path(sources.tasks / name, "test")),
        bootstrap_draws=params.evaluation.bootstrap_draws,
        bootstrap_seed=params.evaluation.bootstrap_seed,
        examples=examples,
    )


def validation_scores(params: Params, pair: str, sources: Sources) -> dict[int, float]:
    """Each seed's validation score, by which the one to serve is chosen."""
    path = sources.finetuned / pair / "metrics.json"
    metric = params.tasks[params.pairs[pair].task].metric
    try:
        return {int(seed): float(result["validation"][metric]) for seed, result in read_json(path)["seeds"].items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: no validation score of every seed ({error!r}); run `dvc repro finetune@{pair}`"
        ) from None


def write_evidence(card: Scorecard, folder: Path) -> None:
    """Write a scorecard and its examples' parts into a folder."""
    write_json(folder / "scorecard.json", card.as_dict())
    if card.examples is not None:
        num_examples = len(card.examples.ids)
        parts = card.examples.columns.transpose(1, 0, 2).reshape(num_examples, -1)  # (examples, seeds x columns)
        table = pa.table({"id": list(card.examples.ids), "parts": parts.tolist()})
        pq.write_table(table, folder / "examples.parquet", compression="zstd")


def read_evidence(folder: Path) -> Scorecard:
    """What `write_evidence` wrote; how to finish the sums is not in it, a challenger of the same metric knows."""
    path = folder / "scorecard.json"
    values = read_json(path)
    examples = None
    if (folder / "examples.parquet").is_file():
        table = pq.read_table(folder / "examples.parquet")
        parts = np.array(table["parts"].to_pylist(), dtype=np.float64)
        columns = parts.reshape(len(parts), len(values["seeds"]), -1).transpose(1, 0, 2)
        examples = Examples(ids=tuple(table["id"].to_pylist()), columns=columns, finish=None)
    return Scorecard.from_dict(values, examples, str(path))


def read_split(task: Task, path: Path) -> pa.Table:
    """All rows of a split's file."""
    return pa.concat_tables(read_rows(path, task.kind))


def _examples(task: Task, seeds: list[int], test: Path, predictions: Path) -> Examples:
    rows = read_split(task, test)
    parts = []
    for seed in seeds:
        path = predictions / f"seed-{seed}.parquet"
        if not path.is_file():
            raise InputError(f"{path}: no such file; run `dvc repro evaluate`")
        answers = pq.read_table(path, schema=PREDICTION_SCHEMAS[task.kind])
        parts.append(additive(task.metric, per_example(task.kind, rows, answers, task.labels)))
    columns = np.stack([part.columns for part in parts])
    return Examples(ids=tuple(rows["id"].to_pylist()), columns=columns, finish=parts[0].finish)


def _check_scores(path: Path, pair: str, scores: list[float], examples: Examples) -> None:
    assert examples.finish is not None
    found = examples.finish(examples.columns.sum(axis=1)).tolist()
    if len(found) != len(scores) or not all(
        math.isclose(one, other, abs_tol=_ROUNDING) for one, other in zip(found, scores, strict=True)
    ):
        raise ReleaseError(f"{path}: the scores of {pair} are not those of its predictions; run `dvc repro evaluate`")
