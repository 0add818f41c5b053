"""Attention pooling: a curve from noisy points, by their mean, and by one that weighs near points more (Nadaraya, Watson 1964).

The weight of a point is softmax(-(x - x_i)² / 2). Since x² is the same for all points, that is the softmax of x · x_i - x_i² / 2:
dot-product attention with x as query, x_i as key and y_i as value, plus a bias. It is computed so, by the project's attention.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import torch
from matplotlib.figure import Figure

from stemma.errors import InputError
from stemma.files import atomic_path
from stemma.layers.attention import attend

__all__ = ["Points", "attention_pooling", "draw", "explain", "points", "truth"]

Floats = npt.NDArray[np.float64]
_POINTS: Final = 50
_RANGE: Final = 5.0
_NOISE: Final = 0.5  # standard deviation
_SEED: Final = 1
_SHOWN: Final = (0.5, 1.5, 2.5, 3.5, 4.5)


@dataclass(frozen=True)
class Points:
    """Where something was measured, and what."""

    x: Floats
    y: Floats


def truth(x: Floats) -> Floats:
    """The curve y = 2 sin(x) + x^0.8, which the points are drawn from."""
    return np.asarray(2 * np.sin(x) + x**0.8)


def points() -> Points:
    """Points of the curve with noise, by rising x."""
    rng = np.random.default_rng(_SEED)
    x = np.sort(rng.uniform(0, _RANGE, _POINTS))
    return Points(x, truth(x) + rng.normal(0, _NOISE, _POINTS))


def attention_pooling(queries: Floats, known: Points, sharpness: float = 1.0) -> Floats:
    """The mean of y_i by softmax(-(sharpness · (x - x_i))² / 2), for every query x."""
    query, key, value = (
        torch.from_numpy(np.ascontiguousarray(part)).view(1, -1, 1, 1) for part in (queries, known.x, known.y)
    )
    query, key = query * sharpness, key * sharpness
    pooled = attend(query, torch.stack([key, value], dim=2), -(key**2).view(1, 1, 1, -1) / 2, None)
    return np.asarray(pooled[0, :, 0].numpy())


def explain() -> Iterator[str]:
    """Both poolings at some places, and their errors."""
    known, grid = points(), np.linspace(0, _RANGE, 201)
    mean, wanted = float(known.y.mean()), truth(grid)
    yield f"{_POINTS} points of y = 2 sin(x) + x^0.8 with noise of standard deviation {_NOISE}, x from 0 to {_RANGE:g}."
    yield f"Average pooling gives {mean:.3f} everywhere. Attention pooling weighs a point by softmax(-(x - x_i)² / 2):"
    yield "      x    true   average  attention"
    places = np.array(_SHOWN)
    for x, true, pooled in zip(places, truth(places), attention_pooling(places, known), strict=True):
        yield f"   {x:4.1f}  {true:6.3f}   {mean:7.3f}  {pooled:9.3f}"
    yield f"Mean squared error along the curve: average {_error(np.full_like(grid, mean), wanted):.3f}"
    for sharpness in (1.0, 2.0, 5.0, 50.0):
        yield f"   attention, distances times {sharpness:g}: {_error(attention_pooling(grid, known, sharpness), wanted):.3f}"
    yield "How sharp to look is what a parameter would learn: too wide it flattens the curve, too narrow it repeats the noise."
    yield "The plot: stemma explain attention-pooling --plot pooling.svg"


def draw(path: Path) -> None:
    """The points, the curve that they come from, and both poolings, as an SVG; the same bytes every time."""
    if path.suffix != ".svg":
        raise InputError(f"{path}: this plot's name ends in .svg")
    known, grid = points(), np.linspace(0, _RANGE, 201)
    figure = Figure(figsize=(7, 4.5))
    axes = figure.add_axes((0.08, 0.1, 0.9, 0.87))
    axes.scatter(known.x, known.y, s=12, color="0.5", label="points")
    axes.plot(grid, truth(grid), color="0.2", linestyle="--", label="2 sin(x) + x^0.8")
    axes.plot(grid, np.full_like(grid, known.y.mean()), label="average pooling")
    axes.plot(grid, attention_pooling(grid, known), label="attention pooling")
    axes.plot(grid, attention_pooling(grid, known, 5.0), label="attention pooling, distances times 5")
    axes.legend()
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "stemma"}
    with mpl.rc_context(settings), atomic_path(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})


def _error(found: Floats, wanted: Floats) -> float:
    return float(((found - wanted) ** 2).mean())
