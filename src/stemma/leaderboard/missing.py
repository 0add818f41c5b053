"""What is not in the table, and why: every variant on every task and probe either has a figure or a reason here."""

from collections.abc import Mapping
from typing import Any

from stemma.config import Params
from stemma.leaderboard.probes import probe_figures
from stemma.leaderboard.translations import translation_cells, translation_columns
from stemma.tasks.possible import impossible

__all__ = ["missing_pairs"]


def missing_pairs(params: Params, metrics: Mapping[str, Any]) -> list[dict[str, str]]:
    """Every variant and column without a figure, with the reason."""
    missing = []
    for name, family in params.families_of.items():
        for task, settings in params.tasks.items():
            if name not in metrics["tasks"].get(task, {}).get("rows", {}):
                reason = impossible(family, settings.kind) or "not among the pairs of params.yaml"
                missing.append({"variant": name, "column": task, "reason": reason})
        found = probe_figures(metrics, name)
        for probe, asked in params.probes.items():
            if probe not in found:
                tuned = "it was tuned: see the variant that it was pretrained as" if name in params.transfers else ""
                reason = impossible(family, asked.kind) or tuned or "not in this report"
                missing.append({"variant": name, "column": probe, "reason": reason})
            elif found[probe]["value"] is None:
                missing.append({"variant": name, "column": probe, "reason": "too few of the words have vectors"})
        translated = translation_cells(params, metrics, name)
        reason = "trained to translate another corpus" if translated else "it does not translate"
        missing += [
            {"variant": name, "column": column["name"], "reason": reason}
            for column in translation_columns(params, metrics)
            if column["name"] not in translated
        ]
    return missing
