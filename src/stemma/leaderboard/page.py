"""The leaderboard as one page that needs nothing else: no script, no font, no picture, no network."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stemma.leaderboard import cells
from stemma.leaderboard.elements import Html, element, join
from stemma.leaderboard.markdown import published_effect
from stemma.leaderboard.page_curves import Curves, curve_charts
from stemma.leaderboard.page_samples import sample_list
from stemma.leaderboard.style import STYLE

__all__ = ["page"]

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"  # a browser would refuse to fetch anything


def page(table: Mapping[str, Any], curves: Curves) -> str:
    """The whole page; a part that has nothing to say is left out."""
    sections = [
        ("table", "The table", _heat_map(table)),
        ("published", "Published figures", _published(table)),
        (
            "curves",
            "Learning curves",
            curve_charts(curves, [row["name"] for row in table["rows"] if row["of"] == "variant"]),
        ),
        ("samples", "What each one gets right and wrong", sample_list(table)),
        ("compared", "Variants compared", _comparisons(table)),
        ("ablations", "Ablations beside the published effect", _ablations(table)),
        ("missing", "Not run, and why", _missing(table)),
    ]
    there = [(name, title, body) for name, title, body in sections if body]
    links = [element("a", title, href=f"#{name}") for name, title, _ in there]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        element("title", "Leaderboard"),
        element("style", Html(STYLE)),
    )
    body = element(
        "body",
        element("header", element("h1", "Leaderboard"), element("nav", *links)),
        element("main", *(element("section", element("h2", title), *parts, id=name) for name, title, parts in there)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _heat_map(table: Mapping[str, Any]) -> list[Html]:
    columns = table["columns"]
    heads = [
        element(
            "th",
            column["name"],
            element("small", _plain(column["metric"])),
            element("small", f"n {column['n']:,}"),
            _said(column["note"]),
            scope="col",
        )
        for column in columns
    ]
    spans = {column["name"]: _span(table["rows"], column["name"]) for column in columns}
    reasons = {(one["variant"], one["column"]): one["reason"] for one in table["missing"]}
    rows = []
    for row in table["rows"]:
        family = element("small", row["family"]) if row["family"] not in (None, row["name"]) else ""
        figures = [
            _heat(
                row["cells"].get(column["name"]),
                column,
                spans[column["name"]],
                reasons.get((row["name"], column["name"])),
            )
            for column in columns
        ]
        name = element("th", row["name"], family, _said(row["head"]), scope="row")
        rows.append(element("tr", name, *figures, class_=row["of"]))
    note = (
        f"{cells.intervals_note(table['confidence'])} The stronger the colour, the nearer to the best of its column. Degenerate: "
        "the run gives the majority's answer, or one other answer, throughout. A share in parentheses is that of a probe's "
        "questions whose words have vectors, which alone are scored."
    )
    return [_grid(heads, rows, "heat", "Scores of every variant on every task"), element("p", note, class_="note")]


def _span(rows: Sequence[Mapping[str, Any]], column: str) -> tuple[float, float]:
    values = [row["cells"][column]["mean"] for row in rows if column in row["cells"]]
    return min(values, default=0.0), max(values, default=1.0)


def _heat(
    cell: Mapping[str, Any] | None, column: Mapping[str, Any], span: tuple[float, float], reason: str | None
) -> Html:
    if cell is None:
        return element("td", cells.NONE, class_="none", title=reason)
    low, high = span
    heat = (cell["mean"] - low) / (high - low) if high > low else 0.0
    mean, *rest = cells.score(cell).split(" ", 1)
    notes = [element("small", note) for note in (*rest, cells.second(cell, column), cells.seeds_note(cell)) if note]
    mark = cells.degenerate_note(cell)
    return element("td", element("b", mean), *notes, element("mark", mark) if mark else "", style=f"--h:{heat:.2f}")


def _published(table: Mapping[str, Any]) -> list[Html]:
    rows = table["published"]
    columns = [column for column in table["columns"] if any(column["name"] in row["cells"] for row in rows)]
    if not columns:
        return []
    heads = [
        element("th", column["name"], element("small", _plain(column["metric"])), _said(column["note"]), scope="col")
        for column in columns
    ]
    heads += [element("th", "source", scope="col"), element("th", "how its protocol differs", scope="col")]
    lines = []
    for row in rows:
        figures = [_published_cell(row["cells"].get(column["name"])) for column in columns]
        read = _said("by transcriptions that agree" if row["read"] == "transcriptions" else "")
        average = _said(f"average {row['average']}" if row["average"] else "")
        lines.append(
            element(
                "tr",
                element("th", row["name"], element("small", f"{row['split']} set"), scope="row"),
                *figures,
                element("td", row["source"], read),
                element("td", row["protocol"], average, class_="long"),
            )
        )
    note = (
        "None of these were measured here. Below a figure stands how its rows and its metric differ from ours, and in the last "
        "column how the rest of its protocol does."
    )
    return [_grid(heads, lines, "wide", "Published figures"), element("p", note, class_="note")]


def _published_cell(cell: Mapping[str, Any] | None) -> Html:
    if cell is None:
        return element("td", cells.NONE)
    return element("td", f"{cell['value']:.3f}", *(_said(one) for one in cell["differs"]))


def _comparisons(table: Mapping[str, Any]) -> list[Html]:
    heads = [element("th", name, scope="col") for name in ("n", "difference", "p", "p (Holm)", "smallest effect")]
    parts = []
    for task, compared in table["comparisons"].items():
        rows = [
            element(
                "tr",
                element("th", f"{one['first']} − {one['second']}", scope="row"),
                element("td", cells.number(one)),
                _difference(one),
                element("td", cells.p_value(one["p_value"])),
                element("td", cells.p_value(one["holm"])),
                element("td", cells.smallest(one["smallest_effect"])),
            )
            for one in compared
            if one["holm"] is not None
        ]
        if rows:
            grid = _grid(heads, rows, "pairs", f"Pairs of variants on {task}")
            parts.append(element("details", element("summary", task), grid))
    if parts:
        note = f"{cells.COMPARED} Any other two rows: stemma leaderboard --compare A B."
        parts.append(element("p", note, class_="note"))
    return parts


def _ablations(table: Mapping[str, Any]) -> list[Html]:
    heads = [element("th", name, scope="col") for name in ("effect here", "published effect, and verdict")]
    parts: list[Html] = []
    for one in table["ablations"]:
        rows = [
            element(
                "tr",
                element("th", effect["column"], scope="row"),
                _difference(effect),
                element("td", published_effect(effect), _said(effect["verdict"])),
            )
            for effect in one["effects"]
        ]
        if rows:
            pair = f"{one['variant']} − {one['base']}"
            told = "; ".join(filter(None, [one["what"], one["budget"], one["source"]]))
            grid = _grid(heads, rows, "wide", f"{pair} on each task")
            parts += [element("h3", pair), element("p", told), grid]
    if parts:
        note = "Where the paper has no such task, its best-known effect stands there, and on what."
        parts.append(element("p", note, class_="note"))
    return parts


def _difference(one: Mapping[str, Any]) -> Html:
    """A difference, and its interval below it."""
    value, *interval = cells.difference(one).split(" ", 1)
    return element("td", value, *(element("small", part) for part in interval))


def _missing(table: Mapping[str, Any]) -> list[Html]:
    groups = cells.group_missing(table["missing"])
    lines = [element("li", element("b", name), f" on {', '.join(columns)}: {why}") for name, why, columns in groups]
    return [element("ul", *lines)] if lines else []


def _grid(heads: Sequence[Html], rows: Sequence[Html], class_: str, label: str) -> Html:
    head = element("thead", element("tr", element("th", ""), *heads))
    grid = element("table", head, element("tbody", join(rows)), class_=class_)
    return element("div", grid, class_="scroll", tabindex="0", role="region", aria_label=label)


def _said(text: str) -> Html:
    """Words in small letters below a name or a figure; unlike figures they may take several lines."""
    return element("small", text, class_="said") if text else Html()


def _plain(metric: str) -> str:
    return metric.replace("_", " ")
