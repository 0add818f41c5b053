"""Attention inside examples, with torch's kernel and with masks."""

import pytest
import torch

from stemma.layers.attention import attend, same_example
from stemma.layers.dropout import Masks

WIDTH, SIZE = 5, 4
BIAS = same_example(torch.tensor([[0, 0, 1, 1, 1], [0, 0, 0, 0, 0]]))


def test_packed_examples_do_not_see_each_other():
    torch.manual_seed(1)
    joined = torch.randn(1, 7, 3, 2, SIZE)
    examples = torch.tensor([[0, 0, 0, 1, 1, -1, -1]])
    packed = attend(None, joined, same_example(examples), None)
    assert torch.isfinite(packed).all(), "padding sees itself"
    for begin, end in ((0, 3), (3, 5)):
        alone = attend(None, joined[:, begin:end], None, None)
        torch.testing.assert_close(packed[:, begin:end], alone)


@pytest.mark.parametrize("bias", [None, BIAS])
@pytest.mark.parametrize("with_query", [False, True])
def test_both_ways_are_one_function(bias, with_query):
    torch.manual_seed(1)
    joined = torch.randn(2, WIDTH, 2 if with_query else 3, 2, SIZE, requires_grad=True)
    query = torch.randn(2, WIDTH, 2, SIZE, requires_grad=True) if with_query else None
    inputs = [joined] if query is None else [joined, query]
    direction = torch.randn(2, WIDTH, 2 * SIZE)
    outcomes = []
    for masks in (None, Masks(0.0)):
        found = attend(query, joined, bias, masks)
        outcomes.append((found, torch.autograd.grad(found, inputs, direction)))
    torch.testing.assert_close(outcomes[0], outcomes[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bias", [None, BIAS.double()])
def test_gradients_with_masks_are_those_of_the_function(bias):
    class Fixed(Masks):
        def draw(self, shape):
            torch.manual_seed(5)
            return (torch.rand(*shape) > 0.3).double() / 0.7

    torch.manual_seed(1)
    joined = torch.randn(2, WIDTH, 2, 2, 3, dtype=torch.double, requires_grad=True)
    query = torch.randn(2, 2, 2, 3, dtype=torch.double, requires_grad=True)
    if bias is not None:
        bias = bias[:, :, :2]
    assert torch.autograd.gradcheck(lambda *inputs: attend(inputs[0], inputs[1], bias, Fixed(0.3)), (query, joined))
