"""Counts of words that stand together: as plain loops count them, whatever the memory and the threads."""

import tracemalloc
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemma.data.cooccurrences import MAX_WINDOW, Cooccurrences, Weighting, count_cooccurrences, count_stored
from stemma.data.sentence_blocks import SentenceBlock
from stemma.errors import TrainingError
from stemma.progress import NullProgress
from tests.toy_bert import write_store
from tests.toy_ngrams import block

FIRST, WORDS = 3, 5  # ids 0 to 2 are no words
SENTENCES = st.lists(st.lists(st.integers(0, FIRST + WORDS - 1), max_size=12), max_size=8)


def count(
    folder: Path, blocks: list[SentenceBlock], window: int, weighting: Weighting, **options: int
) -> Cooccurrences:
    options = {"memory": 1 << 20, **options}
    return count_cooccurrences(
        blocks, folder, first_word=FIRST, num_words=WORDS, window=window, weighting=weighting, **options
    )


def dense(counts: Cooccurrences) -> np.ndarray:
    matrix = np.zeros((counts.num_words, counts.num_words))
    rows = np.repeat(np.arange(counts.num_words), np.diff(counts.offsets))
    matrix[rows, counts.columns] = counts.values
    assert np.count_nonzero(matrix) == counts.num_entries, "an entry is there twice, or is 0"
    return matrix


def count_by_loops(sentences: list[list[int]], window: int, weighting: str) -> np.ndarray:
    sums = np.full((WORDS, WORDS), Fraction(0))
    for sentence in sentences:
        words = [number - FIRST for number in sentence if number >= FIRST]
        for place, word in enumerate(words):
            for other in range(max(0, place - window), min(len(words), place + window + 1)):
                if other != place:
                    sums[word, words[other]] += Fraction(1, abs(other - place) if weighting == "harmonic" else 1)
    return sums.astype(float)


@settings(deadline=None)
@given(SENTENCES, st.integers(1, 9), st.sampled_from(["flat", "harmonic"]))
def test_counts_are_those_of_plain_loops_to_the_last_bit(tmp_path_factory, sentences, window, weighting):
    counts = count(tmp_path_factory.mktemp("counts"), [block(sentences)], window, weighting)
    np.testing.assert_array_equal(dense(counts), count_by_loops(sentences, window, weighting))


@pytest.mark.parametrize("memory", [1, 20_000, 1 << 22])  # many runs of the least size, some, and none
@pytest.mark.parametrize("threads", [1, 3])
def test_neither_memory_nor_threads_nor_blocks_change_a_bit(tmp_path, memory, threads):
    rng = np.random.default_rng(1)
    sentences = [rng.integers(0, FIRST + WORDS, rng.integers(0, 12)).tolist() for _ in range(100)]
    whole = count(tmp_path / "whole", [block(sentences)], MAX_WINDOW, "harmonic")
    parts = [block(sentences[:7]), block([]), block(sentences[7:])]
    other = count(tmp_path / "other", parts, MAX_WINDOW, "harmonic", memory=memory, threads=threads)
    for name in ("offsets", "columns", "values"):
        assert getattr(whole, name).tobytes() == getattr(other, name).tobytes(), name


def test_memory_stays_below_what_is_given(tmp_path):
    rng, memory = np.random.default_rng(1), 1 << 20
    blocks = [(rng.integers(0, 1000, 3000), np.arange(0, 3001, 20)) for _ in range(8)]
    num_pairs = 2 * 8 * 150 * sum(20 - distance for distance in range(1, 6))
    assert 8 * num_pairs > 1.5 * memory, "the pairs alone would not fit"
    tracemalloc.start()
    counts = count_cooccurrences(
        blocks, tmp_path, first_word=0, num_words=1000, window=5, weighting="flat", memory=memory
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < memory
    assert counts.values.sum() == num_pairs


def test_selected_entries_keep_their_rows(tmp_path):
    counts = count(tmp_path, [block([[3, 4, 5, 6, 7, 3, 5]])], 2, "harmonic")
    chosen = np.array([0, 3, 4, counts.num_entries - 1])
    expected = np.where(np.isin(np.arange(counts.num_entries), chosen), counts.values, 0)
    selected = counts.select(chosen)
    assert selected.num_entries == len(chosen)
    rows = np.repeat(np.arange(WORDS), np.diff(counts.offsets))
    matrix = np.zeros((WORDS, WORDS))
    matrix[rows, counts.columns] = expected
    np.testing.assert_array_equal(dense(selected), matrix)


def test_a_store_without_pairs_is_refused(tmp_path):
    write_store(tmp_path / "train", [[[7], [1, 1, 8]]])
    with pytest.raises(TrainingError, match="train: no two known words stand together"):
        count_stored(
            tmp_path / "train",
            tmp_path / "scratch",
            first_word=7,
            num_words=2,
            window=2,
            weighting="flat",
            progress=NullProgress(),
        )
