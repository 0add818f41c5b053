"""Checkpoints that survive a kill, a flipped bit and a full disk.

They lie in a scratch folder outside a stage's outs (DVC empties those before a stage runs), named by everything that
the result depends on: an edited setting, input or line of code starts afresh. Weights, optimizer and random states are
safetensors, the rest is JSON: nothing is pickled.
"""

import logging
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from stemma.code import code_digest
from stemma.data.workspace import scratch_root
from stemma.errors import CorruptionError, StemmaError, TrainingError
from stemma.files import (
    atomic_dir,
    canonical_json,
    digest_bytes,
    digest_tree,
    read_json,
    verify_manifest,
    write_json,
    write_manifest,
)

__all__ = ["Checkpoint", "Checkpoints", "discard", "scratch_dir"]

_TENSORS: Final = "tensors.safetensors"
_STATE: Final = "state.json"
_UNREADABLE: Final = (StemmaError, SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError)

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """All that training needs to go on as if it had never stopped."""

    step: int  # how many steps are behind
    tensors: dict[str, Tensor]
    state: dict[str, Any]


class Checkpoints:
    """The newest few checkpoints of one training; `folder` has one writer."""

    def __init__(self, folder: Path, keep: int = 2) -> None:
        self._folder, self._keep = folder, keep
        folder.mkdir(parents=True, exist_ok=True)
        for left_behind in folder.glob(".*.tmp"):  # by a process that was killed while it saved
            shutil.rmtree(left_behind, ignore_errors=True)

    def save(self, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
        """Write a checkpoint beside the others, check it, move it in place, and only then remove the oldest."""
        target = self._folder / f"step-{step:09d}"
        contents = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
        try:
            with atomic_dir(target) as temporary:
                save_file(contents, temporary / _TENSORS)
                write_json(temporary / _STATE, {"step": step, "state": state})
                _check_written(temporary / _TENSORS, contents)
                write_manifest(temporary)
        except (OSError, SafetensorError) as error:
            raise TrainingError(
                f"{target}: the checkpoint could not be saved ({error}); the ones before it are kept:"
                " free some space and run again to go on from there"
            ) from None
        for old in self._saved()[: -self._keep]:
            shutil.rmtree(old)

    def load_latest(self) -> Checkpoint | None:
        """Load the newest checkpoint that is whole; set those that are not aside, and say so."""
        for folder in reversed(self._saved()):
            try:
                return _load(folder)
            except _UNREADABLE as error:
                bad = folder.with_name(f"{folder.name}.bad")
                shutil.rmtree(bad, ignore_errors=True)
                folder.rename(bad)
                log.warning("%s is damaged (%s): kept as %s; going on from the one before it", folder, error, bad.name)
        return None

    def _saved(self) -> list[Path]:
        return sorted(path for path in self._folder.glob("step-*") if path.suffix != ".bad")


def _load(folder: Path) -> Checkpoint:
    manifest = verify_manifest(folder)
    if set(manifest["files"]) != {_TENSORS, _STATE}:
        raise CorruptionError(f"{folder}: the manifest does not name both files")
    record = read_json(folder / _STATE)
    return Checkpoint(step=record["step"], tensors=load_file(folder / _TENSORS), state=record["state"])


def _check_written(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Read every tensor back and compare its bits with those in memory."""
    with safe_open(path, framework="pt") as file:
        for name, tensor in tensors.items():
            if not torch.equal(_bits(file.get_tensor(name)), _bits(tensor)):
                raise OSError(f"{name} reads back other than it was written")


def _bits(tensor: Tensor) -> Tensor:
    return tensor.reshape(-1).view(torch.uint8)  # as bytes, because NaN != NaN


def scratch_dir(
    stage_name: str, *, settings: Mapping[str, object], inputs: Iterable[Path], modules: Iterable[str], seed: int
) -> Path:
    """Make the folder for a stage's checkpoints, named by a digest of all that the result depends on."""
    key = {
        "code": code_digest(modules),
        "cpu": torch.backends.cpu.get_cpu_capability(),  # other kernels, other last bits
        "inputs": digest_tree(inputs),
        "seed": seed,
        "settings": settings,
        "torch": torch.__version__,
    }
    folder = scratch_root() / f"{stage_name}-{digest_bytes(canonical_json(key).encode())[:32]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def discard(scratch: Path) -> None:
    """Remove a scratch folder, once the stage's result is in place."""
    shutil.rmtree(scratch, ignore_errors=True)
