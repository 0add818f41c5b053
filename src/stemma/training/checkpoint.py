"""Checkpoints that survive a kill, a flipped bit and a full disk.

They lie in a scratch folder outside a stage's outs (DVC empties those before a stage runs), named by everything that
the result depends on: an edited setting, input or line of code starts afresh.
"""

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch

from stemma.code import code_digest
from stemma.files import canonical_json, digest_bytes, digest_tree

__all__ = ["discard", "scratch_dir"]


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
    root = Path(os.environ.get("STEMMA_SCRATCH") or ".stemma/scratch")
    folder = root / f"{stage_name}-{digest_bytes(canonical_json(key).encode())[:32]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def discard(scratch: Path) -> None:
    """Remove a scratch folder, once the stage's result is in place."""
    shutil.rmtree(scratch, ignore_errors=True)
