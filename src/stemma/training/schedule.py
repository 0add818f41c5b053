"""How the learning rate changes over the steps of a training."""

import math
from typing import Literal

__all__ = ["Schedule", "inverse_root_warmup", "linear_warmup_decay", "rate_factor"]

Schedule = Literal["linear", "inverse-root"]


def rate_factor(schedule: Schedule, step: int, *, steps: int, warmup_share: float) -> float:
    """The factor on the learning rate at `step` (from 0) of `steps`."""
    if schedule == "inverse-root":
        return inverse_root_warmup(step, warmup=int(steps * warmup_share))
    return linear_warmup_decay(step, steps=steps, warmup_share=warmup_share)


def linear_warmup_decay(step: int, *, steps: int, warmup_share: float) -> float:
    """Return the factor on the learning rate at `step` (from 0): up to 1 in a line, then down in a line.

    Neither the first nor the last step has the factor 0, which would waste its batch.
    """
    warmup = int(steps * warmup_share)
    if step < warmup:
        return (step + 1) / warmup
    return (steps - step) / (steps - warmup)


def inverse_root_warmup(step: int, *, warmup: int) -> float:
    """Up to 1 in a line, then down with the root of the step (Vaswani et al. 2017, section 5.3).

    Their rate, size^-0.5 · min(step^-0.5, step · warmup^-1.5) with steps from 1, is this times (size · warmup)^-0.5, which
    is its highest value.
    """
    warmup = max(1, warmup)
    return min((step + 1) / warmup, math.sqrt(warmup / (step + 1)))
