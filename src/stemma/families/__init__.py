"""The generations of language models, by name.

A name maps to an import string that is resolved only for the family that runs, so that a stage's import closure, and with
it its `deps`, holds its own family and no other.
"""

import importlib
from typing import TYPE_CHECKING, Any

from stemma.config import Params, parse_settings
from stemma.errors import SettingsError

if TYPE_CHECKING:
    from stemma.families.base import Family

__all__ = ["ENCODERS", "FAMILIES", "check_families", "family_settings", "load_family"]

FAMILIES: dict[str, str] = {
    "bert": "stemma.families.bert:BERT",
    "ngram": "stemma.families.ngram:NGRAM",
}
ENCODERS = frozenset(
    {"bert"}
)  # families that a task can be fine-tuned on; a contract test compares it with the records


def load_family(name: str) -> "Family[Any]":
    """The record of one family."""
    from stemma.families.base import Family  # imports torch, which a look at the names alone need not wait for

    if name not in FAMILIES:
        raise SettingsError(f"families: no family {name!r}; there are {', '.join(sorted(FAMILIES))}")
    module, _, attribute = FAMILIES[name].partition(":")
    family = getattr(importlib.import_module(module), attribute)
    assert isinstance(family, Family)
    return family


def check_families(params: Params) -> None:
    """Refuse families that do not exist and pairs that can't be, before any stage has run."""
    for name in params.families:
        if name not in FAMILIES:
            raise SettingsError(
                f"params.yaml: families.{name}: no such family; there are {', '.join(sorted(FAMILIES))}"
            )
    for name, pair in params.pairs.items():
        if pair.family not in ENCODERS:
            raise SettingsError(
                f"params.yaml: pairs.{name}: family {pair.family!r} has no encoder to fine-tune; remove the pair"
                f" or use one of {', '.join(sorted(ENCODERS))}"
            )


def family_settings(params: Params, variant: str) -> Any:
    """A variant's settings, checked against its family's type."""
    family = load_family(params.variants[variant].family)
    return parse_settings(family.params, params.family_settings(variant), f"params.yaml: variants.{variant}")
