"""Products in 16 bits where the processor really has them; elsewhere they are emulated, and slower than in 32.

Weights, sums of gradients and the update stay in 32 bits.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import torch

from stemma.errors import SettingsError

__all__ = ["Precision", "check_precision", "lowered"]

Precision = Literal["float32", "bfloat16"]


def check_precision(precision: Precision, *, capabilities: dict[str, Any] | None = None) -> None:
    """Refuse 16-bit products on a processor that would only emulate them."""
    found = torch.cpu.get_capabilities() if capabilities is None else capabilities
    if precision == "bfloat16" and not (found.get("amx_bf16") or found.get("avx512_bf16")):
        raise SettingsError(
            f"precision bfloat16: this processor ({found.get('cpu_name', 'unknown')}) has no bfloat16 instructions and"
            " would be slower with it; use float32"
        )


def lowered(precision: Precision) -> AbstractContextManager[object]:
    """A block in which products are computed with a precision."""
    return torch.autocast("cpu", torch.bfloat16) if precision == "bfloat16" else nullcontext()
