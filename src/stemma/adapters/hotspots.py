"""A variant's training step under the profiler, on the tokens that the pipeline has made."""

from collections.abc import Iterator
from pathlib import Path

from stemma.adapters.trial_steps import read_variant, trial_steps
from stemma.training.hotspots import find_hotspots

__all__ = ["describe_hotspots"]


def describe_hotspots(variant: str, settings: Path, *, tokens: Path, tokenizers: Path) -> Iterator[str]:
    """Lines that say what a step of a variant costs, the dearest operations first."""
    params, _ = read_variant(variant, settings)
    with trial_steps(variant, params, tokens=tokens, tokenizers=tokenizers) as steps:
        found = find_hotspots(steps)
    yield f"A step of {variant}: {found.milliseconds:.0f} ms, {found.tokens_per_second:,.0f} tokens per second"
    yield f"Matrix products run at {found.matrix_share:.0%} of what this machine reaches"
    yield f"{'share':>6}  {'ms':>7}  {'calls':>6}  operation"
    for one in found.top:
        yield f"{one.share:6.1%}  {one.milliseconds:7.1f}  {one.calls:6.0f}  {one.name}"
