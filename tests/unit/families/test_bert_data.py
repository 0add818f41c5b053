"""Sentence pairs: where they come from, what they cover, how they are laid out."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from stemma.data.token_store import TokenStore
from stemma.errors import TrainingError
from stemma.families.bert.data import Pairs, SentencePairs, SentenceRuns, stretch_starts
from tests import toy_bert

CLS, SEP, PAD = 2, 3, 0


def numbered(lengths: list[list[int]]) -> list[list[list[int]]]:
    """Documents whose ids tell where they stand: every token has its own id, from 10 on."""
    counter = iter(range(10, 60_000))
    return [[[next(counter) for _ in range(length)] for length in document] for document in lengths]


def open_pairs(
    folder: Path, documents: list[list[list[int]]], *, max_length: int = 24, shard: int = 1 << 20
) -> SentencePairs:
    toy_bert.write_store(folder, documents, tokens_per_shard=shard)
    return SentencePairs(TokenStore.open(folder), max_length=max_length, cls_id=CLS, sep_id=SEP, pad_id=PAD, seed=1)


def parts(pairs: Pairs) -> list[tuple[list[int], list[int]]]:
    """A and B of every row, after checking the layout around them."""
    result = []
    for ids, types, length in zip(pairs.ids.tolist(), pairs.types.tolist(), pairs.lengths.tolist(), strict=True):
        middle = ids.index(SEP)
        a, b = ids[1:middle], ids[middle + 1 : length - 1]
        assert ids == [CLS, *a, SEP, *b, SEP] + [PAD] * (len(ids) - length)
        assert types == [0] * (middle + 1) + [1] * (len(b) + 1) + [0] * (len(ids) - length)
        result.append((a, b))
    return result


documents_of_lengths = st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=8), min_size=2, max_size=6).filter(
    lambda documents: any(len(document) > 1 for document in documents)
)


@settings(max_examples=60, deadline=None)
@given(lengths=documents_of_lengths, shard=st.sampled_from([1, 50, 1 << 20]), epoch=st.integers(0, 3))
def test_pairs_are_adjacent_or_from_two_documents(tmp_path_factory, lengths, shard, epoch):
    documents = numbered(lengths)
    pairs = open_pairs(tmp_path_factory.mktemp("store"), documents, shard=shard)
    owner = {id_: number for number, document in enumerate(documents) for sentence in document for id_ in sentence}
    sentence_starts = {sentence[0] for document in documents for sentence in document}
    built = pairs.build(np.arange(len(pairs)), epoch)
    assert built.ids.shape[1] <= 24
    for (a, b), is_random in zip(parts(built), built.is_random, strict=True):
        assert a
        assert b
        assert a == list(range(a[0], a[-1] + 1)), "A is one slice of text"
        assert b == list(range(b[0], b[-1] + 1)), "B is one slice of text"
        assert len({owner[id_] for id_ in a}) == len({owner[id_] for id_ in b}) == 1, "no slice leaves its document"
        assert b[0] in sentence_starts
        if is_random:
            assert owner[a[0]] != owner[b[0]], "a negative comes from another document"
        else:
            assert b[0] == a[-1] + 1, "a positive goes on where A ends"
        # filled up, unless B's document ends
        assert len(a) + len(b) == 21 or b[-1] + 1 not in owner or owner[b[-1] + 1] != owner[b[0]]


@settings(max_examples=60, deadline=None)
@given(lengths=documents_of_lengths)
def test_stretches_leave_no_sentence_out(lengths):
    """Whatever the pairs, the stretches of a document with two sentences cover every one of its tokens that fits."""
    sentences = np.concatenate([[0], np.cumsum([length for document in lengths for length in document])])
    documents = np.concatenate([[0], np.cumsum([len(document) for document in lengths])])
    starts = stretch_starts(sentences, documents, 21, 2)
    seen = np.zeros(sentences[-1], bool)
    ends = documents[np.searchsorted(documents, starts, side="right")]
    for start, end in zip(starts, ends, strict=True):
        assert start < end - 1
        seen[sentences[start] : min(sentences[start] + 21, sentences[end])] = True
    for first, last in pairwise(documents):
        for sentence in range(first, last):
            inside = seen[sentences[sentence] : sentences[sentence + 1]]
            if last - first == 1:
                assert not inside.any()
            elif len(inside) + max(np.diff(sentences[first : last + 1])) <= 21:
                assert inside.all()


def test_a_worked_example():
    # two documents: 4 sentences of 10, 5, 10, 5 tokens, and 1 of 8; room for 20
    sentences, documents = np.array([0, 10, 15, 25, 30, 38]), np.array([0, 4, 5])
    # 0: full at token 20, inside sentence 2, where the next begins; from there 15 tokens reach the end
    assert stretch_starts(sentences, documents, 20, 2).tolist() == [0, 2]


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return open_pairs(tmp_path_factory.mktemp("store"), toy_bert.random_documents(3, 150, max_sentences=40))


def draws(pairs: SentencePairs, epochs: int) -> npt.NDArray[np.bool_]:
    return np.concatenate([pairs.build(np.arange(len(pairs)), epoch).is_random for epoch in range(epochs)])


def test_half_of_the_pairs_are_random(many):
    drawn = draws(many, 4)
    assert stats.binomtest(int(drawn.sum()), len(drawn), 0.5).pvalue > 1e-3


def test_epochs_differ_and_repeat(many):
    examples = np.arange(64)
    first, again, second = (many.build(examples, epoch) for epoch in (0, 0, 1))
    np.testing.assert_array_equal(first.ids, again.ids)
    assert (first.is_random != second.is_random).any()


def test_an_example_does_not_depend_on_its_batch(many):
    together = many.build(np.arange(64), 2)
    alone = many.build(np.array([17]), 2)
    np.testing.assert_array_equal(alone.ids[0, : alone.lengths[0]], together.ids[17, : together.lengths[17]])


def test_lengths_tell_who_fits_together(many):
    built = many.build(np.arange(len(many)), 0)
    positive = ~built.is_random
    np.testing.assert_array_equal(built.lengths[positive], many.lengths[positive])
    assert (built.lengths <= 24).all()


@pytest.mark.parametrize("documents", [[[[7, 8], [9]]], [[[7, 8]], [[9]]], []])
def test_too_little_text_is_an_error(tmp_path, documents):
    with pytest.raises(TrainingError, match="two documents"):
        open_pairs(tmp_path, documents)


@settings(max_examples=40, deadline=None)
@given(lengths=st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=8), min_size=1, max_size=6))
def test_runs_are_text_that_goes_on_and_leave_no_sentence_out(tmp_path_factory, lengths):
    documents = numbered(lengths)
    folder = toy_bert.write_store(tmp_path_factory.mktemp("store"), documents, tokens_per_shard=50)
    special = {"cls_id": CLS, "sep_id": SEP, "pad_id": PAD}
    runs = SentenceRuns(TokenStore.open(folder), max_length=24, **special, seed=1)
    built = runs.build(np.arange(len(runs)), 0)
    owner = {id_: number for number, document in enumerate(documents) for sentence in document for id_ in sentence}
    starts = {sentence[0] for document in documents for sentence in document}
    seen = set()
    for ids, length in zip(built.ids.tolist(), built.lengths.tolist(), strict=True):
        run = ids[1 : length - 1]
        assert ids == [CLS, *run, SEP] + [PAD] * (len(ids) - length)
        assert run == list(range(run[0], run[-1] + 1))
        assert run[0] in starts
        assert len({owner[id_] for id_ in run}) == 1
        assert len(run) == 22 or owner.get(run[-1] + 1) != owner[run[0]], "filled up, unless the document ends"
        seen |= set(run)
    assert all(set(sentence[:22]) <= seen for document in documents for sentence in document)
    np.testing.assert_array_equal(built.lengths, runs.lengths)
    assert not built.types.any()
    assert not built.is_random.any()


def test_runs_of_nothing_are_an_error(tmp_path):
    store = TokenStore.open(toy_bert.write_store(tmp_path, []))
    with pytest.raises(TrainingError, match="no sentence to train on"):
        SentenceRuns(store, max_length=24, cls_id=CLS, sep_id=SEP, pad_id=PAD, seed=1)
