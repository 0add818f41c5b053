"""What every family's toys have in common: all that `pretrain` may look at, and a model folder as the stage leaves it."""

import shutil
from pathlib import Path
from typing import TypeVar

from stemma.config import Settings
from stemma.families.base import Family, Pretraining
from stemma.files import write_json, write_manifest
from stemma.progress import NullProgress, Progress
from stemma.training.tracker import NullTracker

P = TypeVar("P", bound=Settings)


def make_job(
    folder: Path,
    tokens: Path,
    tokenizer: Path,
    settings: P,
    *,
    seed: int = 1,
    scratch: Path | None = None,
    progress: Progress | None = None,
) -> Pretraining[P]:
    """A job whose model goes to `folder / "out"`."""
    out = folder / "out"
    out.mkdir(exist_ok=True)
    return Pretraining(
        tokens=tokens,
        tokenizer=tokenizer,
        settings=settings,
        seed=seed,
        scratch=scratch or folder / "scratch",
        out=out,
        tracker=NullTracker(),
        progress=progress or NullProgress(),
    )


def run_job(family: Family[P], job: Pretraining[P]) -> tuple[Path, dict[str, float]]:
    """Pretrain: a model folder as the stage leaves it, and the metrics."""
    metrics = family.pretrain(job)
    for file in job.tokenizer.iterdir():
        shutil.copy(file, job.out)
    write_json(job.out / "metrics.json", metrics)
    write_json(job.out / "family.json", {"family": family.name, "variant": family.name})
    write_manifest(job.out)
    return job.out, metrics
