"""Test perplexity of n-gram models on a corpus that comes prepared: in official splits, tokenized, a sentence a line.

Such text enters the pipeline after `clean`, which would divide it by hash and normalise it anew: here its lines are written
as cleaned documents. From there on the stages run as always. Lines without a word are left out, as the stages do. What a
smoothing leaves open (k, weights) is chosen by validation perplexity.

Usage: python scripts/measure_ngrams.py WORK --train FILE --validation FILE --test FILE [--kind jieba] [--orders 3 5]
"""

import argparse
import math
import os
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from stemma.config import Params, load_params
from stemma.data.clean_documents import CLEAN_SCHEMA
from stemma.data.documents import RowGroupWriter
from stemma.data.lines import read_lines
from stemma.data.splits import SPLITS
from stemma.families import load_family
from stemma.files import read_json
from stemma.progress import NullProgress
from stemma.stages import pretrain, tokenize, tokenizer
from stemma.tasks.language import Figures, measure, read_sentences
from stemma.training.tracker import NullTracker

ROOT = Path(__file__).resolve().parent.parent
SMOOTHINGS = ("maximum-likelihood", "laplace", "add-k", "interpolated", "kneser-ney")
LINES_PER_DOCUMENT = 1000
ADDED = (0.1, 0.01, 0.001, 0.0001)


def main() -> None:
    """Print a row a smoothing and order."""
    asked = _parse()
    os.environ["STEMMA_SCRATCH"] = str(asked.work / "scratch")
    params = _params(asked.kind, asked.min_frequency)
    for split in SPLITS:
        _write_clean(getattr(asked, split), asked.work / "clean" / split)
    folders = {"corpus": asked.work / "clean", "out": asked.work / "tokenizer"}
    tokenizer.run("measured", params, NullProgress(), **folders)
    tokenize.run(
        NullProgress(), corpus=asked.work / "clean", tokenizer=asked.work / "tokenizer", out=asked.work / "tokens"
    )
    report = read_json(asked.work / "tokens" / "report.json")
    for split in SPLITS:
        print(f"{split}: {report['splits'][split]}")
    print(
        "| smoothing | order | chosen | test perplexity | bits per byte | impossible sentences |\n|---|---|---|---|---|---|"
    )
    for smoothing in asked.smoothings:
        for order in asked.orders:
            print(_row(params, asked.work, smoothing, order), flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    for split in SPLITS:
        parser.add_argument(f"--{split}", type=Path, required=True)
    parser.add_argument("--kind", default="spaces", choices=["word", "spaces", "jieba"])
    parser.add_argument("--min-frequency", type=int, default=1, help="of a word of the vocabulary")
    parser.add_argument("--orders", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--smoothings", nargs="+", default=SMOOTHINGS, choices=SMOOTHINGS)
    return parser.parse_args()


def _params(kind: str, min_frequency: int) -> Params:
    """The project's own settings, with one tokenizer and one n-gram variant."""
    params = load_params(ROOT / "params.yaml")
    corpus = next(iter(params.corpora))
    measured = {"corpus": corpus, "kind": kind, "vocabulary_size": 1_000_000, "min_frequency": min_frequency}
    values = params.model_dump() | {"tasks": {}, "pairs": {}}
    values["release"]["floors"] = {}
    values["tokenizers"] = {"measured": measured | {"lowercase": False}}
    values["variants"] = {"measured": {"family": "ngram", "corpus": corpus, "tokenizer": "measured"}}
    return Params.model_validate(values)


def _write_clean(path: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lines = (line.strip() for _, line in read_lines(path, path.name))
    written = filter(None, lines)
    with RowGroupWriter(folder, "part", CLEAN_SCHEMA) as writer:
        number = 0
        while sentences := list(islice(written, LINES_PER_DOCUMENT)):
            row = {"id": f"{path.name}:{number}", "source": path.name, "sentences": sentences}
            writer.write(row, sum(map(len, sentences)))
            number += 1


def _row(params: Params, work: Path, smoothing: str, order: int) -> str:
    candidates = list(_candidates(smoothing, order))
    chosen = min(candidates, key=lambda one: _validation(params, work, one)) if len(candidates) > 1 else candidates[0]
    figures = _measure(params, work, chosen)
    left_open = {"add-k": f"k = {chosen['add_k']}", "interpolated": f"weights {chosen['interpolation']}"}
    shown = figures.as_dict()
    numbers = [f"{shown[name]:.6g}" if shown[name] else "infinite" for name in ("perplexity", "bits_per_byte")]
    impossible = f"{figures.impossible:,} of {figures.sentences:,}"
    return " | ".join(["", smoothing, str(order), left_open.get(smoothing, ""), *numbers, impossible, ""]).strip()


def _candidates(smoothing: str, order: int) -> Iterator[dict[str, Any]]:
    base = {"order": order, "smoothing": smoothing, "add_k": 1.0, "interpolation": [1.0] * order}
    if smoothing == "add-k":
        yield from (base | {"add_k": k} for k in ADDED)
        return
    yield base
    if smoothing == "interpolated" and order > 1:
        for ratio in (0.25, 0.5, 2.0):  # of an order's weight to that of the one below
            yield base | {"interpolation": [ratio**power for power in range(order)]}


def _validation(params: Params, work: Path, settings: dict[str, Any]) -> float:
    perplexity: float = _train(params, work, settings).get("validation_perplexity", math.inf)
    return perplexity


def _measure(params: Params, work: Path, settings: dict[str, Any]) -> Figures:
    _train(params, work, settings)
    load_scorer = load_family("ngram").load_scorer
    assert load_scorer is not None
    return measure(load_scorer(work / "model"), read_sentences(work / "clean" / "test"), NullProgress())


def _train(params: Params, work: Path, settings: dict[str, Any]) -> dict[str, Any]:
    values = params.model_dump()
    values["variants"]["measured"]["overrides"] = settings
    folders = {"tokens": work / "tokens", "tokenizer": work / "tokenizer", "out": work / "model"}
    pretrain.run("measured", Params.model_validate(values), NullTracker(), NullProgress(), **folders)
    metrics: dict[str, Any] = read_json(work / "model" / "metrics.json")
    return metrics


if __name__ == "__main__":
    main()
