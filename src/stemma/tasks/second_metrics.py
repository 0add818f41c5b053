"""Which further metrics stand beside a task's own: those that its benchmark reports together with it."""

from collections.abc import Mapping
from typing import Final

__all__ = ["tell_second"]

_BESIDE: Final = {
    "f1": ("accuracy", "em"),  # of labels, as MRPC and QQP have it; of spans
    "em": ("f1",),
    "matthews": ("accuracy",),
    "spearman": ("pearson",),
    "pearson": ("spearman",),
    "entity_f1": ("precision", "recall"),
    "accuracy": ("semantic", "syntactic"),  # of analogies
}


def tell_second(metric: str, also: Mapping[str, float]) -> str:
    """The second metrics of a score in words, or nothing: `accuracy 0.792`."""
    return ", ".join(f"{name} {also[name]:.3f}" for name in _BESIDE.get(metric, ()) if name in also)
