"""Rows go through the tokenizer once: for every epoch, every seed and every variant, in `finetune` and in `evaluate`."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stemma.config import Params
from stemma.progress import NullProgress
from stemma.stages import evaluate, finetune
from stemma.tasks import encoded, predictor, tuning
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.features import Features, encode_rows
from stemma.training.tracker import NullTracker
from tests import toy_tasks

VARIANTS = ("bert", "wide")
SEEDS = [1, 2, 3]
NUM_TEST = 300  # more than are predicted between two reports


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """Two networks with one tokenizer."""
    folder = tmp_path_factory.mktemp("pretrained")
    sizes = {"bert": {}, "wide": {"hidden_size": 16}}
    return {name: toy_tasks.write_pretrained(folder / name, **changes) for name, changes in sizes.items()}


@pytest.fixture
def calls(monkeypatch):
    """How many rows were encoded, each time."""
    seen: list[int] = []

    def count(rows: pa.Table, *rest: Any) -> Features:
        seen.append(len(rows))
        return encode_rows(rows, *rest)

    for module in (encoded, predictor, tuning):
        monkeypatch.setattr(module, "encode_rows", count)
    return seen


def settings(task: str) -> Params:
    values = toy_tasks.params().model_dump()
    values["variants"] = dict.fromkeys(VARIANTS, values["variants"]["bert"])
    values["pairs"] = {f"{name}-{task}": {"variant": name, "family": "bert", "task": task} for name in VARIANTS}
    values["finetuning"] |= {"seeds": SEEDS, "epochs": 2}
    return Params(**values)


def run(folder: Path, task: str, pretrained: dict[str, Path]) -> dict[str, bytes]:
    """Tune both variants, and let their models answer the test rows; all that was written."""
    params, data = settings(task), toy_tasks.write_task(folder / "task", task)
    rng = np.random.default_rng(3)
    rows = [toy_tasks.make_row(task, number, rng) for number in range(NUM_TEST)]
    test = pa.Table.from_pylist(rows, schema=ROW_SCHEMAS[params.tasks[task].kind])
    for name in params.pairs:
        of_variant = pretrained[params.pairs[name].variant]
        out = folder / "tuned" / name
        finetune.run(name, params, NullTracker(), NullProgress(), pretrained=of_variant, task=data, out=out)
        answers = folder / "answers" / name
        paths = evaluate._predict_seeds(
            name, SEEDS, test, params.tasks[task], folder / "tuned", answers, NullProgress()
        )
        assert [path.name for path in paths] == [f"seed-{seed}.parquet" for seed in SEEDS]
    files = [path for part in ("tuned", "answers") for path in sorted((folder / part).rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("task", ["first", "where", "letters"])
def test_rows_are_encoded_once_and_nothing_else_changes(tmp_path, pretrained, monkeypatch, calls, task):
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))
    shared = run(tmp_path / "shared", task, pretrained)
    assert calls == [60, 30, NUM_TEST], "train, validation and test, for 2 variants with 3 seeds and 2 epochs each"
    for stage in (finetune, evaluate):
        monkeypatch.setattr(stage, "encode_once", encode_rows)
    assert run(tmp_path / "apart", task, pretrained) == shared
