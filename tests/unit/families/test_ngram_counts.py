"""Counts of all orders against counting in a dictionary, and against themselves with other memory, threads and blocks."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemma.families.ngram.counts import NgramCounts, count_ngrams
from stemma.files import digest_tree
from tests.toy_ngrams import block, symbols

NUM_WORDS = 6
Ngram = tuple[int, ...]


def counted(sentences: Sequence[Sequence[int]], order: int) -> Counter[Ngram]:
    counts: Counter[Ngram] = Counter()
    for sentence in sentences:
        tokens = (5, *sentence, 6)
        counts.update(tokens[i : i + n] for n in range(1, order + 1) for i in range(len(tokens) - n + 1))
    return counts


def listed(counts: NgramCounts) -> dict[Ngram, tuple[int, int]]:
    """Every n-gram with its count and its number of left words, words followed from node to node."""
    size = counts.symbols.size
    result: dict[Ngram, tuple[int, int]] = {
        (i,): (int(counts.unigrams[i]), int(counts.left[i])) for i in np.flatnonzero(counts.unigrams).tolist()
    }
    shorter: list[Ngram] = [(number,) for number in range(size)]
    for level, endings in zip(counts.levels, counts.endings, strict=True):
        keys = level.keys(0, level.size).tolist()
        assert keys == sorted(set(keys)), "keys can be searched"
        ngrams = [(key % size, *shorter[key // size]) for key in keys]
        numbers = zip(level.counts(0, level.size).tolist(), level.left(0, level.size).tolist(), strict=True)
        result.update(zip(ngrams, numbers, strict=True))
        assert list(endings) == [place for place, ngram in enumerate(ngrams) if ngram[-1] == 6]
        words = level.packing.unpack(level.contexts(0, level.size))
        assert [tuple(row) for row in np.stack(words[::-1], axis=1).tolist()] == [ngram[:-1] for ngram in ngrams]
        shorter = ngrams
    return result


SENTENCES = st.lists(st.lists(st.integers(7, 6 + NUM_WORDS), max_size=9), min_size=1, max_size=25)


@given(SENTENCES, st.integers(1, 5), st.sampled_from([1, 2_000, 1 << 20]))
@settings(deadline=None, max_examples=60)
def test_equals_counting_in_a_dictionary(tmp_path_factory, sentences, order, memory):
    counts = count_ngrams([block(sentences)], symbols(NUM_WORDS), order, tmp_path_factory.mktemp("c"), memory=memory)
    expected = counted(sentences, order)
    result = listed(counts)
    assert {ngram: count for ngram, (count, _) in result.items()} == expected
    for ngram, (count, left) in result.items():
        if len(ngram) < order:
            assert left == sum(1 for longer in expected if longer[1:] == ngram)
        else:
            assert left == count  # not known at the longest: the count stands in


@pytest.mark.parametrize("order", [2, 5])
def test_memory_threads_and_blocks_leave_no_trace(tmp_path: Path, order: int) -> None:
    rng = np.random.default_rng(1)
    sentences = [(7 + rng.zipf(1.3, rng.integers(1, 20)) % 4000).tolist() for _ in range(1000)]
    digests = set()
    for number, (memory, threads, blocks) in enumerate(
        [(1 << 26, 1, 1), (100_000, 1, 7), (300_000, 3, 1), (1 << 20, 2, 40)]
    ):
        step = -(-len(sentences) // blocks)
        pieces = [block(sentences[start : start + step]) for start in range(0, len(sentences), step)]
        folder = tmp_path / str(number)
        counts = count_ngrams(pieces, symbols(4000), order, folder, memory=memory, threads=threads)
        assert counts.order == order
        digests.add((digest_tree([folder]), counts.unigrams.tobytes(), counts.left.tobytes()))
    assert len(digests) == 1


def test_ids_of_a_large_vocabulary_take_more_words_a_key(tmp_path: Path) -> None:
    """Five ids of 23 bits need three 64-bit words."""
    large = symbols(1 << 22)
    ids, offsets = np.array([7, large.size - 1, 9, 7, large.size - 1, 9, 8], np.uint32), np.array([0, 3, 7])
    counts = count_ngrams([(ids, offsets)], large, 5, tmp_path / "c", memory=1 << 20)
    last = (7, large.size - 1, 9)
    level = counts.levels[2]
    assert [len(level.packing.widths) for level in counts.levels] == [1, 1, 2, 2]
    expected = counted([[7, large.size - 1, 9], [7, large.size - 1, 9, 8]], 5)
    assert [level.size for level in counts.levels] == [sum(len(n) == k for n in expected) for k in range(2, 6)]
    assert sorted(level.counts(0, level.size).tolist()) == sorted(c for n, c in expected.items() if len(n) == 4)
    assert expected[(5, *last)] == 2


def test_what_lay_in_the_folder_is_gone(tmp_path: Path) -> None:
    stale = tmp_path / "c" / "level-2" / "keys"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"left over from a run that was killed")
    counts = count_ngrams([block([[7]])], symbols(1), 2, tmp_path / "c", memory=1000)
    assert counts.levels[0].size == 2
