"""The sinusoidal table: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d))."""

import math

import pytest

from stemma.layers.positions import sinusoids
from stemma.lessons import explain


@pytest.mark.parametrize(("length", "size"), [(50, 8), (7, 512), (20, 5)])
def test_the_table_is_the_formula(length: int, size: int) -> None:
    table = sinusoids(length, size).tolist()
    assert (len(table), len(table[0])) == (length, size)
    for position, row in enumerate(table):
        for column, value in enumerate(row):
            angle = position / 10000 ** (2 * (column // 2) / size)
            assert value == pytest.approx(math.cos(angle) if column % 2 else math.sin(angle), abs=1e-6)


def test_what_is_told() -> None:
    lines = list(explain("positions"))
    assert "     0   0.0000   1.0000   0.0000   1.0000   0.0000   1.0000   0.0000   1.0000" in lines
    assert f"     1   {math.sin(1):.4f}   {math.cos(1):.4f}   {math.sin(0.1):.4f}   {math.cos(0.1):.4f}" in "\n".join(
        lines
    )
    assert "   i=3: a wavelength of 6,283.2 positions" in lines
    product = sum(math.cos(2 / 10000 ** (2 * number / 8)) for number in range(4))
    assert f"   2 apart, from positions 0, 1 and 2: {product:.4f}, {product:.4f}, {product:.4f}" in lines
