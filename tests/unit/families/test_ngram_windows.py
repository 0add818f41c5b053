"""Padding, windows and packing, on sentences short enough to write out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stemma.families.ngram.windows import Packing, pad, windows
from tests.toy_ngrams import block, symbols

A, B, C = 7, 8, 9
NOTHING = symbols(3).size


def test_a_sentence_gets_one_begin_and_one_end():
    ids, offsets = block([[A, B], [], [C]])
    padded, starts = pad(ids.astype(np.int64), offsets, symbols(3))
    assert padded.tolist() == [5, A, B, 6, 5, 6, 5, C, 6]
    assert starts.tolist() == [0, 4, 6]


def test_offsets_may_begin_anywhere():
    padded, starts = pad(np.array([A, B]), np.array([40, 41, 42]), symbols(3))
    assert padded.tolist() == [5, A, 6, 5, B, 6]
    assert starts.tolist() == [0, 3]


def test_windows_end_where_the_sentence_begins():
    padded, starts = pad(np.array([A, B]), np.array([0, 2, 2]), symbols(3))
    columns = windows(padded, starts, 4, NOTHING)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert rows == [
        (5, NOTHING, NOTHING, NOTHING),
        (A, 5, NOTHING, NOTHING),
        (B, A, 5, NOTHING),
        (6, B, A, 5),
        (5, NOTHING, NOTHING, NOTHING),
        (6, 5, NOTHING, NOTHING),
    ]


def test_what_text_cannot_hold_is_unknown():
    text = np.arange(10, dtype=np.uint16)
    assert symbols(3).readable(text).tolist() == [1, 1, 1, 1, 1, 1, 1, 7, 8, 9]
    assert text.tolist() == list(range(10))


@given(st.integers(1, 5), st.integers(1, 2**32), st.data())
def test_packed_rows_compare_as_their_ids(length, largest, data):
    packing = Packing(length, largest)
    row = st.tuples(*[st.integers(0, largest)] * length)
    rows = sorted(data.draw(st.lists(row, min_size=1, max_size=20)))
    digits = [np.array(column) for column in zip(*rows, strict=True)]
    columns = packing.pack(digits)
    packed = list(zip(*(column.tolist() for column in columns), strict=True))
    assert packed == sorted(packed)
    assert [column.tolist() for column in packing.unpack(columns)] == [column.tolist() for column in digits]
    for column, width in zip(columns, packing.widths, strict=True):
        assert int(column.max()).bit_length() <= width <= 64
