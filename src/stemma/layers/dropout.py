"""Dropout whose masks are cheap to draw.

torch draws one number a value, from a generator that is slow by design; on a CPU that is a fifth of a training step. Here 16 bits
of a fast generator (SFC64) decide on a value. Each pass seeds it from torch's own generator, so that this one's state,
which every checkpoint keeps, still determines all that is random.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["Masks", "add_dropped", "dropped", "masks_for"]

_LEVELS = 1 << 16


class Masks:
    """The masks of one pass through a network: 0 for a `share` of the values, and for the rest what makes up for them."""

    def __init__(self, share: float) -> None:
        self._bits = np.random.SFC64(int(torch.randint(2**62, ())))
        self._first_kept = round(share * _LEVELS) - _LEVELS // 2  # numbers are read as signed
        self._scale = 1 / (1 - round(share * _LEVELS) / _LEVELS)

    def draw(self, shape: Sequence[int]) -> Tensor:
        """A mask to multiply by."""
        size = math.prod(shape)
        numbers = torch.from_numpy(self._bits.random_raw(-(-size // 4)).view(np.int16))[:size]
        return (numbers >= self._first_kept).float().mul_(self._scale).view(*shape)


def masks_for(dropout: nn.Dropout) -> Masks | None:
    """Masks with a module's share, if it is in training and has one."""
    return Masks(dropout.p) if dropout.training and dropout.p else None


def dropped(values: Tensor, masks: Masks | None) -> Tensor:
    """The values with a share of them set to 0; all of them without masks."""
    return values if masks is None else values * masks.draw(values.shape)


def add_dropped(base: Tensor, values: Tensor, masks: Masks | None) -> Tensor:
    """The sum of `base` and what dropout leaves of `values`."""
    return base + values if masks is None else torch.addcmul(base, values, masks.draw(values.shape))
