"""The leaderboard as one page that needs nothing else: no script, no font, no picture, no network."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from stemma.leaderboard import cells
from stemma.leaderboard.charts import Points, line_chart
from stemma.leaderboard.elements import Html, element, join
from stemma.leaderboard.markdown import published_effect
from stemma.leaderboard.style import STYLE

__all__ = ["page"]

Curves = Mapping[str, Sequence[Mapping[str, str]]]
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"  # a browser would refuse to fetch anything


def page(table: Mapping[str, Any], curves: Curves) -> str:
    """The whole page; a part that has nothing to say is left out."""
    sections = [
        ("table", "The table", _heat_map(table)),
        ("published", "Published figures", _published(table)),
        ("curves", "Learning curves", _curves(curves, [row["name"] for row in table["rows"] if row["cells"]])),
        ("samples", "What each one gets right and wrong", _samples(table)),
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
            _note(column),
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
        head = element("small", row["head"], class_="said") if row["head"] else ""
        rows.append(element("tr", element("th", row["name"], family, head, scope="row"), *figures, class_=row["of"]))
    note = (
        f"Means over seeds with {100 * table['confidence']:.4g} % bootstrap intervals over seeds and examples; where no seeds "
        "are named there is one run. The stronger the colour, the nearer to the best of its column. Degenerate: the run gives "
        "the majority's answer, or one other answer, throughout. A share in parentheses is that of a probe's questions whose "
        "words have vectors, which alone are scored."
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
        element("th", column["name"], element("small", _plain(column["metric"])), _note(column), scope="col")
        for column in columns
    ]
    heads += [element("th", "source", scope="col"), element("th", "how its protocol differs", scope="col")]
    lines = []
    for row in rows:
        figures = [_published_cell(row["cells"].get(column["name"])) for column in columns]
        read = element("small", "by transcriptions that agree") if row["read"] == "transcriptions" else ""
        average = element("small", f"average {row['average']}") if row["average"] else ""
        lines.append(
            element(
                "tr",
                element("th", row["name"], element("small", f"{row['split']} set"), scope="row"),
                *figures,
                element("td", row["source"], read),
                element("td", row["protocol"], average),
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
    return element("td", f"{cell['value']:.3f}", *(element("small", one) for one in cell["differs"]))


def _curves(curves: Curves, named: Sequence[str]) -> list[Html]:
    order = list(dict.fromkeys([*named, *(row["variant"] for of in curves.values() for row in of)]))
    tuned: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in curves["finetuning"]:
        points = tuned.setdefault(row["task"], {}).setdefault(row["variant"], [])
        points.append((float(row["epoch"]), float(row["score"])))
    trained: dict[str, list[tuple[float, float]]] = {}
    for row in curves["pretraining"]:
        trained.setdefault(row["variant"], []).append((float(row["step"]), float(row["loss"])))
    parts: list[Html] = []
    if tuned:
        charts = [
            line_chart(task, series, x="epoch", y="validation score", order=order) for task, series in tuned.items()
        ]
        parts += [element("h3", "Fine-tuning"), element("div", *charts, class_="figures")]
    if trained:
        charts = [
            line_chart(name, {name: points}, x="step", y="loss", order=[name]) for name, points in _numbers(trained)
        ]
        note = "Each loss is its own: nats of different things do not compare."
        parts += [
            element("h3", "Pretraining"),
            element("div", *charts, class_="figures"),
            element("p", note, class_="note"),
        ]
    return parts


def _numbers(series: Mapping[str, Points]) -> Iterator[tuple[str, Points]]:
    """The curves that have something to draw: a loss that is not finite is not drawn."""
    for name, points in series.items():
        finite = [point for point in points if abs(point[1]) < float("inf")]
        if finite:
            yield name, finite


def _samples(table: Mapping[str, Any]) -> list[Html]:
    parts = []
    for place, (task, samples) in enumerate(table["samples"].items()):
        articles = [element("article", *_sample(sample)) for sample in samples]
        opened = {"open": ""} if place == 0 else {}
        parts.append(element("details", element("summary", task), *articles, **opened))
    if parts:
        note = (
            "Rows that tell systems apart, with the answers of each one's first seed; not a fair sample, and not many."
        )
        parts.append(element("p", note, class_="note"))
    return parts


def _sample(sample: Mapping[str, Any]) -> list[Html]:
    asked = [element("p", element("small", f"{part['name']}: "), part["text"]) for part in sample["asked"]]
    wanted = element("p", element("small", "wanted: "), element("b", sample["wanted"]))
    answers = [element("li", *_answer(one)) for one in sample["answers"]]
    return [*asked, wanted, element("ul", *answers, class_="answers")]


def _answer(one: Mapping[str, Any]) -> list[str]:
    if one["right"] is None:
        return [f"{one['system']}: {one['answer']}"]
    mark, class_ = ("✓", "right") if one["right"] else ("✗", "wrong")
    word = element("span", mark, class_=class_, role="img", aria_label=class_)
    return [word, f" {one['system']}: {one['answer']}"]


def _comparisons(table: Mapping[str, Any]) -> list[Html]:
    heads = [element("th", name, scope="col") for name in ("difference", "p", "p (Holm)", "smallest effect")]
    parts = []
    for task, compared in table["comparisons"].items():
        rows = [
            element(
                "tr",
                element("th", f"{one['first']} − {one['second']}", scope="row"),
                element("td", cells.difference(one)),
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
        note = (
            "Paired bootstrap over seeds and examples. Holm: the p-value raised for how many pairs of variants the task has. "
            "The smallest effect is the true difference that this test would find with a probability of 0.8; a smaller one "
            "may be there unseen. Any other two rows: stemma leaderboard --compare A B."
        )
        parts.append(element("p", note, class_="note"))
    return parts


def _ablations(table: Mapping[str, Any]) -> list[Html]:
    names = ("change", "task", "effect here", "published effect", "verdict", "source")
    rows = [
        element(
            "tr",
            element("th", f"{one['variant']} − {one['base']}", scope="row"),
            element("td", one["what"], element("small", one["budget"]) if one["budget"] else ""),
            element("td", effect["column"]),
            element("td", cells.difference(effect)),
            element("td", published_effect(effect)),
            element("td", effect["verdict"]),
            element("td", one["source"]),
        )
        for one in table["ablations"]
        for effect in one["effects"]
    ]
    if not rows:
        return []
    note = "Where the paper has no such task, its best-known effect stands there, and on what."
    heads = [element("th", name, scope="col") for name in names]
    return [_grid(heads, rows, "wide", "Ablations"), element("p", note, class_="note")]


def _missing(table: Mapping[str, Any]) -> list[Html]:
    groups = cells.group_missing(table["missing"])
    lines = [element("li", element("b", name), f" on {', '.join(columns)}: {why}") for name, why, columns in groups]
    return [element("ul", *lines)] if lines else []


def _grid(heads: Sequence[Html], rows: Sequence[Html], class_: str, label: str) -> Html:
    head = element("thead", element("tr", element("th", ""), *heads))
    grid = element("table", head, element("tbody", join(rows)), class_=class_)
    return element("div", grid, class_="scroll", tabindex="0", role="region", aria_label=label)


def _note(column: Mapping[str, Any]) -> Html:
    return element("small", column["note"], class_="said") if column["note"] else Html()


def _plain(metric: str) -> str:
    return metric.replace("_", " ")
