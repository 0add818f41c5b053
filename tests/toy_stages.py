"""A text through the stages up to pretraining, in the folder that a test works in."""

from collections.abc import Iterable
from pathlib import Path

from stemma.config import Params
from stemma.progress import NullProgress
from stemma.stages import clean, ingest, pretrain, tokenize, tokenizer, validate
from stemma.training.tracker import NullTracker

QUIET = NullProgress()


def run_stages(asked: Params, text: Path, trained: Iterable[tuple[str, str, str]]) -> None:
    """From `data/external/NAME` to models of the corpus `toy`; `trained` has each one's tokenizer, tokens and variant."""
    external = Path("data/external")
    external.mkdir(parents=True)
    (external / text.name).write_bytes(text.read_bytes())
    Path("tasks").mkdir()
    ingest.run(asked, QUIET, external=external, out=Path("raw"))
    checked = {"out": Path("valid"), "quarantine": Path("quarantine"), "report": Path("report.json")}
    validate.run(asked, QUIET, corpora=Path("raw"), tasks=Path("tasks"), **checked)
    clean.run(asked, QUIET, corpora=Path("valid/corpora"), out=Path("clean"))
    for name, tokens, variant in trained:
        corpus = Path("clean/toy")
        tokenizer.run(name, asked, QUIET, corpus=corpus, out=Path(name))
        tokenize.run(QUIET, corpus=corpus, tokenizer=Path(name), out=Path(tokens))
        data = {"tokens": Path(tokens), "tokenizer": Path(name), "out": Path(variant)}
        pretrain.run(variant, asked, NullTracker(), QUIET, **data)
