"""BLEU and its interval, against sacrebleu on the sentences themselves."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sacrebleu.metrics.bleu import BLEU

from stemma.config import Evaluation
from stemma.data.clean_documents import CLEAN_SCHEMA
from stemma.errors import InputError
from stemma.statistics import resamples
from stemma.tasks.translation import ParallelText, measure_translations, read_parallel

SETTINGS = Evaluation(confidence=0.9, bootstrap_draws=60, bootstrap_seed=4, pseudo_perplexity_sentences=1)
WORDS = ["ein", "Mann", "und", "eine", "Frau", "sitzen", "auf", "der", "Bank", ",", "die", "alt", "ist", "."]


def text(seed: int = 1, count: int = 12) -> tuple[ParallelText, list[str]]:
    rng = np.random.default_rng(seed)
    references = [" ".join(rng.choice(WORDS, size=rng.integers(4, 12))) for _ in range(count)]
    translations = [" ".join(word for word in reference.split() if rng.random() < 0.8) for reference in references]
    return ParallelText([str(n) for n in range(count)], ["a man"] * count, references), translations


def test_the_score_is_sacrebleus_and_says_how_it_was_asked() -> None:
    pairs, translations = text()
    found = measure_translations(pairs, translations, SETTINGS)
    assert found["bleu"] == BLEU().corpus_score(translations, [pairs.references]).score
    assert found["sources_left"] == BLEU().corpus_score(pairs.sources, [pairs.references]).score
    assert found["pairs"] == 12
    assert "tok:13a" in found["signature"]
    assert "version:" in found["signature"]


def test_the_interval_is_that_of_scores_on_resampled_sentences() -> None:
    pairs, translations = text()
    found = measure_translations(pairs, translations, SETTINGS)
    scores = []
    for weights in resamples(12, draws=60, seed=4):
        for row in weights.astype(int):
            drawn = np.repeat(np.arange(12), row)
            hypotheses = [translations[n] for n in drawn]
            scores.append(BLEU().corpus_score(hypotheses, [[pairs.references[n] for n in drawn]]).score)
    assert [found["low"], found["high"]] == pytest.approx(np.quantile(scores, [0.05, 0.95]).tolist())
    assert found["low"] < found["bleu"] < found["high"]


def test_perfect_and_empty_translations() -> None:
    pairs, _ = text()
    assert measure_translations(pairs, pairs.references, SETTINGS)["low"] == pytest.approx(100)
    assert measure_translations(pairs, [""] * 12, SETTINGS)["high"] == 0


def write(folder: Path, documents: list[list[str]]) -> Path:
    rows = [{"id": str(n), "source": "s", "sentences": sentences} for n, sentences in enumerate(documents)]
    (folder / "test").mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=CLEAN_SCHEMA), folder / "test" / "part-00000.parquet")
    return folder


def test_pairs_are_read_in_order(tmp_path: Path) -> None:
    assert read_parallel(write(tmp_path, [["a", "A"], ["b", "B"]])) == (["0", "1"], ["a", "b"], ["A", "B"])


@pytest.mark.parametrize(
    ("documents", "message"),
    [([], "no pairs of sentences; name files for test"), ([["a", "A"], ["b"]], "1 is no pair of sentences")],
)
def test_what_is_no_parallel_text_is_refused(tmp_path: Path, documents: list[list[str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_parallel(write(tmp_path, documents))
