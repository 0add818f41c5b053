"""Stage `finetune`: a pretrained model and a task's rows -> a tuned model a seed, its predictions and scores.

Reads the training and validation rows only: the test rows are first read by `evaluate`.
"""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stemma.config import Params
from stemma.errors import SettingsError
from stemma.families import family_module, load_family
from stemma.files import atomic_dir, atomic_path, verify_manifest, write_json, write_manifest, write_text
from stemma.progress import Progress
from stemma.protocols import Encoder
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.encoded import encode_once
from stemma.tasks.grid import tune_best
from stemma.tasks.predictor import TASK_FILE, load_predictor
from stemma.tasks.storage import read_rows, split_path
from stemma.tasks.tuning import Tuned, Tuner
from stemma.training.checkpoint import discard, scratch_dir
from stemma.training.tracker import Tracker

__all__ = ["run"]


def run(
    name: str, params: Params, tracker: Tracker, progress: Progress, *, pretrained: Path, task: Path, out: Path
) -> None:
    """Fine-tune the pair `name` once a seed; what it made appears at `out` whole or not at all."""
    if name not in params.pairs:
        raise SettingsError(f"params.yaml: pairs: no pair {name!r}; there are {', '.join(sorted(params.pairs))}")
    pair, settings = params.pairs[name], params.finetuning
    family, of_task = load_family(pair.family), params.tasks[pair.task]
    if family.load_encoder is None:
        raise SettingsError(f"params.yaml: pairs.{name}: family {family.name!r} has no encoder to fine-tune")
    tracker.log_params({**pair.model_dump(), **settings.model_dump(), "max_length": of_task.max_length})
    train_path, validation_path = split_path(task, "train"), split_path(task, "validation")
    scratch = scratch_dir(
        f"finetune-{name}",
        settings={"finetuning": settings.model_dump(mode="json"), "task": of_task.model_dump(mode="json")},
        inputs=[pretrained, train_path, validation_path],
        modules=[__name__, family_module(family.name)],
        seed=0,  # each seed is a folder in it
    )
    encoders = _load_encoders(
        family.load_encoder, pretrained, settings.seeds, transferred=pair.variant in params.transfers
    )
    empty = ROW_SCHEMAS[of_task.kind].empty_table()
    train, validation = (
        pa.concat_tables([empty, *read_rows(path, of_task.kind)]) for path in (train_path, validation_path)
    )
    encoder = next(iter(encoders.values()))
    tuner = Tuner(encoder, pair.task, of_task, settings, train=train, validation=validation, encode=encode_once)
    tuned = {
        seed: tune_best(
            tuner.on(encoder), settings, seed, scratch=scratch / f"seed-{seed}", tracker=tracker, progress=progress
        )
        for seed, encoder in encoders.items()
    }
    about = {"task": pair.task, "family": pair.family, "variant": pair.variant, **of_task.model_dump(mode="json")}
    with atomic_dir(out) as folder:
        for seed, result in tuned.items():
            of_seed = {"seed": seed, "null_threshold": result.best.null_threshold}
            _write_seed(folder, seed, encoders[seed], result, {**about, **of_seed}, validation)
        write_json(folder / "metrics.json", _metrics(tuned))
        write_text(folder / "curve.csv", _curve(tuned, of_task.metric))
    discard(scratch)


def _load_encoders(
    load_encoder: Callable[[Path], Encoder], pretrained: Path, seeds: list[int], *, transferred: bool
) -> dict[int, Encoder]:
    """What each seed starts from: one pretrained model for all, or the one that the same seed was tuned to before."""
    if not transferred:
        verify_manifest(pretrained)
        return dict.fromkeys(seeds, load_encoder(pretrained))
    for seed in seeds:
        verify_manifest(pretrained / f"seed-{seed}")
    return {seed: load_encoder(pretrained / f"seed-{seed}") for seed in seeds}


def _write_seed(
    folder: Path, seed: int, encoder: Encoder, tuned: Tuned, about: dict[str, Any], validation: pa.Table
) -> None:
    """Write a seed's model; its predictions are made by the folder that was written, as a user would make them."""
    model_dir = folder / f"seed-{seed}"
    model_dir.mkdir()
    encoder.save(tuned.model, model_dir)
    write_json(model_dir / TASK_FILE, about)
    write_manifest(model_dir)
    predictor = load_predictor(model_dir)
    features = encode_once(validation, predictor.task, predictor.tokenizer, predictor.task.max_length)
    predictions = predictor.predict(validation, features)
    with atomic_path(folder / "predictions" / f"validation-seed-{seed}.parquet") as path:
        pq.write_table(predictions, path, compression="zstd")


def _metrics(tuned: dict[int, Tuned]) -> dict[str, Any]:
    """Each seed's best epoch; with a grid also the point that was chosen, and what every point came to."""
    seeds: dict[str, Any] = {}
    for seed, result in tuned.items():
        seeds[str(seed)] = {"best_epoch": result.best.epoch, "validation": result.best.scores}
        if result.chosen is not None:
            seeds[str(seed)] |= {"chosen": result.chosen, "grid": result.tried}
    return {"seeds": seeds}


def _curve(tuned: dict[int, Tuned], metric: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["seed", "epoch", "step", "loss", "score"])
    for seed, result in tuned.items():
        for epoch in result.epochs:
            writer.writerow([seed, epoch.epoch, epoch.step, epoch.loss, epoch.scores[metric]])
    return text.getvalue()
