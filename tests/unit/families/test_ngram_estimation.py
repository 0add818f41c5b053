"""What every estimate must hold: in each context, seen or not, probabilities sum to 1."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from stemma.families.ngram.counts import count_ngrams
from stemma.families.ngram.estimation import estimate
from stemma.families.ngram.family import choose_smoothing
from stemma.families.ngram.model import NgramModel, save_model
from stemma.files import digest_tree
from tests.toy_ngrams import SMOOTHINGS, block, model_of, settings, symbols

NUM_WORDS = 5  # of which the corpora below use up to four
WORD = st.integers(7, 10)
SENTENCES = st.lists(st.lists(WORD, max_size=8), min_size=1, max_size=20)
BEGIN, END, UNKNOWN, UNUSED = 5, 6, 1, 11


def contexts_of(model: NgramModel, sentences: list[list[int]]) -> set[tuple[int, ...]]:
    """Every context that a sentence of the corpus offers, and some that were never seen."""
    seen = {
        tuple([BEGIN, *sentence][max(0, place - model.order + 1) : place])
        for sentence in sentences
        for place in range(1, len(sentence) + 2)
    }
    unseen = {(UNUSED,), (UNKNOWN, 7), (BEGIN, UNUSED), (UNUSED, 7, 8), (BEGIN, 9, 9, 9), (8, 8, 8, 8)}
    return seen | {context[-(model.order - 1) :] if model.order > 1 else () for context in unseen} | {()}


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@given(sentences=SENTENCES, order=st.integers(1, 5), zero=st.integers(0, 4))
@hypothesis_settings(deadline=None, max_examples=25)
def test_probabilities_sum_to_one_in_every_context(tmp_path_factory, smoothing, sentences, order, zero):
    weights = [0.0 if place == zero and order > 1 else 1.0 for place in range(order)]
    model = model_of(sentences, NUM_WORDS, settings(smoothing, order, weights=weights), tmp_path_factory.mktemp("m"))
    events = model.symbols.events
    for context in contexts_of(model, sentences):
        distribution = model.distribution(context)
        assert (distribution >= 0).all()
        assert not distribution[~events].any()
        if smoothing == "maximum-likelihood" and not _was_seen(sentences, context):
            assert distribution.sum() == 0  # undefined: nothing to divide by
        else:
            assert distribution.sum() == pytest.approx(1, abs=1e-6)
        if smoothing in ("laplace", "add-k", "kneser-ney"):
            assert distribution[events].min() > 0


def _was_seen(sentences: list[list[int]], context: tuple[int, ...]) -> bool:
    size = len(context)
    padded = [[BEGIN, *sentence] for sentence in sentences]
    return any(tuple(s[i : i + size]) == context for s in padded for i in range(len(s) - size + 1))


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_memory_and_threads_leave_no_trace(tmp_path: Path, smoothing: str) -> None:
    rng = np.random.default_rng(1)
    sentences = [(7 + rng.zipf(1.3, rng.integers(1, 20)) % 900).tolist() for _ in range(200)]
    asked = settings(smoothing, 4)
    digests = set()
    for number, (memory, threads) in enumerate([(1 << 26, 1), (30_000, 1), (100_000, 3)]):
        folder = tmp_path / str(number)
        counts = count_ngrams([block(sentences)], symbols(900), 4, folder / "c", memory=1 << 20)
        chosen, _ = choose_smoothing(asked, counts)
        estimates = estimate(counts, chosen, memory=memory, threads=threads)
        (folder / "model").mkdir()
        save_model(folder / "model", counts, estimates, backs_off=chosen.backs_off, details={})
        digests.add(digest_tree([folder / "model"]))
    assert len(digests) == 1


def test_a_corpus_of_empty_sentences(tmp_path: Path) -> None:
    model = model_of([[], [], []], NUM_WORDS, settings("kneser-ney", 3), tmp_path)
    assert model.distribution([BEGIN]).argmax() == END
    assert model.size(3) == 0
    assert model.distribution([7, 8]).sum() == pytest.approx(1, abs=1e-6)
