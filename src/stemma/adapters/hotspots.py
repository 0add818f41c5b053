"""A variant's training step under the profiler, on the tokens that the pipeline has made."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from stemma.config import load_params
from stemma.errors import InputError, SettingsError
from stemma.families import check_families, family_settings, load_family
from stemma.families.base import Pretraining
from stemma.progress import NullProgress
from stemma.training.hotspots import find_hotspots
from stemma.training.tracker import NullTracker

__all__ = ["describe_hotspots"]


def describe_hotspots(variant: str, settings: Path, *, tokens: Path, tokenizers: Path) -> Iterator[str]:
    """Lines that say what a step of a variant costs, the dearest operations first."""
    params = load_params(settings)
    check_families(params)
    if variant not in params.variants:
        raise SettingsError(f"no variant {variant!r} in {settings}; there are {', '.join(sorted(params.variants))}")
    chosen = params.variants[variant]
    family = load_family(chosen.family)
    if family.steps is None:
        raise SettingsError(f"variant {variant!r}: family {family.name!r} does not train in steps")
    store = tokens / chosen.tokenizer
    if not store.is_dir():
        raise InputError(f"{store}: no such folder; run `dvc repro tokenize@{chosen.tokenizer}`")
    with tempfile.TemporaryDirectory() as scratch:
        job = Pretraining(
            tokens=store,
            tokenizer=tokenizers / chosen.tokenizer,
            settings=family_settings(params, variant),
            seed=params.seed,
            scratch=Path(scratch) / "checkpoints",
            out=Path(scratch),
            tracker=NullTracker(),
            progress=NullProgress(),
        )
        found = find_hotspots(family.steps(job))
    yield f"A step of {variant}: {found.milliseconds:.0f} ms, {found.tokens_per_second:,.0f} tokens per second"
    yield f"Matrix products run at {found.matrix_share:.0%} of what this machine reaches"
    yield f"{'share':>6}  {'ms':>7}  {'calls':>6}  operation"
    for one in found.top:
        yield f"{one.share:6.1%}  {one.milliseconds:7.1f}  {one.calls:6.0f}  {one.name}"
