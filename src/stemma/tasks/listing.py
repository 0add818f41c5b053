"""`stemma tasks`: every task that the project knows, with its kind, metrics, rows, licence and where to get it."""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Final

from stemma.tasks.blimp import NUM_PAIRS, NUM_PARADIGMS
from stemma.tasks.known import KNOWN, KnownTask
from stemma.tasks.offline_recipes import RECIPES

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Listed", "console_list", "list_tasks"]

_TITLE: Final = "Tasks; the project holds none of the public ones"
_COLUMNS: Final = ("in params.yaml", "task", "kind", "metrics", "rows", "where to get it", "licence", "note")
_WIDE: Final = 160  # columns of a terminal from which on eight columns of words can be read

_GENSIM: Final = ("in the gensim wheel", "see its source")
_FARUQUI: Final = ("github.com/mfaruqui/eval-word-vectors", "its authors' terms; the collection's is MIT")
# Words that are alike and analogies: the kind of probe, its rows, where to get it, its licence, a note.
_WORDS: Final[dict[str, tuple[str, str, tuple[str, str], str]]] = {
    "WordSim-353": ("similarity", "353", _GENSIM, "name: wordsim353"),
    "WordSim-353, similarity": ("similarity", "203", _FARUQUI, "the pairs that are alike, and unrelated ones"),
    "WordSim-353, relatedness": ("similarity", "252", _FARUQUI, "the pairs that go together, and unrelated ones"),
    "SimLex-999": ("similarity", "999", _GENSIM, "name: simlex999"),
    "SimVerb-3500": ("similarity", "3,500", _FARUQUI, "verbs"),
    "MEN": ("similarity", "3,000", _FARUQUI, ""),
    "RW": ("similarity", "2,034", _FARUQUI, "rare words"),
    "MTurk-287": ("similarity", "287", _FARUQUI, ""),
    "MTurk-771": ("similarity", "771", _FARUQUI, ""),
    "RG-65": ("similarity", "65", _FARUQUI, ""),
    "MC-30": ("similarity", "30", _FARUQUI, "a part of RG-65, asked again"),
    "YP-130": ("similarity", "130", _FARUQUI, "verbs"),
    "VERB-143": ("similarity", "144", _FARUQUI, "verbs, inflected"),
    "Google's analogies": ("analogy", "19,544", _GENSIM, "name: google-analogies"),
    "MSR's analogies": (
        "analogy",
        "8,000",
        ("github.com/vecto-ai/word-benchmarks", "not stated"),
        "a .csv; grammar only",
    ),
    "BATS 3.0": (
        "analogy",
        "40 × 2,450",
        ("github.com/commonsense/conceptnet5", "CC BY-SA 4.0"),
        "a folder of 40 relations; every two of a relation's 50 pairs are a question",
    ),
}


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
        name="probe of kind minimal-pairs",
        title="BLiMP",
        kind="zero-shot",
        metrics="accuracy",
        rows=f"{NUM_PARADIGMS} × {NUM_PAIRS:,}",
        where="github.com/alexwarstadt/blimp; Hub: nyu-mll/blimp",
        licence="CC BY",
    )
    for title, (kind, rows, (where, licence), note) in _WORDS.items():
        yield Listed(
            name=f"probe of kind {kind}",
            title=title,
            kind="word vectors",
            metrics="accuracy, coverage" if kind == "analogy" else "spearman, coverage",
            rows=rows,
            where=where,
            licence=licence,
            note=note,
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


def console_list(width: int) -> "RenderableType":
    """The list for a terminal of so many columns: a table, or where that is too narrow a block a task."""
    from rich.table import Table
    from rich.text import Text

    if width < _WIDE:
        return Text("\n\n".join([_TITLE, *map(_block, list_tasks())]))
    table = Table(title=_TITLE, title_justify="left", show_lines=True)
    for column in _COLUMNS:
        table.add_column(column, overflow="fold")
    for one in list_tasks():
        table.add_row(*astuple(one))
    return table


def _block(one: Listed) -> str:
    said = [f"  {column}: {value}" for column, value in zip(_COLUMNS, astuple(one), strict=True) if value]
    return "\n".join([one.title, *(line for line in said if not line.startswith("  task:"))])


def _rows(known: KnownTask) -> str:
    """The official counts of the splits, each named once."""
    order = ("train", "dev", "validation", "dev_matched", "dev_mismatched", "test", "test_matched", "test_mismatched")
    found = {name: known.rows[name] for name in order if name in known.rows}
    if "dev" in found:
        found.pop("validation", None)
    return ", ".join(f"{name} {rows:,}" for name, rows in found.items())
