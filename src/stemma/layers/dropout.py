"""Dropout whose masks are cheap to draw.

torch draws one number a value, from a generator that is slow by design; on a CPU that is a fifth of a training step. Here 16 bits
of a fast generator (SFC64) choose the masks of four values from a table. Each pass seeds it from torch's own generator, so that
this one's state, which every checkpoint keeps, still determines all that is random.
"""

import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

__all__ = ["Masks", "add_dropped", "dropped", "masks_for"]

_NUMBERS: Final = 1 << 16
_TOGETHER: Final = 4  # values whose masks one number chooses
_FOUR_FLOATS: Final = np.complex128  # of the same size: numpy fetches it as one


class Masks:
    """The masks of one pass through a network: 0 for a `share` of the values, and for the rest what makes up for them."""

    def __init__(self, share: float) -> None:
        self._bits = np.random.SFC64(int(torch.randint(2**62, ())))
        self._table = _table(share)

    def draw(self, shape: Sequence[int]) -> Tensor:
        """A mask to multiply by."""
        size = math.prod(shape)
        numbers = self._bits.random_raw(-(-size // 16)).view(np.uint16)[: -(-size // _TOGETHER)]
        values = self._table.take(numbers, mode="wrap").view(np.float32)  # "wrap": no number needs a check
        return torch.from_numpy(values[:size]).view(*shape)


@cache
def _table(share: float) -> npt.NDArray[Any]:
    """The masks of four values for every number of 16 bits: each of the 16 that there are has its probability to 1/65,536."""
    kept = np.array(list(itertools.product((0, 1), repeat=_TOGETHER)))
    likely = np.where(kept, 1 - share, share).prod(axis=1) * _NUMBERS
    counts = np.floor(likely).astype(np.int64)
    counts[np.argsort(counts - likely, kind="stable")[: _NUMBERS - counts.sum()]] += 1
    masks = np.repeat(kept, counts, axis=0)
    values: npt.NDArray[np.float32] = (masks / masks.mean()).astype(np.float32)
    return values.view(_FOUR_FLOATS).ravel()


def masks_for(dropout: nn.Dropout) -> Masks | None:
    """Masks with a module's share, if it is in training and has one."""
    return Masks(dropout.p) if dropout.training and dropout.p else None


def dropped(values: Tensor, masks: Masks | None) -> Tensor:
    """The values with a share of them set to 0; all of them without masks."""
    return values if masks is None else values * masks.draw(values.shape)


def add_dropped(base: Tensor, values: Tensor, masks: Masks | None) -> Tensor:
    """The sum of `base` and what dropout leaves of `values`."""
    return base + values if masks is None else torch.addcmul(base, values, masks.draw(values.shape))
