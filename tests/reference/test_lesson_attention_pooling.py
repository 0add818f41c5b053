"""Nadaraya-Watson pooling against its formula written out, and against average pooling."""

import math
from pathlib import Path

import numpy as np
import pytest

from stemma.errors import InputError
from stemma.lessons import draw, explain
from stemma.lessons.attention_pooling import Points, attention_pooling, points, truth


def by_hand(x: float, known: Points, sharpness: float) -> float:
    kernels = [math.exp(-((sharpness * (x - at)) ** 2) / 2) for at in known.x]
    return math.fsum(kernel * float(y) for kernel, y in zip(kernels, known.y, strict=True)) / math.fsum(kernels)


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 5.0])
def test_attention_is_the_kernel_average(sharpness: float) -> None:
    known, queries = points(), np.linspace(0, 5, 23)
    wanted = [by_hand(x, known, sharpness) for x in queries.tolist()]
    assert attention_pooling(queries, known, sharpness).tolist() == pytest.approx(wanted, rel=1e-9)


def test_the_points_are_those_of_the_lecture() -> None:
    known = points()
    assert len(known.x) == 50
    assert (np.diff(known.x) >= 0).all()
    assert truth(np.array([1.0])).tolist() == pytest.approx([2 * math.sin(1) + 1])
    noise = known.y - truth(known.x)
    assert abs(noise.mean()) < 0.2
    assert noise.std() == pytest.approx(0.5, abs=0.1)


def test_a_very_wide_look_is_the_average_and_a_very_narrow_one_the_nearest_point() -> None:
    known = points()
    assert attention_pooling(np.array([2.0]), known, 1e-6).tolist() == pytest.approx([known.y.mean()])
    assert attention_pooling(known.x[7:8], known, 1e4).tolist() == pytest.approx([known.y[7]])


def test_what_is_told() -> None:
    known, grid = points(), np.linspace(0, 5, 201)
    lines = list(explain("attention-pooling"))
    x = np.array([2.5])
    row = f"    2.5  {truth(x)[0]:6.3f}   {known.y.mean():7.3f}  {by_hand(2.5, known, 1.0):9.3f}"
    assert row in lines
    average = float(((known.y.mean() - truth(grid)) ** 2).mean())
    assert f"Mean squared error along the curve: average {average:.3f}" in lines
    errors = [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("   attention, distances")]
    assert all(error < average for error in errors)
    assert min(errors) == errors[2], "neither the widest nor the narrowest is the best"


def test_the_plot_is_the_same_every_time(tmp_path: Path) -> None:
    draw("attention-pooling", tmp_path / "one.svg")
    draw("attention-pooling", tmp_path / "two.svg")
    picture = (tmp_path / "one.svg").read_text()
    assert picture == (tmp_path / "two.svg").read_text()
    assert picture.count("attention pooling") >= 2
    assert "average pooling" in picture
    with pytest.raises(InputError, match=r"one\.png: this plot's name ends in \.svg"):
        draw("attention-pooling", tmp_path / "one.png")
    with pytest.raises(InputError, match="the worked example 'huffman' has no plot"):
        draw("huffman", tmp_path / "tree.svg")
    with pytest.raises(InputError, match="no worked example ''; there are"):
        draw("", tmp_path / "tree.svg")
