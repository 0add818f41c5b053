"""How much of each evaluation set stands in a corpus's training documents."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stemma.data.overlap import Hashes, Rows, hash_ngrams, overlapping_rows
from stemma.protocols import HeadKind
from stemma.tasks.rules import evaluation_texts
from stemma.tasks.storage import read_rows

__all__ = ["EvaluationSet", "Overlap", "measure_overlap"]


@dataclass(frozen=True)
class EvaluationSet:
    """A split that models are chosen or scored by: its file, and how many rows that has."""

    kind: HeadKind
    path: Path
    num_rows: int


@dataclass(frozen=True)
class Overlap:
    """How many rows a set has, how many are long enough to be looked for, and how many were found."""

    rows: int
    measured: int
    found: int

    @property
    def share(self) -> float:
        """The share of all rows that was found."""
        return self.found / max(self.rows, 1)

    def report(self) -> dict[str, float]:
        """The figures as plain values."""
        return {"rows": self.rows, "measured": self.measured, "found": self.found, "share": self.share}


def measure_overlap(
    sets: Sequence[EvaluationSet], read_corpus: Callable[[], Iterator[Hashes]], length: int, memory_limit: int
) -> list[Overlap]:
    """Look for runs of `length` words of every set in a corpus, all sets in the same passes over it."""
    starts = [sum(one.num_rows for one in sets[:position]) for position in range(len(sets) + 1)]
    ngrams = (
        found
        for one, start in zip(sets, starts, strict=False)
        for found in _hash_rows(one.kind, one.path, length, start)
    )
    rows = overlapping_rows(ngrams, starts[-1], read_corpus, memory_limit)
    spans = [slice(start, start + one.num_rows) for one, start in zip(sets, starts, strict=False)]
    return [
        Overlap(one.num_rows, int(rows.measured[span].sum()), int(rows.found[span].sum()))
        for one, span in zip(sets, spans, strict=True)
    ]


def _hash_rows(kind: HeadKind, path: Path, length: int, first_row: int) -> Iterator[tuple[Hashes, Rows]]:
    for table in read_rows(path, kind):
        for texts in evaluation_texts(kind, table):
            hashes, rows = hash_ngrams(texts, length)
            yield hashes, rows + first_row
        first_row += table.num_rows
