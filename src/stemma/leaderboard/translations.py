"""Translations of test pairs, a column a corpus that has any: of the variants that translate."""

from collections.abc import Mapping
from typing import Any

from stemma.config import Params

__all__ = ["translation_cells", "translation_columns"]


def translation_columns(params: Params, metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One for each corpus that a variant was asked to translate."""
    found = {params.variants[name].corpus: one["pairs"] for name, one in metrics.get("translation", {}).items()}
    return [
        {"name": _name(corpus), "of": "translation", "kind": "translation", "metric": "bleu", "n": n, "benchmark": None}
        for corpus, n in found.items()
    ]


def translation_cells(params: Params, metrics: Mapping[str, Any], variant: str) -> dict[str, Any]:
    """A variant's BLEU, in points of 100 as it is always told."""
    found = metrics.get("translation", {}).get(variant)
    if found is None:
        return {}
    figures = {"mean": found["bleu"], "low": found["low"], "high": found["high"], "seeds": [found["bleu"]]}
    rest = {"also": {}, "n": found["pairs"], "degenerate": 0, "note": "", "points": True}
    return {_name(params.variants[variant].corpus): figures | rest}


def _name(corpus: str) -> str:
    return f"{corpus} translated"
