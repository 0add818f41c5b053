"""Which tokens are asked for, and what becomes of them."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from stemma.families.bert.masking import Masker
from tests import toy_bert

NUM_SPECIAL, MASK = 5, 4


def make_masker(**changes: Any) -> Masker:
    settings = {"mask_probability": 0.15, "mask_token_share": 0.8, "random_token_share": 0.1, "whole_word": False}
    return Masker(toy_bert.tokenizer(), SimpleNamespace(**settings | changes), seed=1)


def make_ids(rows: int = 400, length: int = 128) -> npt.NDArray[np.int64]:
    """Random pieces between special tokens, with some [UNK] and padding."""
    rng = np.random.default_rng(0)
    ids = rng.integers(NUM_SPECIAL, 25, (rows, length))
    ids[rng.random(ids.shape) < 0.05] = 1
    ids[:, 0], ids[:, 60], ids[:, 120], ids[:, 121:] = 2, 3, 3, 0
    return ids


def assert_share(hits: npt.NDArray[np.bool_], expected: float) -> None:
    """Within binomial bounds: a fair draw fails this once in a thousand seeds, and the seed is fixed."""
    assert stats.binomtest(int(hits.sum()), hits.size, expected).pvalue > 1e-3


def test_no_special_token_is_asked_for_or_changed():
    ids = make_ids()
    special = ids < NUM_SPECIAL
    for epoch in range(3):
        masked = make_masker(mask_probability=0.9).mask(ids, np.arange(len(ids)), epoch)
        assert not masked.chosen[special].any()
        np.testing.assert_array_equal(masked.ids[special], ids[special])


def test_rates_are_those_of_the_paper():
    ids = make_ids()
    masked = make_masker().mask(ids, np.arange(len(ids)), 0)
    words = ids >= NUM_SPECIAL
    assert_share(masked.chosen[words], 0.15)
    hidden = masked.ids[masked.chosen] == MASK
    assert_share(hidden, 0.8)
    # one replacement in twenty is the token itself, out of 22 pieces
    changed = (masked.ids[masked.chosen] != ids[masked.chosen]) & ~hidden
    assert_share(changed, 0.1 * 21 / 22)


def test_what_is_not_asked_for_is_left():
    ids = make_ids()
    masked = make_masker().mask(ids, np.arange(len(ids)), 0)
    np.testing.assert_array_equal(masked.ids[~masked.chosen], ids[~masked.chosen])


def test_replacements_are_any_piece_and_never_special():
    ids = make_ids()
    masker = make_masker(mask_probability=0.99, mask_token_share=0.0, random_token_share=1.0)
    given = masker.mask(ids, np.arange(len(ids)), 0)
    replaced = given.ids[given.chosen]
    assert replaced.min() >= NUM_SPECIAL
    counts = np.bincount(replaced)[NUM_SPECIAL:]
    assert stats.chisquare(counts).pvalue > 1e-3


def test_positions_are_all_alike():
    ids = np.full((4000, 32), 7)
    chosen = make_masker().mask(ids, np.arange(4000), 0).chosen
    assert stats.chisquare(chosen.sum(axis=0)).pvalue > 1e-3


def test_masks_are_drawn_anew_each_epoch():
    ids = make_ids()
    masker = make_masker()
    first, again, second = (masker.mask(ids, np.arange(len(ids)), epoch).chosen for epoch in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    words = ids >= NUM_SPECIAL
    assert_share((first & second)[words], 0.15**2)


def test_every_row_is_asked_for_something():
    ids = np.full((300, 8), 7)
    ids[:, 1:] = 0  # one word each
    assert make_masker().mask(ids, np.arange(300), 0).chosen[:, 0].all()
    nothing = np.zeros((3, 8), np.int64)
    assert not make_masker().mask(nothing, np.arange(3), 0).chosen.any()


@pytest.mark.parametrize("epoch", [0, 1])
def test_whole_words_are_asked_for_together(epoch):
    encode = toy_bert.tokenizer().encode
    rng = np.random.default_rng(0)
    rows = [encode(toy_bert.sentence(rng, 40)).ids[:60] for _ in range(200)]
    ids = np.array(rows)
    masked = make_masker(whole_word=True).mask(ids, np.arange(len(ids)), epoch)
    continues = ids >= NUM_SPECIAL + len(toy_bert.LETTERS)  # a piece ##x
    assert (masked.chosen[:, 1:] == masked.chosen[:, :-1])[continues[:, 1:]].all()
    starts = ~continues & (ids >= NUM_SPECIAL)
    assert_share(masked.chosen[starts], 0.15)
