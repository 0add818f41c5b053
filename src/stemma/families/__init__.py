"""The generations of language models, by name: each a folder with a `Family` record in its `family.py`.

A name is resolved only for the family that runs, so that a stage's import closure, and with it its `deps`, holds its own
family and no other. There is no table of families here: a line added to it would train all of them anew.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stemma.config import Params, parse_settings
from stemma.errors import SettingsError

if TYPE_CHECKING:
    from stemma.families.base import Family

__all__ = [
    "check_families",
    "families",
    "family_module",
    "family_settings",
    "has_encoder",
    "load_family",
    "reads_pairs",
    "why_no_head",
    "why_no_transfer",
]


def families() -> list[str]:
    """The names of all families."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)


def family_module(name: str) -> str:
    """The import name of the module that holds a family's record."""
    if name not in families():
        raise SettingsError(f"families: no family {name!r}; there are {', '.join(families())}")
    return f"{__name__}.{name}.family"


def load_family(name: str) -> "Family[Any]":
    """The record of one family."""
    from stemma.families.base import Family  # imports torch, which a look at the names alone need not wait for

    family = importlib.import_module(family_module(name)).FAMILY
    assert isinstance(family, Family)
    return family


def has_encoder(name: str) -> bool:
    """Whether tasks can be fine-tuned on a family; said by its package, so that asking costs no import of torch."""
    encoder: bool = importlib.import_module(f"{__name__}.{name}").ENCODER
    return encoder


def why_no_head(name: str, kind: str) -> str | None:
    """Why a kind of task can't be put on a family; none if it can. Said by its package, as `IMPOSSIBLE`, beside `ENCODER`."""
    if not has_encoder(name):
        return "it has no encoder to fine-tune"
    reasons: dict[str, str] = getattr(importlib.import_module(f"{__name__}.{name}"), "IMPOSSIBLE", {})
    return reasons.get(kind)


def reads_pairs(name: str) -> bool:
    """Whether a family is trained on sentences with their translations; said by its package, like `has_encoder`."""
    pairs: bool = getattr(importlib.import_module(f"{__name__}.{name}"), "PARALLEL", False)
    return pairs


def why_no_transfer(name: str, settings: Mapping[str, Any]) -> str | None:
    """Why what a task has tuned of a family is no start for another; none if it is. Said by its package, as `TRANSFER`."""
    if not getattr(importlib.import_module(f"{__name__}.{name}"), "TRANSFER", False):
        return "its tasks learn in networks of their own, which do not go over to another task"
    if settings.get("tune") == "frozen":
        return "it is frozen (tune: frozen), so that no task changes it"
    return None


def check_families(params: Params) -> None:
    """Refuse families that do not exist and pairs that can't be, before any stage has run."""
    there = families()
    for name in params.families:
        if name not in there:
            raise SettingsError(f"params.yaml: families.{name}: no such family; there are {', '.join(there)}")
    for name, variant in params.variants.items():
        wanted = "parallel" if reads_pairs(variant.family) else "documents"
        if params.corpora[variant.corpus].kind != wanted:
            raise SettingsError(
                f"params.yaml: variants.{name}.corpus: family {variant.family!r} is trained on a corpus of kind {wanted!r},"
                f" which {variant.corpus!r} is not"
            )
    for name, pair in params.pairs.items():
        kind = params.tasks[pair.task].kind
        reason = why_no_head(pair.family, kind)
        if reason is not None:
            able = [other for other in there if why_no_head(other, kind) is None]
            raise SettingsError(
                f"params.yaml: pairs.{name}: family {pair.family!r} can't do a {kind} task: {reason}; remove the pair"
                f" or use one of {', '.join(able)}"
            )
    for name, transfer in params.transfers.items():
        reason = why_no_transfer(transfer.family, params.family_settings(transfer.variant))
        if reason is not None:
            raise SettingsError(f"params.yaml: transfers.{name}: family {transfer.family!r} can't do it: {reason}")


def family_settings(params: Params, variant: str) -> Any:
    """A variant's settings, checked against its family's type."""
    family = load_family(params.variants[variant].family)
    return parse_settings(family.params, params.family_settings(variant), f"params.yaml: variants.{variant}")
