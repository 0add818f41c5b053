"""Ablations beside the published effect: two variants that differ by a change that a paper made, and what it did here."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

from stemma.config import Params
from stemma.leaderboard.benchmarks import TITLES
from stemma.leaderboard.effects import PERPLEXITY, Effect, effect_of, other_budget

__all__ = ["ablations"]

Comparisons = Sequence[Mapping[str, Any]]


def ablations(params: Params, metrics: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every two variants that differ by a change that a paper made, in that paper's direction."""
    found = []
    for base, variant in permutations(params.variants, 2):
        one, other = params.variants[base], params.variants[variant]
        if (one.corpus, one.tokenizer) != (other.corpus, other.tokenizer):
            continue
        before, after = params.family_settings(base), params.family_settings(variant)
        effect = effect_of(one.family, before, other.family, after)
        if effect is not None:
            row = {"base": base, "variant": variant, "what": effect.what, "source": effect.source}
            row["budget"] = other_budget(before, after) if one.family == other.family else ""
            found.append(row | {"effects": _effects(effect, base, variant, metrics, columns)})
    return sorted(found, key=lambda row: list(params.variants).index(row["variant"]))


def _effects(
    effect: Effect, base: str, variant: str, metrics: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    if PERPLEXITY in effect.sizes:
        return _perplexity_effect(effect, metrics["language_models"], base, variant)
    effects = []
    for column, benchmark, part, comparisons in _compared(effect, metrics, columns):
        ours = _difference(comparisons, variant, base)
        if ours is None:
            continue
        size = effect.sizes.get(f"{benchmark} {part}".rstrip())
        where = f"{TITLES[benchmark]} {part}".rstrip() if size is not None else effect.headline[0]
        published = (effect.headline[1] if size is None else size) / 100
        name = f"{column} {part}".rstrip()
        shown = {"column": name, "published": round(published, 4), "on": where, "same_task": size is not None}
        effects.append(ours | shown | {"verdict": _verdict(ours, published, 1 - metrics["confidence"])})
    return effects


def _compared(
    effect: Effect, metrics: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str, str, Comparisons]]:
    """Column, benchmark, part of it and comparisons: of tasks, or of analogies, in halves where they have both."""
    for column in columns:
        name, benchmark = column["name"], column["benchmark"] or ""
        if column["of"] == "task" and effect.asked == "tasks":
            yield name, benchmark, "", metrics["tasks"][name]["comparisons"]
        if column["kind"] == "analogy" and effect.asked == "analogies":
            found = metrics.get("probes", {}).get(name, {"comparisons": [], "halves": {}})
            for part, comparisons in (found["halves"] or {"": found["comparisons"]}).items():
                yield name, benchmark, part, comparisons


def _difference(comparisons: Sequence[Mapping[str, Any]], variant: str, base: str) -> dict[str, Any] | None:
    """How much the variant is above its base, from a comparison of the two in either order."""
    for one in comparisons:
        if {one["first"], one["second"]} == {variant, base}:
            sign = 1 if one["first"] == variant else -1
            low, high = sorted((sign * one["low"], sign * one["high"]))
            kept = {key: one[key] for key in ("holm", "smallest_effect")}
            return {"difference": sign * one["difference"] + 0.0, "low": low + 0.0, "high": high + 0.0, **kept}
    return None


def _verdict(ours: Mapping[str, Any], published: float, level: float) -> str:
    """Whether ours goes the way of the published one, if ours is clear at all once corrected for how many there are."""
    clear = (ours["low"] > 0 or ours["high"] < 0) and (ours["holm"] is None or ours["holm"] < level)
    if not clear:
        return f"not clear: below {ours['smallest_effect']:.3f} it would likely go unseen"
    if published == 0:
        return "clear here, none published"
    return "same sign" if (ours["difference"] > 0) == (published > 0) else "opposite sign"


def _perplexity_effect(effect: Effect, models: Mapping[str, Any], base: str, variant: str) -> list[dict[str, Any]]:
    values = [models.get(name, {}).get("test", {}).get("perplexity") for name in (variant, base)]
    if None in values:
        return []
    difference = values[0] - values[1]
    size = effect.sizes[PERPLEXITY]
    sign = effect.sign if size is None else (1 if size > 0 else -1)
    return [
        {
            "column": PERPLEXITY,
            "difference": round(difference, 6),
            "low": None,
            "high": None,
            "holm": None,
            "smallest_effect": None,
            "published": size,
            "again": effect.again,
            "sign": sign,
            "on": effect.headline[0],
            "same_task": False,
            "verdict": _sign_verdict(difference, sign, effect.again),
        }
    ]


def _sign_verdict(difference: float, sign: int, again: float | None) -> str:
    """Whether ours goes the way of the published one, where two published ones do not go two ways."""
    if again is not None and again * sign < 0:
        return f"{'higher' if difference > 0 else 'lower'} here, published both ways"
    return "same sign" if difference * sign > 0 else "opposite sign"
