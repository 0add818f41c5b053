"""Attention inside examples, with torch's kernel and with masks."""

import torch

from stemma.layers.attention import attend, same_example
from stemma.layers.dropout import Masks


def test_packed_examples_do_not_see_each_other():
    torch.manual_seed(1)
    query, key, value = torch.randn(3, 1, 2, 7, 4)  # (rows, heads, width, size) each
    examples = torch.tensor([[0, 0, 0, 1, 1, -1, -1]])
    packed = attend(query, key, value, same_example(examples), None)
    assert torch.isfinite(packed).all(), "padding sees itself"
    for begin, end in ((0, 3), (3, 5)):
        alone = attend(query[:, :, begin:end], key[:, :, begin:end], value[:, :, begin:end], None, None)
        torch.testing.assert_close(packed[:, begin:end], alone)


def test_both_ways_are_one_function():
    torch.manual_seed(1)
    query, key, value = torch.randn(3, 2, 2, 5, 4)
    bias = same_example(torch.tensor([[0, 0, 1, 1, 1], [0, 0, 0, 0, 0]]))
    for given in (None, bias):
        torch.testing.assert_close(
            attend(query, key, value, given, Masks(0.0)), attend(query, key, value, given, None), rtol=1e-5, atol=1e-6
        )
