"""The worked example of masking says what the paper says, with counts of the real masker."""

import pytest
from scipy import stats

from stemma.lessons.masked_lm import TREATMENTS, count_treatments, explain, treat


def test_three_treatments_of_one_word():
    assert treat("[MASK]") == "my dog is [MASK]"
    assert treat("the word itself") == "my dog is hairy"
    assert treat("any word") == "my dog is apple"


def test_fifteen_in_a_hundred_and_of_those_eighty_ten_and_ten():
    total, found = count_treatments()
    asked = found.total()
    assert total == 512_000
    assert stats.binomtest(asked, total, 0.15).pvalue > 1e-3
    assert TREATMENTS == {"[MASK]": 0.8, "any word": 0.1, "the word itself": 0.1}
    assert stats.binomtest(found["[MASK]"], asked, 0.8).pvalue > 1e-3
    assert found["any word"] / asked == pytest.approx(0.1, abs=0.005)
    assert found["the word itself"] / asked == pytest.approx(0.1, abs=0.005)


def test_it_is_told():
    told = "\n".join(explain())
    assert "80% of the time [MASK]: my dog is [MASK]" in told
    assert "10% of the time any word: my dog is apple" in told
    assert "10% of the time the word itself: my dog is hairy" in told
    total, found = count_treatments()
    assert f"Of {total:,} words, {found.total():,} are asked for: {found.total() / total:.2%}" in told
    for name in TREATMENTS:
        assert f"  {found[name]:,} became {name}: {found[name] / found.total():.2%}" in told
    assert "Any word is one of 157, drawn alike: once in 157 it is the word itself, and counted there." in told
    assert "where the paper says 15 %" in told
