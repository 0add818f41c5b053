"""Words as points of a plane: the two directions in which their vectors differ most (principal components).

The same words and vectors give the same bytes. An SVG keeps words as text, so that whoever looks at it needs a font for them;
a PNG needs one here. Left out on purpose: t-SNE and the like, whose pictures change with a seed and invent distances.
"""

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, fontManager, get_font

from stemma.errors import InputError
from stemma.files import atomic_path
from stemma.text.vectors import WordVectors

__all__ = ["plot_words", "principal_components"]

Floats = npt.NDArray[np.float64]
_log = logging.getLogger(__name__)
_FONT: Final = "DejaVu Sans"  # comes with matplotlib
_BOXES: Final = "Last Resort"  # too, and has a box for every character
_METADATA: Final = {".svg": {"Date": None}, ".png": {"Software": None}}  # of neither when nor by what


def plot_words(vectors: WordVectors, words: Sequence[str], path: Path) -> None:
    """Draw words into an SVG or PNG file."""
    if path.suffix not in _METADATA:
        raise InputError(f"{path}: a plot's name ends in {' or '.join(_METADATA)}")
    if len(words) < 3:
        raise InputError(f"{path}: {len(words)} words make no plane; name three or more")
    points, shares = principal_components(np.stack([vectors.known(word) for word in words]))
    settings: Any = {"font.family": _fonts("".join(words), path), "svg.fonttype": "none", "svg.hashsalt": "stemma"}
    with mpl.rc_context(settings), warnings.catch_warnings(), atomic_path(path) as temporary:
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # said better by `_fonts`
        figure = _draw(words, points, shares)
        figure.savefig(temporary, format=path.suffix[1:], dpi=150, metadata=_METADATA[path.suffix])


def principal_components(matrix: npt.NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Rows on their first two principal components, and the share of the variance that each of these holds."""
    rows = np.asarray(matrix, np.float64)
    left, lengths, directions = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)[:, 0]
    points = left * lengths * np.where(largest < 0, -1, 1)  # either sign is right: take the same one everywhere
    total = max(float((lengths**2).sum()), np.finfo(np.float64).tiny)
    return points[:, :2], lengths[:2] ** 2 / total


def _draw(words: Sequence[str], points: Floats, shares: Floats) -> Figure:
    figure = Figure(figsize=(8, 6))
    axes = figure.add_axes((0.09, 0.09, 0.88, 0.88))
    axes.scatter(points[:, 0], points[:, 1], s=14)
    for word, (x, y) in zip(words, points, strict=True):
        axes.annotate(word, (x, y), xytext=(4, 3), textcoords="offset points", parse_math=False)
    axes.margins(0.12)
    axes.set_xlabel(f"first principal component ({shares[0]:.0%} of the variance)")
    axes.set_ylabel(f"second ({shares[1]:.0%})")
    return figure


def _fonts(text: str, path: Path) -> list[str]:
    """The fonts to draw a text with: matplotlib's own, and where it lacks characters an installed one that has them."""
    missing = {ord(character) for character in text} - _characters(findfont(_FONT))
    if not missing:
        return [_FONT]
    entries = sorted(fontManager.ttflist, key=lambda entry: (entry.name, entry.fname))
    files = {entry.fname: entry.name for entry in entries if not entry.name.startswith(_BOXES)}
    found = next((name for file, name in files.items() if missing <= _characters(file)), None)
    if found is not None:
        return [_FONT, found]
    if path.suffix == ".png":
        shown = "".join(map(chr, sorted(missing)[:5]))
        _log.warning("%s: no installed font has %s: boxes stand for them; install one, or write an SVG", path, shown)
    return [_FONT]


def _characters(font: str) -> set[int]:
    return set(get_font(font).get_charmap())
