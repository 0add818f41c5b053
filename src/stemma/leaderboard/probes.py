"""What was asked without training for it: word vectors' probes and minimal pairs, as columns, cells and paired comparisons.

Two variants are paired on minimal pairs over paradigms, each paradigm's accuracy being an example: its pairs come from one
template. Of similarity and analogies only figures are stored, so that nothing can be paired.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from stemma.config import Params
from stemma.tasks.systems import Systems

__all__ = ["compare_probes", "probe_cells", "probe_columns", "probe_figures"]


def probe_figures(metrics: Mapping[str, Any], variant: str) -> dict[str, Any]:
    """A variant's figures on every probe that it could be asked."""
    parts = (metrics.get(part, {}).get(variant, {}).get("probes", {}) for part in ("word_vectors", "minimal_pairs"))
    return {name: figures for part in parts for name, figures in part.items()}


def probe_columns(params: Params, metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The probes that some variant could be asked, in the order of the settings."""
    columns = []
    for name, settings in params.probes.items():
        found = [figures[name] for variant in params.variants if name in (figures := probe_figures(metrics, variant))]
        if found:
            column = {"name": name, "of": "probe", "kind": settings.kind}
            columns.append(column | {"metric": found[0]["metric"], "n": found[0]["n"]})
    return columns


def probe_cells(metrics: Mapping[str, Any], variant: str) -> dict[str, Any]:
    """A variant's cells: one pretraining has one run."""
    return {
        name: {
            "mean": figures["value"],
            "low": figures.get("low"),
            "high": figures.get("high"),
            "seeds": [figures["value"]],
            "also": _halves(figures.get("sections", {})),
            "n": figures.get("covered", figures["n"]),
            "coverage": figures.get("coverage", 1.0),
            "degenerate": 0,
            "note": "pseudo-likelihood" if figures.get("likelihood") == "pseudo" else "",
        }
        for name, figures in probe_figures(metrics, variant).items()
        if figures["value"] is not None
    }


def _halves(sections: Mapping[str, Any]) -> dict[str, float]:
    """Google's analogies in the halves that papers report: the sections of grammar, whose names say so, and the others."""
    parts = {"semantic": (0, 0.0), "syntactic": (0, 0.0)}
    for name, figures in sections.items():
        half = "syntactic" if name.startswith("gram") else "semantic"
        covered, right = parts[half]
        parts[half] = (covered + figures["covered"], right + figures["covered"] * (figures["value"] or 0.0))
    if not all(covered for covered, _ in parts.values()):
        return {}
    return {half: round(right / covered, 6) for half, (covered, right) in parts.items()}


def compare_probes(params: Params, metrics: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """For each probe with paradigms, every two variants, corrected for how many pairs there are."""
    compared = {}
    for probe in params.probes:
        accuracies = {
            variant: figures[probe]["paradigms"]
            for variant in params.variants
            if "paradigms" in (figures := probe_figures(metrics, variant)).get(probe, {})
        }
        names = list(next(iter(accuracies.values()), {}))
        if len(accuracies) > 1 and len(names) > 1:
            runs = {
                variant: [{"accuracy": np.array([of[name] for name in names])}] for variant, of in accuracies.items()
            }
            systems = Systems("accuracy", runs, params.evaluation)
            compared[probe] = [_rounded(one) for one in systems.comparisons(list(runs))]
    return compared


def _rounded(one: Mapping[str, Any]) -> dict[str, Any]:
    """As the report's other figures are: other machines' sums may differ further down."""
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in one.items()}
