"""The noise distribution of the lecture, and whether what is drawn follows it: by us and by gensim's table."""

import numpy as np
import pytest
from gensim.models import Word2Vec
from scipy.stats import chisquare

from stemma.layers.word_prediction import draw_negatives, noise_distribution
from stemma.lessons.negative_sampling import COUNTS, explain

DRAWS = 200_000
PROBABILITIES = [27 / 44, 8 / 44, 8 / 44, 1 / 44]  # 81^0.75 = 27, 16^0.75 = 8, 1^0.75 = 1


def test_probabilities_by_hand() -> None:
    assert COUNTS == {"the": 81, "man": 16, "loves": 16, "son": 1}
    assert noise_distribution(np.array([81, 16, 16, 1]), 0.75).tolist() == pytest.approx(PROBABILITIES)
    told = list(explain())
    assert "  the: count 81, 0.711 of the text, 27 of noise, probability 0.614" in told
    assert "  man: 0" in told
    assert told[-1].endswith("2.7726 nats (4 · ln 2).")


def test_our_draws_follow_the_distribution() -> None:
    nobody = np.full(DRAWS // 4, -1)  # a target that is no word, so that nothing is left out
    drawn = draw_negatives(nobody, 4, np.array(PROBABILITIES), np.random.default_rng(1))
    assert _fits(drawn)


def test_a_word_is_never_its_own_negative_and_the_others_keep_their_shares() -> None:
    drawn = draw_negatives(np.zeros(DRAWS // 4, np.int64), 4, np.array(PROBABILITIES), np.random.default_rng(1))
    assert not (drawn == 0).any()
    assert (drawn < 0).mean() == pytest.approx(27 / 44, abs=0.01)
    assert _fits(np.where(drawn < 0, 0, drawn))


def test_what_gensim_draws_follows_the_distribution() -> None:
    model = Word2Vec(vector_size=2, min_count=1, negative=5, ns_exponent=0.75)
    model.build_vocab_from_freq(COUNTS)
    assert model.wv.expandos["count"].tolist() == [81, 16, 16, 1]
    table = model.cum_table
    shares = np.diff(table.astype(np.int64), prepend=0) / int(table[-1])
    assert shares.tolist() == pytest.approx(PROBABILITIES, abs=1e-8)
    numbers = np.fromiter(_gensim_numbers(1, DRAWS), np.uint64)
    assert _fits(np.searchsorted(table, numbers % np.uint64(table[-1])))


def _gensim_numbers(seed: int, count: int):
    """What gensim's compiled code draws from: the generator of Java's Random."""
    state = seed
    for _ in range(count):
        yield state >> 16
        state = (state * 25214903917 + 11) & (2**48 - 1)


def _fits(drawn: np.ndarray) -> bool:
    counts = np.bincount(drawn.ravel(), minlength=4)
    assert counts.sum() == DRAWS
    return float(chisquare(counts, np.array(PROBABILITIES) * DRAWS).pvalue) > 0.001
