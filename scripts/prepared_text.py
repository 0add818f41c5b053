"""Text that comes prepared (official splits, tokenized, a sentence a line) for the stages behind `clean`.

`clean` would divide it by hash and normalise it anew: here its lines are written as cleaned documents. From there on the stages
run as always. Lines without a word are left out, as the stages do.
"""

import argparse
import os
import shutil
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np

from stemma.config import Params, load_params
from stemma.data.clean_documents import CLEAN_SCHEMA
from stemma.data.documents import RowGroupWriter
from stemma.data.lines import read_lines
from stemma.data.splits import SPLITS
from stemma.families import load_family
from stemma.files import read_json
from stemma.progress import NullProgress, Progress
from stemma.protocols import RunningScorer, Scorer
from stemma.stages import pretrain, tokenize, tokenizer
from stemma.tasks.language import Figures, measure, read_documents, read_sentences
from stemma.training.tracker import NullTracker

__all__ = ["PreparedText", "add_arguments"]

ROOT = Path(__file__).resolve().parent.parent
LINES_PER_DOCUMENT = 1000
VARIANT = "measured"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `PreparedText` is made from."""
    parser.add_argument("work", type=Path)
    for split in SPLITS:
        parser.add_argument(f"--{split}", type=Path, required=True)
    parser.add_argument("--kind", default="spaces", choices=["word", "spaces", "jieba"])
    parser.add_argument("--min-frequency", type=int, default=1, help="of a word of the vocabulary")
    parser.add_argument(
        "--blank-lines", action="store_true", help="each ends a document; else a document is 1,000 lines"
    )


class PreparedText:
    """A corpus as token ids in a folder of its own, and one family that is trained on it."""

    def __init__(self, asked: argparse.Namespace, family: str) -> None:
        self._work: Path = asked.work
        self._family = family
        self._values = _values(asked.kind, asked.min_frequency, family)
        os.environ["STEMMA_SCRATCH"] = str(asked.work / "scratch")
        for split in SPLITS:
            _write_clean(getattr(asked, split), asked.work / "clean" / split, blank_lines=asked.blank_lines)
        folders = {"corpus": asked.work / "clean", "tokenizer": asked.work / "tokenizer"}
        tokenizer.run(VARIANT, self._params({}), NullProgress(), corpus=folders["corpus"], out=folders["tokenizer"])
        tokenize.run(NullProgress(), **folders, out=asked.work / "tokens")

    def sizes(self) -> dict[str, Any]:
        """What each split holds."""
        splits: dict[str, Any] = read_json(self._work / "tokens" / "report.json")["splits"]
        return splits

    def train(self, settings: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
        """Train with some settings in place of `params.yaml`'s; the metrics of training."""
        folders = {name: self._work / name for name in ("tokens", "tokenizer")}
        shown = progress or NullProgress()
        pretrain.run(VARIANT, self._params(settings), NullTracker(), shown, **folders, out=self._work / "model")
        metrics: dict[str, Any] = read_json(self._work / "model" / "metrics.json")
        return metrics

    def test(self) -> Figures:
        """What the model that was trained last makes of the sentences of the test split, each by itself."""
        return measure(self._scorer(), self._test_sentences(), NullProgress())

    def test_running(self) -> float | None:
        """Its perplexity where sentences follow one another, as published figures are of; none if it reads single ones alone."""
        scorer = self._scorer()
        if not isinstance(scorer, RunningScorer):
            return None
        scores = scorer.score_running([sentences for _, sentences in read_documents(self._work / "clean" / "test")])
        return float(np.exp(scores.nats.sum() / scores.num_predictions.sum()))

    def _scorer(self) -> Scorer:
        load_scorer = load_family(self._family).load_scorer
        if load_scorer is None:
            raise SystemExit(f"family {self._family!r} gives no probabilities of sentences")
        return load_scorer(self._work / "model")

    def _test_sentences(self) -> Iterator[str]:
        return read_sentences(self._work / "clean" / "test")

    def _params(self, settings: dict[str, Any]) -> Params:
        variant = self._values["variants"][VARIANT] | {"overrides": settings}
        return Params.model_validate(self._values | {"variants": {VARIANT: variant}})


def _values(kind: str, min_frequency: int, family: str) -> dict[str, Any]:
    """The project's own settings, with one tokenizer and one variant."""
    params = load_params(ROOT / "params.yaml")
    corpus = next(iter(params.corpora))
    measured = {"corpus": corpus, "kind": kind, "vocabulary_size": 1_000_000, "min_frequency": min_frequency}
    values = params.model_dump() | {"tasks": {}, "transfers": {}, "pairs": {}}
    values["release"]["floors"] = {}
    values["tokenizers"] = {VARIANT: measured | {"lowercase": False}}
    values["variants"] = {VARIANT: {"family": family, "corpus": corpus, "tokenizer": VARIANT}}
    return values


def _write_clean(path: Path, folder: Path, *, blank_lines: bool) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lines = (line.strip() for _, line in read_lines(path, path.name))
    documents = _between_blank_lines(lines) if blank_lines else _of_many_lines(lines)
    with RowGroupWriter(folder, "part", CLEAN_SCHEMA) as writer:
        for number, sentences in enumerate(documents):
            row = {"id": f"{path.name}:{number}", "source": path.name, "sentences": sentences}
            writer.write(row, sum(map(len, sentences)))


def _between_blank_lines(lines: Iterable[str]) -> Iterator[list[str]]:
    return (list(group) for has_text, group in groupby(lines, key=bool) if has_text)


def _of_many_lines(lines: Iterable[str]) -> Iterator[list[str]]:
    written = filter(None, lines)
    return iter(lambda: list(islice(written, LINES_PER_DOCUMENT)), [])
