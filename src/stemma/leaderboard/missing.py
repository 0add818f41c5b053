"""What is not in the table, and why: every variant on every task and probe either has a figure or a reason here."""

from collections.abc import Mapping
from typing import Any

from stemma.config import Params
from stemma.families import load_family

__all__ = ["missing_pairs", "why_not"]


def why_not(family: str, kind: str) -> str | None:  # noqa: ARG001  a family may do some kinds and not others
    """Why a family can't be asked a kind of task, or none if it can."""
    return "its family has no encoder to fine-tune" if load_family(family).load_encoder is None else None


def missing_pairs(params: Params, metrics: Mapping[str, Any]) -> list[dict[str, str]]:
    """Every variant and column without a figure, with the reason."""
    missing = []
    for name, variant in params.variants.items():
        for task, settings in params.tasks.items():
            if name not in metrics["tasks"].get(task, {}).get("rows", {}):
                reason = why_not(variant.family, settings.kind) or "not among the pairs of params.yaml"
                missing.append({"variant": name, "column": task, "reason": reason})
        for probe in params.probes:
            lacking = _why_no_probe(metrics["word_vectors"].get(name, {}), probe)
            if lacking:
                missing.append({"variant": name, "column": probe, "reason": lacking})
    return missing


def _why_no_probe(found: Mapping[str, Any], probe: str) -> str | None:
    if probe not in found.get("probes", {}):
        return "its family has no word vectors"
    return "too few of the words have vectors" if found["probes"][probe]["value"] is None else None
