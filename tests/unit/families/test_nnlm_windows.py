"""Predictions of a token store: which there are, in what order, and how little is held."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from stemma.data.token_store import TokenStore
from stemma.errors import TrainingError
from stemma.families.nnlm import windows
from stemma.families.nnlm.windows import Predictions, Windows, read_windows
from tests.toy_bert import write_store
from tests.toy_ngrams import symbols

SYMBOLS = symbols(20)
BEGIN, END, UNKNOWN = SYMBOLS.begin, SYMBOLS.end, SYMBOLS.unknown
Row = tuple[int, ...]


def documents(seed: int, count: int) -> list[list[list[int]]]:
    rng = np.random.default_rng(seed)
    return [[rng.integers(7, 27, rng.integers(0, 9)).tolist() for _ in range(rng.integers(1, 6))] for _ in range(count)]


def one_by_one(texts: list[list[list[int]]], context: int) -> list[Row]:
    """Every prediction with its context, by slices of lists."""
    rows = []
    for sentence in (sentence for document in texts for sentence in document):
        padded = [BEGIN] * context + sentence + [END]
        rows += [tuple(padded[at : at + context + 1]) for at in range(len(sentence) + 1)]
    return rows


def predictions(store: TokenStore, **changes: int) -> Predictions:
    return Predictions(store, SYMBOLS, **{"context": 3, "batch_size": 10, "seed": 1, **changes})


def as_rows(batch: np.ndarray) -> list[Row]:
    return [tuple(row) for row in batch.tolist()]


@pytest.fixture
def texts() -> list[list[list[int]]]:
    return documents(1, 40)


@pytest.fixture
def store(tmp_path: Path, texts: list[list[list[int]]]) -> TokenStore:
    """A store in several shards."""
    return TokenStore.open(write_store(tmp_path / "store", texts, tokens_per_shard=150))


@pytest.mark.parametrize("context", [1, 2, 5])
def test_in_the_order_of_the_text(
    monkeypatch: pytest.MonkeyPatch, store: TokenStore, texts: list[list[list[int]]], context: int
) -> None:
    monkeypatch.setattr(windows, "_BLOCK", 16)
    blocks = list(read_windows(store, SYMBOLS, context))
    assert len(blocks) > 10
    rows = [row for block in blocks for row in as_rows(block[:])]
    assert rows == one_by_one(texts, context)
    assert [word for block in blocks for word in block.words] == [row[-1] for row in rows]


def test_what_text_can_not_hold_is_an_unknown_word() -> None:
    some = Windows.of(np.array([7, 0, BEGIN, END, 8]), np.array([0, 3, 5]), SYMBOLS, 1)
    assert as_rows(some[:]) == [
        (BEGIN, 7),
        (7, UNKNOWN),
        (UNKNOWN, UNKNOWN),
        (UNKNOWN, END),
        (BEGIN, UNKNOWN),
        (UNKNOWN, 8),
        (8, END),
    ]


@pytest.mark.parametrize(("block", "held"), [(1 << 15, 1 << 20), (16, 64), (16, 1)])
def test_an_epoch_has_every_prediction_once_and_another_order(
    monkeypatch: pytest.MonkeyPatch, store: TokenStore, texts: list[list[list[int]]], block: int, held: int
) -> None:
    monkeypatch.setattr(windows, "_BLOCK", block)
    monkeypatch.setattr(windows, "_HELD", held)
    data, expected = predictions(store), one_by_one(texts, 3)
    assert len(data) == len(expected)
    epochs = []
    for epoch in range(2):
        first = epoch * data.steps_per_epoch
        batches = [data.at(first + number) for number in range(data.steps_per_epoch)]
        assert [len(batch) for _, batch in batches[:-1]] == [10] * (data.steps_per_epoch - 1)
        assert batches[0][0] == f"epoch {epoch + 1}, batch 1"
        epochs.append([row for _, batch in batches for row in as_rows(batch)])
        assert Counter(epochs[-1]) == Counter(expected)
    assert epochs[0] != epochs[1]
    assert epochs[0] != expected


def test_a_batch_is_a_function_of_the_step(monkeypatch: pytest.MonkeyPatch, store: TokenStore) -> None:
    monkeypatch.setattr(windows, "_BLOCK", 16)
    monkeypatch.setattr(windows, "_HELD", 64)
    in_order, data = predictions(store), predictions(store)
    whole = [in_order.at(step)[1].tolist() for step in range(2 * in_order.steps_per_epoch)]
    for step in np.random.default_rng(1).permutation(len(whole)):
        assert data.at(int(step))[1].tolist() == whole[step]
    assert predictions(store, seed=2).at(0)[1].tolist() != whole[0]


def test_a_small_corpus_is_mixed_as_a_whole(store: TokenStore, texts: list[list[list[int]]]) -> None:
    order = {row: place for place, row in reversed(list(enumerate(one_by_one(texts, 3))))}
    first = [order[row] for row in as_rows(predictions(store, batch_size=100).at(0)[1])]
    assert min(first) < len(order) / 10
    assert max(first) > len(order) * 9 / 10


def test_only_some_blocks_are_held(monkeypatch: pytest.MonkeyPatch, store: TokenStore) -> None:
    monkeypatch.setattr(windows, "_BLOCK", 16)
    monkeypatch.setattr(windows, "_HELD", 64)
    data, largest = predictions(store), 0
    for step in range(data.steps_per_epoch):
        data.at(step)
        assert data._held is not None
        largest = max(largest, len(data._held[1]))
    assert largest < 64 + 2 * 16 + 10 < len(data)  # a block may be a sentence too long


def test_no_text_is_said(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no sentence to train on"):
        predictions(TokenStore.open(write_store(tmp_path / "empty", [])))
