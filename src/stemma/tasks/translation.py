"""How good translations are: BLEU (Papineni et al. 2002), by sacrebleu, with an interval over sentences.

BLEU is of a whole text: it adds up, over all sentences, how many words and runs of up to four words the translations share with
their references. A resample of the sentences has other sums, and from them another score (Koehn 2004).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.bleu import BLEU

from stemma.config import Evaluation
from stemma.data.clean_documents import read_clean
from stemma.errors import InputError
from stemma.statistics import draw_examples, percentile_interval

__all__ = ["ParallelText", "measure_translations", "read_parallel"]

Floats = npt.NDArray[np.float64]


class ParallelText(NamedTuple):
    """Sentences with their translations, and the ids of the pairs."""

    ids: list[str]
    sources: list[str]
    references: list[str]


def read_parallel(corpus: Path) -> ParallelText:
    """The pairs of the test split of a cleaned corpus."""
    rows = [row for table in read_clean(corpus, "test") for row in table.to_pylist()]
    if not rows:
        raise InputError(f"{corpus / 'test'}: no pairs of sentences; name files for test, or raise splits.test")
    wrong = next((row for row in rows if len(row["sentences"]) != 2), None)
    if wrong is not None:
        raise InputError(f"{corpus / 'test'}: {wrong['id']} is no pair of sentences; use a corpus of kind 'parallel'")
    return ParallelText([row["id"] for row in rows], *map(list, zip(*(row["sentences"] for row in rows), strict=True)))


def measure_translations(text: ParallelText, translations: Sequence[str], settings: Evaluation) -> dict[str, Any]:
    """BLEU with its interval, what leaving the sources as they are would score, and how sacrebleu was asked."""
    metric = BLEU()
    columns = np.array(list(_counts(translations, text.references)))
    draws = draw_examples(columns[None], _scores, draws=settings.bootstrap_draws, seed=settings.bootstrap_seed)
    interval = percentile_interval(draws[:, 0], settings.confidence)
    return {
        "pairs": len(translations),
        "bleu": metric.corpus_score(translations, [text.references]).score,
        "low": interval.low,
        "high": interval.high,
        "sources_left": metric.corpus_score(text.sources, [text.references]).score,
        "signature": str(metric.get_signature()),
    }


def _counts(translations: Sequence[str], references: Sequence[str]) -> Iterator[list[int]]:
    """What BLEU adds up of each sentence: its length and its reference's, shared runs, and runs, of one to four words."""
    metric = BLEU(effective_order=True)  # which changes scores of single sentences, not their counts
    for translation, reference in zip(translations, references, strict=True):
        found = metric.sentence_score(translation, [reference])
        yield [found.sys_len, found.ref_len, *found.counts, *found.totals]


def _scores(sums: Floats) -> Floats:
    """BLEU from sums of counts (…, 10)."""
    return np.apply_along_axis(_score, -1, sums)


def _score(sums: Floats) -> float:
    system, reference, *counts = map(round, sums.tolist())
    score: float = BLEU.compute_bleu(counts[:4], counts[4:], system, reference, smooth_method="exp").score
    return score
