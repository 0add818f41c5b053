"""`stemma tasks`: every task that the project knows, with its kind, metrics, rows, licence and where to get it."""

from collections.abc import Iterator
from dataclasses import dataclass

from stemma.tasks.blimp import NUM_PAIRS, NUM_PARADIGMS
from stemma.tasks.known import KNOWN, KnownTask
from stemma.tasks.offline_recipes import RECIPES

__all__ = ["Listed", "list_tasks"]


@dataclass(frozen=True, kw_only=True)
class Listed:
    """What a line of the list says."""

    name: str  # as `params.yaml` calls it
    title: str
    kind: str
    metrics: str
    rows: str
    where: str
    licence: str
    note: str = ""


def list_tasks() -> Iterator[Listed]:
    """Tasks of files and of the Hub, then what is asked without training, then what the project makes itself."""
    for name, known in KNOWN.items():
        yield Listed(
            name=f"format: {name}",
            title=known.title,
            kind=f"{known.kind}, pairs" if "text_pair" in known.columns else known.kind,
            metrics=", ".join(metric.replace("_", " ") for metric in known.metrics),
            rows=_rows(known),
            where=f"{known.where}; Hub: {known.hub}",
            licence=known.licence,
            note=known.note,
        )
    yield Listed(
        name="BLiMP",
        title="minimal pairs",
        kind="zero-shot",
        metrics="accuracy",
        rows=f"{NUM_PARADIGMS} × {NUM_PAIRS:,}",
        where="github.com/alexwarstadt/blimp; Hub: nyu-mll/blimp",
        licence="CC BY",
    )
    for title, rows in (("WordSim-353", "353"), ("SimLex-999", "999"), ("Google's analogies", "19,544")):
        yield Listed(
            name="probes",
            title=title,
            kind="word vectors",
            metrics="accuracy, coverage" if "analog" in title else "spearman, coverage",
            rows=rows,
            where="in the gensim wheel",
            licence="see its source",
        )
    for name, recipe in RECIPES.items():
        yield Listed(
            name=f"recipe: {name}",
            title="offline suite",
            kind=recipe.kind,
            metrics="as its kind's",
            rows="as many as wanted",
            where="made from a corpus",
            licence="the corpus's",
        )


def _rows(known: KnownTask) -> str:
    """The official counts of the splits, each named once."""
    order = ("train", "dev", "validation", "dev_matched", "dev_mismatched", "test", "test_matched", "test_mismatched")
    found = {name: known.rows[name] for name in order if name in known.rows}
    if "dev" in found:
        found.pop("validation", None)
    return ", ".join(f"{name} {rows:,}" for name, rows in found.items())
