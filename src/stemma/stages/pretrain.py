"""Stage `pretrain`: token ids -> a pretrained model and its metrics."""

import shutil
from pathlib import Path

from stemma.config import Params
from stemma.errors import InputError, SettingsError
from stemma.families import family_module, family_settings, load_family
from stemma.families.base import Pretraining
from stemma.files import atomic_dir, write_json, write_manifest
from stemma.progress import Progress
from stemma.training.checkpoint import discard, scratch_dir
from stemma.training.tracker import Tracker

__all__ = ["run"]

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


def run(
    name: str, params: Params, tracker: Tracker, progress: Progress, *, tokens: Path, tokenizer: Path, out: Path
) -> None:
    """Train the variant `name`; its model folder appears at `out` whole or not at all."""
    if name not in params.variants:
        raise SettingsError(
            f"params.yaml: variants: no variant {name!r}; there are {', '.join(sorted(params.variants))}"
        )
    family = load_family(params.variants[name].family)
    settings = family_settings(params, name)
    tracker.log_params({"family": family.name, "variant": name, "seed": params.seed, **settings.model_dump()})
    for file in _TOKENIZER_FILES:
        if not (tokenizer / file).is_file():
            raise InputError(f"{tokenizer / file}: no such file; run the stage `tokenizer`")
    scratch = scratch_dir(
        f"pretrain-{name}",
        settings=settings.model_dump(mode="json"),
        inputs=[tokens, tokenizer],
        modules=[__name__, family_module(family.name)],
        seed=params.seed,
    )
    with atomic_dir(out) as folder:
        metrics = family.pretrain(
            Pretraining(
                tokens=tokens,
                tokenizer=tokenizer,
                settings=settings,
                seed=params.seed,
                scratch=scratch,
                out=folder,
                tracker=tracker,
                progress=progress,
            )
        )
        for file in _TOKENIZER_FILES:
            shutil.copyfile(tokenizer / file, folder / file)
        write_json(folder / "metrics.json", metrics)
        write_json(folder / "family.json", {"family": family.name, "variant": name})
        write_manifest(folder)
    discard(scratch)
