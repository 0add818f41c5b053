"""The offline task suite: four kinds of task that the project makes from a corpus, labels following from how they were made.

They are named for what they are and are not GLUE, SQuAD or CoNLL. Rows of a split come from documents of that split alone.
Which passages are taken, and every draw, is a function of seed, recipe, document and position: no order of documents
matters, and memory holds the chosen passages only.
"""

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from stemma.config import Splits
from stemma.data.documents import read_documents
from stemma.data.splits import SPLITS, Split, split_of
from stemma.errors import SettingsError
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.offline_passages import Passage, find_passages
from stemma.tasks.offline_recipes import RECIPES, Recipe

__all__ = ["RECIPES", "Recipe", "make_task"]

_log = logging.getLogger(__name__)
_SLACK: Final = 1.1  # more passages than needed, because some are dropped that stand in two splits


@dataclass(frozen=True, slots=True)
class _Pick:
    """A passage with its random priority; the lowest are taken."""

    priority: int
    document: str
    number: int  # of the sentence
    passage: Passage


def make_task(
    recipe: str, corpus_dir: Path, sources: Sequence[str], splits: Splits, examples: Mapping[str, int], seed: int
) -> dict[str, pa.Table]:
    """The rows of every split by a recipe, from documents of some sources; as many as asked, or as the corpus gives."""
    if recipe not in RECIPES:
        raise SettingsError(f"no recipe {recipe!r}; there are {', '.join(sorted(RECIPES))}")
    how = RECIPES[recipe]
    wanted: dict[Split, int] = {split: -(-examples.get(split, 0) // how.rows_per_passage) for split in SPLITS}
    picks = _drop_repeats(_pick(recipe, corpus_dir, sources, splits, wanted, seed))
    tables: dict[str, pa.Table] = {}
    for split in SPLITS:
        rows = _rows(how, picks[split][: wanted[split]], picks[split])
        _report(recipe, split, len(rows), wanted[split] * how.rows_per_passage)
        tables[split] = pa.Table.from_pylist(rows, schema=ROW_SCHEMAS[how.kind])
    return tables


class _Selection:
    """The passages of lowest priority, each text once; which they are does not depend on the order they came in."""

    def __init__(self, size: int) -> None:
        self._size, self._limit = size, 1 << 64
        self._picks: dict[tuple[str, ...], _Pick] = {}

    def offer(self, pick: _Pick) -> None:
        """Take a passage if it may be among the lowest."""
        known = self._picks.get(pick.passage.words)
        if pick.priority >= self._limit or (known is not None and known.priority <= pick.priority):
            return
        self._picks[pick.passage.words] = pick
        if len(self._picks) > 2 * self._size + 1:
            self._picks = {pick.passage.words: pick for pick in self.lowest()}
            self._limit = max((pick.priority for pick in self._picks.values()), default=0)

    def lowest(self) -> list[_Pick]:
        """What was selected, lowest priority first."""
        return sorted(self._picks.values(), key=lambda pick: pick.priority)[: self._size]


def _pick(
    recipe: str, corpus_dir: Path, sources: Sequence[str], splits: Splits, wanted: Mapping[Split, int], seed: int
) -> dict[Split, list[_Pick]]:
    how = RECIPES[recipe]
    selections = {split: _Selection(int(_SLACK * wanted[split])) for split in SPLITS}
    for document, text in _documents(corpus_dir, sources):
        selection = selections[split_of(document, splits)]
        for number, passage in find_passages(text, how.sentences):
            if how.is_usable(passage):
                priority = _hash(seed, recipe, document, number)
                selection.offer(_Pick(priority, document, number, passage))
    return {split: selection.lowest() for split, selection in selections.items()}


def _documents(corpus_dir: Path, sources: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Ids and texts, one at a time as Python strings."""
    for table in read_documents(corpus_dir, ["id", "source", "text"]):
        for document, source, text in zip(table["id"], table["source"], table["text"], strict=True):
            if source.as_py() in sources:
                yield document.as_py(), text.as_py()


def _hash(seed: int, recipe: str, document: str, number: int) -> int:
    key = f"{seed}\0{recipe}\0{document}\0{number}".encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")


def _drop_repeats(picks: dict[Split, list[_Pick]]) -> dict[Split, list[_Pick]]:
    """No text in two splits: test keeps it before validation, and validation before train."""
    seen: set[tuple[str, ...]] = set()
    kept: dict[Split, list[_Pick]] = {}
    for split in ("test", "validation", "train"):
        kept[split] = [pick for pick in picks[split] if pick.passage.words not in seen]
        seen.update(pick.passage.words for pick in kept[split])
    return kept


def _rows(recipe: Recipe, chosen: list[_Pick], pool: list[_Pick]) -> list[dict[str, Any]]:
    """The rows of the chosen passages; the others that some recipes need are of other documents of the split."""
    rows = []
    for pick in chosen:
        rng = np.random.default_rng(pick.priority)
        others = _others(pick, pool, rng, recipe.others)
        if not others:
            continue
        made = recipe.make(pick.passage, [other.passage for other in others], rng)
        name = f"{pick.document[:12]}-{pick.number}"
        rows += [{"id": f"{name}-{at}", "document": pick.document, **row} for at, row in enumerate(made)]
    return rows


def _others(pick: _Pick, pool: list[_Pick], rng: np.random.Generator, count: int) -> list[_Pick]:
    """So many passages of other documents, no two of one, as far as there are such."""
    start = int(rng.integers(len(pool)))
    found = {pick.document: pick}
    for place in range(len(pool)):
        if len(found) > count:
            break
        other = pool[(start + place) % len(pool)]
        found.setdefault(other.document, other)
    return list(found.values())[1:]


def _report(recipe: str, split: str, made: int, wanted: int) -> None:
    if made < wanted:
        _log.warning("%s: the corpus gives %d %s rows of the %d asked for", recipe, made, split, wanted)
