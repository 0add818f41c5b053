"""Stage `transfer`: a pair's tuned models -> what other pairs start from, a folder a seed, each without its head."""

from pathlib import Path

from stemma.config import Params
from stemma.errors import InputError, SettingsError
from stemma.families import load_family
from stemma.families.base import Transferring
from stemma.files import atomic_dir, verify_manifest, write_json, write_manifest
from stemma.progress import Progress

__all__ = ["run"]


def run(name: str, params: Params, progress: Progress, *, pretrained: Path, tuned: Path, out: Path) -> None:
    """Take the heads off the models of a pair; the folder appears at `out` whole or not at all."""
    if name not in params.transfers:
        there = ", ".join(sorted(params.transfers)) or "none"
        raise SettingsError(f"params.yaml: transfers: no transfer {name!r}; there are {there}")
    settings = params.transfers[name]
    family, kind = load_family(settings.family), params.tasks[params.pairs[settings.pair].task].kind
    if family.transfer is None:
        raise SettingsError(f"params.yaml: transfers.{name}: family {family.name!r} has no start for other tasks")
    verify_manifest(pretrained)
    progress.start("heads", len(params.finetuning.seeds), "models")
    with atomic_dir(out) as folder:
        for done, seed in enumerate(params.finetuning.seeds, start=1):
            source, target = tuned / f"seed-{seed}", folder / f"seed-{seed}"
            if not source.is_dir():
                raise InputError(f"{source}: no such folder; run `dvc repro finetune@{settings.pair}`")
            verify_manifest(source)
            target.mkdir()
            family.transfer(Transferring(pretrained=pretrained, tuned=source, kind=kind, out=target))
            write_json(target / "family.json", {"family": family.name, "variant": name, "seed": seed})
            write_manifest(target)
            progress.update(done)
