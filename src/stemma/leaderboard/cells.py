"""The words of the table: how a figure, a difference and a reason are written, in a terminal as in a page."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stemma.tasks.second_metrics import tell_second

__all__ = [
    "COMPARED",
    "NONE",
    "degenerate_note",
    "difference",
    "group_missing",
    "heading",
    "intervals_note",
    "number",
    "p_value",
    "score",
    "second",
    "seeds_note",
    "signed",
    "smallest",
]

NONE: Final = "–"
COMPARED: Final = (
    "Paired bootstrap over seeds and examples, or over what a probe's questions are made of. n: the examples, the questions that "
    "both have words for, or the paradigms. Holm: the p-value raised for how many pairs of variants the task has. The smallest "
    "effect is the true difference that this test would find with a probability of 0.8; a smaller one may be there unseen."
)


def heading(column: Mapping[str, Any]) -> str:
    """A column's name, metric and number of examples."""
    return f"{column['name']} ({column['metric'].replace('_', ' ')}, n {column['n']:,})"


def intervals_note(confidence: float) -> str:
    """What intervals are over."""
    return (
        f"Means over seeds with {100 * confidence:.4g} % bootstrap intervals over seeds and examples; where no seeds are named "
        "there is one run. A probe's interval is over pairs of words, for analogies those that questions are made of, and for "
        "minimal pairs over paradigms."
    )


def score(cell: Mapping[str, Any] | None) -> str:
    """A mean with its interval, where it has one; in points it has one digit, as a share three."""
    if cell is None:
        return NONE
    digits = 1 if cell.get("points") else 3
    interval = "" if cell["low"] is None else f" [{cell['low']:.{digits}f}, {cell['high']:.{digits}f}]"
    coverage = f" ({cell['coverage']:.0%})" if cell.get("coverage", 1.0) < 1 else ""
    return f"{cell['mean']:.{digits}f}{interval}{coverage}"


def second(cell: Mapping[str, Any], column: Mapping[str, Any]) -> str:
    """The metrics that stand beside the column's own."""
    return tell_second(column["metric"], cell["also"])


def seeds_note(cell: Mapping[str, Any]) -> str:
    """How many seeds a mean is of, where there are several, and what else is to be known of it."""
    seeds = f"{len(cell['seeds'])} seeds" if len(cell["seeds"]) > 1 else ""
    return ", ".join(filter(None, [seeds, cell["note"]]))


def degenerate_note(cell: Mapping[str, Any]) -> str:
    """The mark of a run that gives one answer throughout."""
    if not cell["degenerate"]:
        return ""
    some = cell["degenerate"] < len(cell["seeds"])
    return f"degenerate ({cell['degenerate']} of {len(cell['seeds'])} seeds)" if some else "degenerate"


def signed(value: float | None, digits: int = 3) -> str:
    """A number with its sign; zero has none."""
    if value is None:
        return NONE
    text = f"{value:+.{digits}f}"
    return text if float(text) else text.lstrip("+-")


def difference(one: Mapping[str, Any]) -> str:
    """A difference with its interval."""
    interval = "" if one["low"] is None else f" [{signed(one['low'])}, {signed(one['high'])}]"
    return f"{signed(one['difference'])}{interval}"


def number(one: Mapping[str, Any]) -> str:
    """How many examples two rows are compared on; a table that was made before this was told has none."""
    return f"{one['n']:,}" if "n" in one else NONE


def p_value(value: float | None) -> str:
    """A p-value as one reads it: below a thousandth is all that is said."""
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def smallest(effect: float) -> str:
    """The smallest effect that a test could have seen; none where two rows never differ, so that nothing is known of it."""
    return f"{effect:.3f}" if effect else NONE


def group_missing(missing: Sequence[Mapping[str, str]]) -> list[tuple[str, str, list[str]]]:
    """Variant, reason and the columns that have it, in the order in which they are met."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in missing:
        groups.setdefault((one["variant"], one["reason"]), []).append(one["column"])
    return [(variant, reason, columns) for (variant, reason), columns in groups.items()]
