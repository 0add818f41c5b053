"""A training's figures as its files have them."""

import csv
import io
from collections.abc import Iterable, Mapping

__all__ = ["curve_csv", "rounded"]


def curve_csv(curve: Iterable[Mapping[str, float]], *losses: str) -> str:
    """The points of a curve by step, as the plots read them: the loss, and the named parts of it."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ["step", "loss", *losses], extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(curve)
    return text.getvalue()


def rounded(value: float) -> float:
    """To ten digits: another machine's logarithm may differ in the last."""
    return float(f"{value:.10g}")
