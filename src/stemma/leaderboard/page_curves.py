"""The learning curves of the page: a chart a task, and one a pretraining."""

from collections.abc import Iterator, Mapping, Sequence

from stemma.leaderboard.charts import Points, line_chart
from stemma.leaderboard.elements import Html, element

__all__ = ["Curves", "curve_charts"]

Curves = Mapping[str, Sequence[Mapping[str, str]]]


def curve_charts(curves: Curves, named: Sequence[str]) -> list[Html]:
    """All that there are; a variant's place in `named` is its colour."""
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
