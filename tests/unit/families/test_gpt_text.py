"""Running text as rows, against lists that are put together token by token."""

from pathlib import Path

import numpy as np
import pytest

from stemma.data.token_store import TokenStore
from stemma.errors import TrainingError
from stemma.families.gpt.text import Begins, Text, TextRows, measured_rows
from tests import toy_bert, toy_ngrams

SYMBOLS = toy_ngrams.symbols(20)
BEGIN, END, UNKNOWN = SYMBOLS.begin, SYMBOLS.end, SYMBOLS.unknown
Documents = list[list[list[int]]]


def random_documents(seed: int, count: int, longest: int) -> Documents:
    rng = np.random.default_rng(seed)
    return [
        [rng.integers(7, 27, rng.integers(0, longest)).tolist() for _ in range(rng.integers(1, 6))]
        for _ in range(count)
    ]


def plain(documents: Documents) -> list[int]:
    """All tokens, one after the other."""
    stream = []
    for document in documents:
        stream.append(BEGIN)
        for sentence in document:
            stream += [*sentence, END]
    return stream


def text_of(documents: Documents) -> Text:
    sentences = [sentence for document in documents for sentence in document]
    ids = np.array([word for sentence in sentences for word in sentence], np.uint16)
    bounds = np.cumsum([0, *map(len, sentences)])
    return Text(ids=ids, sentences=bounds, documents=np.cumsum([0, *map(len, documents)]))


def places(documents: Documents, every: int) -> dict[int, bool]:
    """Where rows may begin in the plain stream behind its first token: whether a sentence begins there."""
    found: dict[int, bool] = {}
    place = 0
    for number, document in enumerate(documents):
        place += number > 0  # its <s>
        for sentence in document:
            found |= {place + skip: skip == 0 for skip in range(0, len(sentence) + 1, every)}
            place += len(sentence) + 1
    return found


@pytest.mark.parametrize(("seed", "longest", "width"), [(1, 5, 8), (2, 30, 8), (3, 3, 30), (4, 1, 5)])
def test_a_row_is_the_text_from_its_place_on(seed: int, longest: int, width: int) -> None:
    documents = random_documents(seed, 9, longest)
    text, stream = text_of(documents), plain(documents)[1:]
    begins, expected = Begins.of(text, width), places(documents, width)
    assert begins.size == len(stream)
    assert begins.places.tolist() == list(expected)
    for sentence, skip, place in zip(begins.sentences, begins.skips, begins.places.tolist(), strict=True):
        row = text.row(int(sentence), int(skip), width, SYMBOLS).tolist()
        first = BEGIN if expected[place] else stream[place - 1]
        assert row == [first, *stream[place : place + width]]


def test_what_text_can_not_hold_is_an_unknown_word() -> None:
    assert Text.of([[7, BEGIN, 0, END, 8]]).row(0, 0, 9, SYMBOLS).tolist() == [
        *(BEGIN, 7, UNKNOWN, UNKNOWN, UNKNOWN, 8, END)
    ]


@pytest.mark.parametrize("reach", [4, 8])
@pytest.mark.parametrize("longest", [5, 30])
def test_a_chain_of_rows_holds_every_token(longest: int, reach: int) -> None:
    begins = Begins.of(text_of(random_documents(5, 40, longest)), 8)
    chosen = begins.chain(8, reach)
    covered = {place + further for place in begins.places[chosen].tolist() for further in range(8)}
    missed = set(range(begins.size)) - covered
    assert len(missed) <= 4, "but for a <s> behind a sentence that fills a row"
    assert (np.diff(chosen) > 0).all()
    assert begins.places[chosen[-1]] + 8 >= begins.size


@pytest.mark.parametrize(("sentences", "width"), [([3, 0, 40, 2], 8), ([1], 8), ([7], 8), ([8], 8), ([5] * 30, 16)])
def test_every_token_of_a_document_is_measured_once(sentences: list[int], width: int) -> None:
    document = [list(range(7, 7 + length % 20)) * (1 if length < 20 else 3) for length in sentences]
    stream = plain([document])[1:]
    measured = []
    for number, (row, done) in enumerate(measured_rows(Text.of(document), width, SYMBOLS)):
        measured += row[1 + done :].tolist()
        assert len(row) <= width + 1
        assert done <= (0 if number == 0 else width)
    assert measured == stream


def test_measured_rows_overlap_by_about_half() -> None:
    document = [[7, 8, 9]] * 50
    skipped = [done for _, done in measured_rows(Text.of(document), 16, SYMBOLS)]
    assert skipped[0] == 0
    assert min(skipped[1:]) >= 8


def test_rows_of_a_store(tmp_path: Path) -> None:
    documents = random_documents(7, 60, 12)
    store = TokenStore.open(toy_bert.write_store(tmp_path, documents, tokens_per_shard=300))
    assert len(list(store.shards())) > 2
    rows = TextRows(store, SYMBOLS, width=16, seed=1)
    every = np.arange(len(rows))
    first, again, second, third = (rows.build(every, epoch) for epoch in (0, 0, 1, 2))
    assert [row.tolist() for row in first] == [row.tolist() for row in again]
    assert [row.tolist() for row in second] != [row.tolist() for row in third]
    lengths = [len(row) for row in first]
    assert sum(length < 17 for length in lengths) <= len(list(store.shards()))
    text = " " + " ".join(map(str, plain(documents))) + " "
    for row in [*first, *second]:
        part = row[1:] if row[0] == BEGIN else row
        assert f" {' '.join(map(str, part.tolist()))} " in text
    words = [word for row in first for word in row[1:].tolist()]
    assert set(plain(documents)) <= set(words)
    counts, wanted = np.bincount(words, minlength=30), np.bincount(plain(documents)[1:], minlength=30)
    assert (counts[7:] >= wanted[7:]).all(), "every word is in a row of the first epoch"


def test_a_row_of_a_later_epoch_begins_between_the_one_before_and_its_own_place(tmp_path: Path) -> None:
    store = TokenStore.open(toy_bert.write_store(tmp_path, [[[sentence] for sentence in range(7, 27)] * 3]))
    rows = TextRows(store, SYMBOLS, width=8, seed=1)
    own = [int(row[1]) for row in rows.build(np.arange(len(rows)), 0)]
    found = {tuple(int(row[1]) for row in rows.build(np.arange(3), epoch)) for epoch in range(1, 60)}
    assert {begins[1] for begins in found} == set(range(own[0] + 1, own[1] + 1))


def test_no_text_is_said(tmp_path: Path) -> None:
    store = TokenStore.open(toy_bert.write_store(tmp_path, []))
    with pytest.raises(TrainingError, match="no sentence to train on"):
        TextRows(store, SYMBOLS, width=8, seed=1)
