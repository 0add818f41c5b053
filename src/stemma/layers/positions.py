"""Where a token stands, told by sines and cosines of many wavelengths (Vaswani et al. 2017, section 3.5)."""

import torch
from torch import Tensor

__all__ = ["sinusoids"]


def sinusoids(length: int, size: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i / size)) and PE(pos, 2i + 1) = cos of the same, as a table (length, size)."""
    rates = 10000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, :size].float()
