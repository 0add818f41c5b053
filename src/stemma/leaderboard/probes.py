"""What was asked without training for it: word vectors' probes and minimal pairs, as columns, cells and paired comparisons."""

from collections.abc import Mapping
from typing import Any

from stemma.config import Params
from stemma.tasks.probe_figures import half_of

__all__ = ["probe_cells", "probe_columns", "probe_comparisons", "probe_figures"]


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
    """Google's analogies in the halves that papers report."""
    parts = {"semantic": (0, 0.0), "syntactic": (0, 0.0)}
    for name, figures in sections.items():
        half = half_of(name)
        covered, right = parts[half]
        parts[half] = (covered + figures["covered"], right + figures["covered"] * (figures["value"] or 0.0))
    if not all(covered for covered, _ in parts.values()):
        return {}
    return {half: round(right / covered, 6) for half, (covered, right) in parts.items()}


def probe_comparisons(metrics: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Every two variants on each probe that has any two."""
    return {name: found["comparisons"] for name, found in metrics.get("probes", {}).items() if found["comparisons"]}
