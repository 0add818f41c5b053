"""What made the leaderboard: the hashes that `dvc.lock` has, and the seconds that MLflow's store knows."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from stemma.adapters.dvc import file_md5, lock_hashes, read_lock
from stemma.adapters.store import DATABASE, MlflowStore
from stemma.adapters.timings import Runs, training_seconds
from stemma.config import Params
from stemma.errors import InputError
from stemma.files import read_json

__all__ = ["describe_lock", "made_by", "open_runs", "read_table"]

PRETRAINED: Final = Path("models/pretrained")
FINETUNED: Final = Path("models/finetuned")
_NONE: Final = "–"
_SHOWN: Final = 8  # characters of a hash, as git shows


def read_table(path: Path) -> dict[str, Any]:
    """What `evaluate` wrote; a table of before it had all that is shown today is refused."""
    table: dict[str, Any] = read_json(path)
    rows, columns = table.get("rows", [{}]), table.get("columns", [{}])
    if not all("head" in row for row in rows) or not all("note" in column for column in columns):
        raise InputError(f"{path}: made by an earlier version of the code; run `dvc repro evaluate`")
    return table


def open_runs() -> Runs | None:
    """MLflow's store, unless no training has ever been recorded: to ask is not to make one."""
    return MlflowStore() if DATABASE.exists() or os.environ.get("MLFLOW_TRACKING_URI") else None


def made_by(params: Params, root: Path, runs: Runs | None) -> dict[str, list[str]]:
    """Of each variant, transfers too: its model's hash, the seconds of its pretraining, and those of all its fine-tuning."""
    names = [*params.variants, *params.transfers]
    hashes = lock_hashes([PRETRAINED / name for name in names], root)
    pretraining = training_seconds(params.variants, root / PRETRAINED, runs) if runs else {}
    finetuning = training_seconds(params.pairs, root / FINETUNED, runs) if runs else {}
    facts = {}
    for name in names:
        pairs = [finetuning[pair] for pair, of in params.pairs.items() if of.variant == name and pair in finetuning]
        seconds = [pretraining.get(name), sum(pairs) if pairs else None]
        shown = hashes.get((PRETRAINED / name).as_posix(), _NONE)[:_SHOWN]
        facts[name] = [shown, *(_NONE if value is None else f"{value:,.0f}" for value in seconds)]
    return facts


def describe_lock(path: Path, root: Path) -> Iterator[str]:
    """Whether the table is the one that `dvc.lock` knows, and the hashes of what it was made from."""
    stage = read_lock(root).get("evaluate", {})
    locked = {out["path"]: out.get("md5", "") for out in stage.get("outs", [])}.get(path.as_posix())
    if locked is None:
        yield f"{path}: dvc.lock has no hash of it; run `dvc repro evaluate`"
    elif locked != file_md5(root / path):
        yield f"{path}: not the bytes that dvc.lock names ({locked[:_SHOWN]}); run `dvc repro evaluate`"
    else:
        yield f"{path}: {locked[:_SHOWN]}, as in dvc.lock"
    data = [dep for dep in stage.get("deps", []) if not dep["path"].startswith("src/") and "md5" in dep]
    if data:
        yield "made from " + ", ".join(f"{dep['path']} {dep['md5'][:_SHOWN]}" for dep in data)
