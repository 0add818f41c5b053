"""Sinusoidal positions: a table of sines and cosines, and why a distance looks the same everywhere in it."""

import math
from collections.abc import Iterator
from typing import Final

from stemma.layers.positions import sinusoids

__all__ = ["LENGTH", "SIZE", "explain"]

SIZE: Final = 8
LENGTH: Final = 6


def explain() -> Iterator[str]:
    """The table, its wavelengths, and what the products of its rows depend on."""
    table = sinusoids(LENGTH, SIZE)
    yield f"PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d)), here with d = {SIZE}:"
    yield "   pos  " + "  ".join(f"{f'{name} i={number}':>7}" for number in range(SIZE // 2) for name in ("sin", "cos"))
    for position, row in enumerate(table.tolist()):
        yield f"   {position:3}  " + "  ".join(f"{value:7.4f}" for value in row)
    yield "Each pair of columns is a wave; from the first to the last they get longer:"
    for number in range(SIZE // 2):
        rate = 10000 ** (2 * number / SIZE)
        yield f"   i={number}: a wavelength of {2 * math.pi * rate:,.1f} positions"
    yield "The product of two rows is Σ cos(distance / 10000^(2i/d)): it depends on their distance alone."
    for distance in (0, 1, 2, 3):
        products = [float(table[at] @ table[at + distance]) for at in range(3)]
        yield f"   {distance} apart, from positions 0, 1 and 2: {', '.join(f'{value:.4f}' for value in products)}"
    yield "So a shift is a rotation of every pair, the same at every position, which a matrix of a head can learn."
