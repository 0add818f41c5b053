"""Test perplexity of n-gram models on a corpus that comes prepared: in official splits, tokenized, a sentence a line.

What a smoothing leaves open (k, weights) is chosen by validation perplexity.

Usage: python -m scripts.measure_ngrams.py WORK --train FILE --validation FILE --test FILE [--kind jieba] [--orders 3 5]
"""

import argparse
import math
from collections.abc import Iterator
from typing import Any

from scripts.prepared_text import PreparedText, add_arguments

SMOOTHINGS = ("maximum-likelihood", "laplace", "add-k", "interpolated", "kneser-ney")
ADDED = (0.1, 0.01, 0.001, 0.0001)


def main() -> None:
    """Print a row a smoothing and order."""
    asked = _parse()
    text = PreparedText(asked, "ngram")
    for split, size in text.sizes().items():
        print(f"{split}: {size}")
    print(
        "| smoothing | order | chosen | test perplexity | bits per byte | impossible sentences |\n|---|---|---|---|---|---|"
    )
    for smoothing in asked.smoothings:
        for order in asked.orders:
            print(_row(text, smoothing, order), flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--orders", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--smoothings", nargs="+", default=SMOOTHINGS, choices=SMOOTHINGS)
    return parser.parse_args()


def _row(text: PreparedText, smoothing: str, order: int) -> str:
    candidates = list(_candidates(smoothing, order))
    chosen = min(candidates, key=lambda one: _validation(text, one)) if len(candidates) > 1 else candidates[0]
    text.train(chosen)
    figures = text.test()
    left_open = {"add-k": f"k = {chosen['add_k']}", "interpolated": f"weights {chosen['interpolation']}"}
    shown = figures.as_dict()
    numbers = [f"{shown[name]:.6g}" if shown[name] else "infinite" for name in ("perplexity", "bits_per_byte")]
    impossible = f"{figures.impossible:,} of {figures.sentences:,}"
    return " | ".join(["", smoothing, str(order), left_open.get(smoothing, ""), *numbers, impossible, ""]).strip()


def _candidates(smoothing: str, order: int) -> Iterator[dict[str, Any]]:
    base = {"order": order, "smoothing": smoothing, "add_k": 1.0, "interpolation": [1.0] * order, "prior_count": 5.0}
    if smoothing == "add-k":
        yield from (base | {"add_k": k} for k in ADDED)
        return
    yield base
    if smoothing == "interpolated" and order > 1:
        for ratio in (0.25, 0.5, 2.0):  # of an order's weight to that of the one below
            yield base | {"interpolation": [ratio**power for power in range(order)]}


def _validation(text: PreparedText, settings: dict[str, Any]) -> float:
    perplexity: float = text.train(settings).get("validation_perplexity", math.inf)
    return perplexity


if __name__ == "__main__":
    main()
