"""Streams of a token store: every token once each way, windows that go on from each other, and little that is held."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from stemma.data.token_store import TokenStore
from stemma.errors import TrainingError
from stemma.families.elmo import streams
from stemma.families.elmo.streams import Streams, Window
from tests.toy_bert import write_store
from tests.toy_ngrams import symbols

SYMBOLS = symbols(20)
END, UNKNOWN = SYMBOLS.end, SYMBOLS.unknown
Documents = list[list[list[int]]]


@pytest.fixture
def texts() -> Documents:
    rng = np.random.default_rng(1)
    return [[rng.integers(7, 27, rng.integers(0, 9)).tolist() for _ in range(rng.integers(1, 6))] for _ in range(40)]


@pytest.fixture
def store(tmp_path: Path, texts: Documents) -> TokenStore:
    """A store in several shards."""
    return TokenStore.open(write_store(tmp_path / "store", texts, tokens_per_shard=150))


@pytest.fixture(autouse=True)
def few_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_HELD", 3)


def open_streams(store: TokenStore, **changes: int) -> Streams:
    return Streams(store, SYMBOLS, **{"rows": 4, "length": 7, "seed": 1, **changes})


def epoch(data: Streams, number: int) -> list[Window]:
    return [data.at(step) for step in range(number * data.steps_per_epoch, (number + 1) * data.steps_per_epoch)]


def laid_out(documents: Documents) -> list[int]:
    return [token for document in documents for sentence in document for token in [*sentence, END]]


def rows_of(windows: list[Window], direction: int) -> list[list[int]]:
    """What each row reads in an epoch, its first input included."""
    inputs = np.concatenate([window.inputs[direction] for window in windows])
    targets = np.concatenate([window.targets[direction] for window in windows])
    assert (inputs[1:] == targets[:-1]).all(), "a window goes on where the one before it ended"
    return [[first, *column] for first, column in zip(inputs[0].tolist(), targets.T.tolist(), strict=True)]


def test_rows_end_to_end_are_the_documents_in_another_order(store: TokenStore, texts: Documents) -> None:
    data = open_streams(store)
    forward = rows_of(epoch(data, 0), 0)
    text = [END, *(token for row in forward for token in row[1:])]
    length = len(laid_out(texts))
    assert length - 4 < len(text) - 1 <= length, "less than a token a row is left out"
    order = np.random.default_rng([1, 0]).permutation(len(texts))
    assert text == [END, *laid_out([texts[number] for number in order])][: len(text)]
    assert [row[0] for row in forward[1:]] == [row[-1] for row in forward[:-1]], "a row's context is the one before it"


def test_backwards_is_the_same_text_from_the_other_end(store: TokenStore) -> None:
    windows = epoch(open_streams(store), 0)
    assert rows_of(windows, 1) == [row[::-1] for row in rows_of(windows, 0)]
    assert windows[0].inputs.shape == (2, 7, 4)
    assert [window.begins for window in windows] == [True, *[False] * (len(windows) - 1)]


def test_every_epoch_has_another_order(store: TokenStore) -> None:
    data = open_streams(store)
    one, other = (np.ravel(rows_of(epoch(data, number), 0)).tolist() for number in range(2))
    assert one != other
    assert (Counter(one) - Counter(other)).total() < 10, "but for what is left out at the end"
    assert data.at(data.steps_per_epoch).name == "epoch 2, window 1"
    assert data.at(data.steps_per_epoch).begins


def test_a_window_is_a_function_of_the_step(store: TokenStore) -> None:
    in_order, data = open_streams(store), open_streams(store)
    whole = [in_order.at(step) for step in range(2 * in_order.steps_per_epoch)]
    for step in np.random.default_rng(1).permutation(len(whole)):
        found = data.at(int(step))
        assert np.array_equal(found.inputs, whole[step].inputs)
        assert np.array_equal(found.targets, whole[step].targets)
    assert not np.array_equal(open_streams(store, seed=2).at(0).inputs, whole[0].inputs)


def test_what_text_can_not_hold_is_an_unknown_word(tmp_path: Path) -> None:
    store = TokenStore.open(write_store(tmp_path / "store", [[[7, 0, SYMBOLS.begin, END, 8]]]))
    window = Streams(store, SYMBOLS, rows=1, length=9, seed=1).at(0)
    assert window.targets[:, :, 0].tolist() == [
        [7, UNKNOWN, UNKNOWN, UNKNOWN, 8, END],
        [8, UNKNOWN, UNKNOWN, UNKNOWN, 7, END],
    ]
    assert window.inputs[:, 0, 0].tolist() == [END, END]


def test_only_some_windows_are_held(store: TokenStore) -> None:
    data = open_streams(store)
    for step in range(data.steps_per_epoch):
        data.at(step)
        assert all(held.size <= 4 * (3 * 7 + 1) for _, held in data._held.values())


def test_too_little_text_is_said(tmp_path: Path) -> None:
    store = TokenStore.open(write_store(tmp_path / "store", [[[7]]]))
    with pytest.raises(TrainingError, match="fewer tokens than batch_size, 4"):
        open_streams(store)
