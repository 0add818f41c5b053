"""How the learning rate changes over the steps of a training."""

__all__ = ["linear_warmup_decay"]


def linear_warmup_decay(step: int, *, steps: int, warmup_share: float) -> float:
    """Return the factor on the learning rate at `step` (from 0): up to 1 in a line, then down in a line.

    Neither the first nor the last step has the factor 0, which would waste its batch.
    """
    warmup = int(steps * warmup_share)
    if step < warmup:
        return (step + 1) / warmup
    return (steps - step) / (steps - warmup)
