"""Kneser-Ney on Penn Treebank, against published perplexities.

Words are what lies between spaces, and `<unk>` is a word like any other: it is the unknown word of our vocabulary, which is
counted and predicted, so that with `</s>` there are 10,000 events. Mikolov's thesis (2012), table 4.1, has 148.3 and 141.2.
"""

import gzip
import math
import os
from pathlib import Path

import pytest

from stemma.families.ngram.family import FAMILY as NGRAM
from tests.toy_ngrams import pretrain, save_corpus, settings

NUM_TEST_TOKENS = 82_430  # with a </s> a line


@pytest.fixture(scope="module")
def penn_treebank(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[str]]:
    """Token stores with the test split for validation, a tokenizer, and the test split."""
    folder = Path(os.environ.get("STEMMA_DATA") or Path(__file__).parents[3] / "shared" / "data") / "ptb"
    if not folder.is_dir():
        pytest.skip("needs Penn Treebank (ptb.train.txt.gz, ptb.test.txt.gz) in the folder that STEMMA_DATA names")
    texts = [gzip.decompress((folder / f"ptb.{split}.txt.gz").read_bytes()).decode() for split in ("train", "test")]
    train, test = (text.splitlines() for text in texts)
    words = sorted(set(texts[0].split()) - {"<unk>"})
    return *save_corpus(tmp_path_factory.mktemp("ptb"), words, train, test), test


@pytest.mark.shared_data
@pytest.mark.parametrize(("order", "perplexity"), [(3, 148.28), (5, 141.19)])
def test_perplexity(tmp_path: Path, penn_treebank: tuple[Path, Path, list[str]], order: int, perplexity: float) -> None:
    tokens, tokenizer, test = penn_treebank

    metrics = pretrain(tokens, tokenizer, settings("kneser-ney", order), tmp_path / "model")

    assert metrics["vocabulary_size"] == 10_000
    assert metrics["validation_perplexity"] == pytest.approx(perplexity, abs=0.01)
    assert NGRAM.load_scorer is not None
    scores = NGRAM.load_scorer(tmp_path / "model").score(test)
    assert scores.num_predictions.sum() == NUM_TEST_TOKENS
    assert math.exp(scores.nats.sum() / NUM_TEST_TOKENS) == pytest.approx(perplexity, abs=0.01)
