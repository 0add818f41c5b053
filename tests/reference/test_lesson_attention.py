"""Scaled dot-product attention of the lecture: 112 and 96, divided by 8, are 14 and 12, and so weights of 0.88 and 0.12."""

import math

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from stemma.lessons import explain
from stemma.lessons.attention import SIZE, causal, example, weights


def test_the_figures_of_the_lecture() -> None:
    assert SIZE == 64
    queries, keys, _ = example()
    scores = queries @ keys.T
    assert scores[0].tolist() == [112, 96]
    found = weights(scores / math.sqrt(SIZE))[0].tolist()
    assert found == pytest.approx([1 / (1 + math.exp(-2)), 1 / (1 + math.exp(2))])
    assert [round(value, 2) for value in found] == [0.88, 0.12]
    lines = list(explain("attention"))
    assert "   thinking  thinking 112  machines 96" in lines
    assert "   thinking  thinking 14  machines 12" in lines
    assert "   thinking  thinking 0.88  machines 0.12" in lines
    assert "2. Divided by √64 = 8, or the softmax of large products would look at one word alone:" in lines


def test_what_words_become_is_the_mean_of_the_values() -> None:
    queries, keys, values = example()
    lines = list(explain("attention"))
    for word, row in zip(("thinking", "machines"), scaled_dot_product_attention(queries, keys, values), strict=True):
        assert f"   {word}: ({row[0]:.2f}, {row[1]:.2f}, {row[2]:.2f})" in lines
    share = 1 / (1 + math.exp(-2))
    assert f"   thinking: ({2 * share + 4 * (1 - share):.2f}, {share:.2f}, {1 - share:.2f})" in lines


def test_masked_attention_gives_no_weight_to_what_comes_later() -> None:
    scores = torch.randn(5, 5, generator=torch.Generator().manual_seed(1))
    found = weights(scores, causal(5))
    assert torch.equal(found.triu(1), torch.zeros(5, 5))
    torch.testing.assert_close(found.sum(1), torch.ones(5))
    for place in range(5):
        torch.testing.assert_close(found[place, : place + 1], torch.softmax(scores[place, : place + 1], 0))
    assert "   thinking  thinking 1.00  machines 0.00" in list(explain("attention"))


def test_the_second_head_looks_elsewhere_and_both_stand_side_by_side() -> None:
    told = "\n".join(explain("attention"))
    assert "   thinking  thinking 0.12  machines 0.88" in told
    assert "side by side they are 128 numbers a word" in told
    assert "(2.24, 0.88, 0.12) … from the first and (3.76, 0.12, 0.88) … from the second" in told
