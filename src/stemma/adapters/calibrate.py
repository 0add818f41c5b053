"""`stemma calibrate`: how many steps fit a wanted CPU time, measured once and written into `params.yaml`.

A budget is steps, never a clock, or the result would depend on how busy the machine is. What is measured is the CPU time of all
threads: beside other work it stays about the same, where the time of day does not.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Final

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.representer import RoundTripRepresenter

from stemma.adapters.settings import PARAMS, refuse_to_lose_edits
from stemma.adapters.trial_steps import read_variant, trial_steps
from stemma.config import Params, parse_settings
from stemma.errors import SettingsError
from stemma.families import family_settings
from stemma.families.base import Family
from stemma.files import write_text

__all__ = ["Pace", "calibrate", "measure_pace", "set_steps"]

_WARM_UP: Final = 2  # steps before the clock runs
_ENDLESS: Final = 10**9  # steps of the trial's schedule, so that it does not run out of learning rate


@dataclass(frozen=True, kw_only=True)
class Pace:
    """What training steps cost."""

    tokens_per_second: float  # of CPU time
    tokens_per_step: float

    def steps_in(self, minutes: float) -> int:
        """How many steps fit; at least one."""
        return max(1, int(minutes * 60 * self.tokens_per_second / self.tokens_per_step))


def calibrate(
    root: Path, variant: str, minutes: float, *, seconds: float, tokens: Path, tokenizers: Path, write: bool
) -> Iterator[str]:
    """Measure a variant for some seconds, write the steps that fit the wanted CPU time, and say so."""
    params, family = read_variant(variant, root / PARAMS)
    _check_has_steps(variant, params, family)
    if write:
        refuse_to_lose_edits(root)  # before the measurement, not after it
    endless = _with_steps(params, variant, _ENDLESS) if params.family_settings(variant)["steps"] else params
    with trial_steps(variant, endless, tokens=tokens, tokenizers=tokenizers) as steps:
        pace = measure_pace(steps, seconds)
    fitting = pace.steps_in(minutes)
    yield f"{variant}: {pace.tokens_per_second:,.0f} tokens per second of CPU time, {pace.tokens_per_step:,.0f} a step"
    yield f"{minutes:g} minutes: {fitting:,} steps, {fitting * pace.tokens_per_step:,.0f} tokens"
    if write:
        set_steps(root / PARAMS, variant, fitting)
        yield f"{PARAMS}: variants.{variant}.overrides.steps is now {fitting}"


def measure_pace(steps: Iterator[int], seconds: float, clock: Callable[[], float] = time.process_time) -> Pace:
    """Take steps until the clock has gone on by some seconds."""
    for _ in range(_WARM_UP):
        next(steps)
    begun, num_steps, num_tokens, elapsed = clock(), 0, 0, 0.0
    while elapsed < seconds or not num_steps:
        num_tokens += next(steps)
        num_steps += 1
        elapsed = clock() - begun
    return Pace(tokens_per_second=num_tokens / elapsed, tokens_per_step=num_tokens / num_steps)


class _Spelled(RoundTripRepresenter):
    """Writes `null` as it stands in our settings, and not as nothing."""


_Spelled.add_representer(type(None), lambda writer, _: writer.represent_scalar("tag:yaml.org,2002:null", "null"))


def set_steps(path: Path, variant: str, steps: int) -> None:
    """Write a variant's number of steps into a settings file, whole or not at all; its comments stay."""
    document_format = YAML()
    document_format.Representer = _Spelled
    document_format.preserve_quotes = True
    document_format.width = 4096  # long lines stay as they are
    document = document_format.load(path.read_text(encoding="utf-8"))
    document["variants"][variant].setdefault("overrides", {})["steps"] = steps
    text = StringIO()
    document_format.dump(document, text)
    params = parse_settings(Params, yaml.safe_load(text.getvalue()), str(path))
    family_settings(params, variant)  # what can't be read must not take the place of what can
    write_text(path, text.getvalue())


def _check_has_steps(variant: str, params: Params, family: Family[Any]) -> None:
    """Say what to change instead where a family's budget is not a number of steps."""
    if family.steps is not None and "steps" in family.params.model_fields:
        return
    where = f"variant {variant!r}: family {family.name!r} has no `steps` to calibrate"
    if "epochs" in family.params.model_fields:
        raise SettingsError(f"{where}; its budget is `epochs`: set variants.{variant}.overrides.epochs in {PARAMS}")
    corpus = params.variants[variant].corpus
    raise SettingsError(f"{where}; it goes through its corpus once: change corpora.{corpus} in {PARAMS}")


def _with_steps(params: Params, variant: str, steps: int) -> Params:
    chosen = params.variants[variant]
    changed = chosen.model_copy(update={"overrides": {**chosen.overrides, "steps": steps}})
    return params.model_copy(update={"variants": {**params.variants, variant: changed}})
