"""Training steps of a variant that leave nothing behind, for those who want to know what they cost."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stemma.config import Params, load_params
from stemma.errors import InputError, SettingsError
from stemma.families import check_families, family_settings, load_family
from stemma.families.base import Family, Pretraining
from stemma.progress import NullProgress
from stemma.training.tracker import NullTracker

__all__ = ["read_variant", "trial_steps"]


def read_variant(variant: str, settings: Path) -> tuple[Params, Family[Any]]:
    """The settings file, and the family of one of its variants."""
    params = load_params(settings)
    check_families(params)
    if variant not in params.variants:
        raise SettingsError(f"no variant {variant!r} in {settings}; there are {', '.join(sorted(params.variants))}")
    return params, load_family(params.variants[variant].family)


@contextmanager
def trial_steps(variant: str, params: Params, *, tokens: Path, tokenizers: Path) -> Iterator[Iterator[int]]:
    """Steps without end, each giving its number of tokens, on the tokens that the pipeline has made."""
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
        yield family.steps(job)
