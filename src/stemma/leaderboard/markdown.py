"""The leaderboard as markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

from stemma.leaderboard import cells

__all__ = ["markdown", "published_effect"]


def markdown(table: Mapping[str, Any]) -> str:
    """The whole leaderboard; a part that has nothing to say is left out."""
    parts = ["# Leaderboard", _scores(table), _notes(table)]
    for title, body in (
        ("Published figures", _published(table)),
        ("Variants compared", _comparisons(table)),
        ("Ablations beside the published effect", _ablations(table)),
        ("Not run, and why", _missing(table)),
    ):
        if body:
            parts += [f"## {title}", *body]
    return "\n\n".join(parts) + "\n"


def _scores(table: Mapping[str, Any]) -> str:
    columns = table["columns"]
    rows = [
        [_below(row["name"], row["head"]), *(_cell(row["cells"].get(column["name"]), column) for column in columns)]
        for row in table["rows"]
    ]
    return _grid(["", *(_below(cells.heading(column), column["note"]) for column in columns)], rows)


def _below(text: str, note: str) -> str:
    """A text with a note in small letters below it, if there is one."""
    return f"{text}<br><small>{note}</small>" if note else text


def _cell(cell: Mapping[str, Any] | None, column: Mapping[str, Any]) -> str:
    if cell is None:
        return cells.NONE
    mark = cells.degenerate_note(cell)
    notes = [cells.seeds_note(cell), f"*{mark}*" if mark else ""]
    return "<br>".join(filter(None, [_below(cells.score(cell), cells.second(cell, column)), *notes]))


def _notes(table: Mapping[str, Any]) -> str:
    return (
        f"{cells.intervals_note(table['confidence'])} *degenerate*: the run gives the majority's answer, or one other answer, "
        "throughout. A probe's share in parentheses is that of its questions whose words have vectors, which alone are scored."
    )


def _published(table: Mapping[str, Any]) -> list[str]:
    columns = [
        column for column in table["columns"] if any(column["name"] in row["cells"] for row in table["published"])
    ]
    rows = [
        [
            f"{row['name']} ({row['split']})",
            *(_published_cell(row["cells"].get(column["name"])) for column in columns),
            row["source"] + (", by transcriptions that agree" if row["read"] == "transcriptions" else ""),
            row["protocol"] + (f"; average {row['average']}" if row["average"] else ""),
        ]
        for row in table["published"]
    ]
    if not rows:
        return []
    note = (
        "None of these were measured here. Below a figure stands how its rows and its metric differ from ours, and in the last "
        "column how the rest of its protocol does."
    )
    heads = [_below(column["name"], column["note"]) for column in columns]
    return [_grid(["", *heads, "source", "protocol"], rows), note]


def _published_cell(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return cells.NONE
    return _below(f"{cell['value']:.3f}", "; ".join(cell["differs"]))


def _comparisons(table: Mapping[str, Any]) -> list[str]:
    """Every two variants on every task; the rest is in the JSON."""
    rows = [
        [
            task,
            f"{one['first']} − {one['second']}",
            cells.number(one),
            cells.difference(one),
            cells.p_value(one["p_value"]),
            cells.p_value(one["holm"]),
            cells.smallest(one["smallest_effect"]),
        ]
        for task, compared in table["comparisons"].items()
        for one in compared
        if one["holm"] is not None
    ]
    if not rows:
        return []
    return [_grid(["task", "pair", "n", "difference", "p", "p (Holm)", "smallest effect"], rows), cells.COMPARED]


def _ablations(table: Mapping[str, Any]) -> list[str]:
    rows = [
        [
            f"{one['variant']} − {one['base']}",
            "<br>".join(filter(None, [one["what"], one["budget"]])),
            effect["column"],
            cells.difference(effect),
            published_effect(effect),
            effect["verdict"],
            one["source"],
        ]
        for one in table["ablations"]
        for effect in one["effects"]
    ]
    if not rows:
        return []
    header = ["pair", "change", "task", "effect here", "published effect", "verdict", "source"]
    note = "Where the paper has no such task, its best-known effect stands there, and on what."
    return [_grid(header, rows), note]


def published_effect(effect: Mapping[str, Any]) -> str:
    """What a paper found, and on what."""
    if effect["published"] is None:
        return f"{'higher' if effect['sign'] > 0 else 'lower'} (no figure)"
    again = f" and {cells.signed(effect['again'])}" if effect.get("again") is not None else ""
    return f"{cells.signed(effect['published'])}{again} on {effect['on']}"


def _missing(table: Mapping[str, Any]) -> list[str]:
    groups = cells.group_missing(table["missing"])
    return (
        ["\n".join(f"- {variant} on {', '.join(columns)}: {why}" for variant, why, columns in groups)] if groups else []
    )


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
