"""Curves as SVG inside the page: no script, no file beside it, the same bytes for the same numbers."""

from collections.abc import Mapping, Sequence
from typing import Final

from stemma.leaderboard.elements import Html, element

__all__ = ["COLOURS", "Points", "line_chart"]

Points = Sequence[tuple[float, float]]

COLOURS: Final = 8  # as many as the page's style has; further lines are dashed
_WIDTH, _HEIGHT = 320, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 8, 10, 24
_MOST: Final = 80  # points of a curve that are drawn


def line_chart(title: str, series: Mapping[str, Points], *, x: str, y: str, order: Sequence[str]) -> Html:
    """A figure with one line a series, their names below it; a name's place in `order` is its colour on the whole page."""
    drawn = {name: _thin(points) for name, points in series.items() if points}
    xs = _span([point[0] for points in drawn.values() for point in points])
    ys = _span([point[1] for points in drawn.values() for point in points])
    lines = [
        element("polyline", points=_path(points, xs, ys), class_=_style(order.index(name)))
        if len(points) > 1
        else element(
            "circle", cx=_at(points[0][0], xs), cy=_up(points[0][1], ys), r="3", class_=_style(order.index(name))
        )
        for name, points in drawn.items()
    ]
    label = f"{title}: {y} by {x}" + "".join(f"; {name} ends at {points[-1][1]:g}" for name, points in drawn.items())
    picture = element("svg", *_axes(xs, ys, x), *lines, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=label)
    names = [element("li", element("i", class_=_style(order.index(name))), name) for name in drawn]
    legend = element("ul", *names, class_="legend") if len(drawn) > 1 else ""
    return element("figure", element("figcaption", title, " ", element("small", y)), picture, legend)


def _axes(xs: tuple[float, float], ys: tuple[float, float], x: str) -> list[Html]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    frame = [
        element("line", x1=f"{_LEFT}", y1=f"{bottom}", x2=f"{right}", y2=f"{bottom}", class_="axis"),
        element("line", x1=f"{_LEFT}", y1=f"{_TOP}", x2=f"{_LEFT}", y2=f"{bottom}", class_="axis"),
    ]
    texts = [
        (f"{_LEFT - 4}", f"{bottom}", "end", f"{ys[0]:.3g}"),
        (f"{_LEFT - 4}", f"{_TOP + 8}", "end", f"{ys[1]:.3g}"),
        (f"{_LEFT}", f"{_HEIGHT - 8}", "start", f"{xs[0]:g}"),
        (f"{right}", f"{_HEIGHT - 8}", "end", f"{xs[1]:g}"),
        (f"{(_LEFT + right) // 2}", f"{_HEIGHT - 8}", "middle", x),
    ]
    return frame + [element("text", text, x=at, y=up, text_anchor=anchor) for at, up, anchor, text in texts]


def _thin(points: Points) -> Points:
    """At most so many points, the last among them."""
    step = -(-len(points) // _MOST)
    return [*points[: len(points) - 1 : step], points[-1]]


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _path(points: Points, xs: tuple[float, float], ys: tuple[float, float]) -> str:
    return " ".join(f"{_at(at, xs)},{_up(up, ys)}" for at, up in points)


def _at(value: float, span: tuple[float, float]) -> str:
    return f"{_LEFT + (value - span[0]) / (span[1] - span[0]) * (_WIDTH - _LEFT - _RIGHT):.1f}"


def _up(value: float, span: tuple[float, float]) -> str:
    share = (value - span[0]) / (span[1] - span[0])
    return f"{_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM):.1f}"


def _style(place: int) -> str:
    return f"c{place % COLOURS}" + (" dashed" if place >= COLOURS else "")
