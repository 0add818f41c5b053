"""Windows: which words see which, and how often frequent ones are dropped."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemma.data.token_store import TokenStore
from stemma.data.windows import keep_probability, lay_windows, sample_windows
from tests.toy_bert import write_store

WORD = st.tuples(st.integers(0, 9), st.integers(1, 4), st.booleans())  # a word, its reach, whether a sentence begins


@given(st.lists(WORD, max_size=20))
@settings(deadline=None)
def test_windows_are_those_of_loops(text):
    words = np.array([word for word, _, _ in text], np.int64)
    reach = np.array([reach for _, reach, _ in text], np.int64)
    sentences = np.cumsum([begins for _, _, begins in text], dtype=np.int64)
    expected = [
        (center, words[center], words[context])
        for center in range(len(text))
        for context in range(len(text))
        if 0 < abs(center - context) <= reach[center] and sentences[center] == sentences[context]
    ]
    pairs = lay_windows(words, sentences, reach)
    assert list(zip(pairs.places, pairs.centers, pairs.contexts, strict=True)) == expected
    firsts = [number for number, pair in enumerate(expected) if not number or expected[number - 1][0] != pair[0]]
    assert pairs.starts.tolist() == firsts


def test_rare_words_are_kept_and_frequent_ones_dropped():
    # of 10,000 words at 0.01: 100 expected; (sqrt(25) + 1) / 25 = 0.24 for 2,500, (sqrt(64) + 1) / 64 for 6,400
    kept = keep_probability(np.array([6400, 2500, 1000, 90, 10]), 0.01)
    assert kept.tolist() == pytest.approx([9 / 64, 6 / 25, (10**0.5 + 1) / 10, 1, 1])
    assert keep_probability(np.array([99, 1]), 0.5).tolist() == [1, 1]


def test_a_sample_stays_inside_of_sentences_and_can_be_drawn_again(tmp_path):
    rng = np.random.default_rng(1)
    documents = [[[7 + number % 3] * int(rng.integers(1, 9)) for number in range(5)] for _ in range(40)]
    store = TokenStore.open(write_store(tmp_path, documents))
    word_of = np.array([-1] * 7 + [0, 1, 2])
    one, other = (
        sample_windows(store, word_of, np.array([1.0, 1.0, 0.0]), 3, np.random.default_rng(4)) for _ in range(2)
    )
    assert one.centers.tolist() == one.contexts.tolist(), "each sentence repeats a word of its own"
    assert set(one.centers.tolist()) == {0, 1}, "the third is never kept"
    assert np.array_equal(one.places, other.places)


def test_no_sentences_no_windows(tmp_path):
    store = TokenStore.open(write_store(tmp_path, []))
    assert not len(sample_windows(store, np.array([-1]), np.array([1.0]), 3, np.random.default_rng(4)).places)
