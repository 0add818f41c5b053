"""The loss over all words and its gradients, against torch's own."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy, linear

from stemma.layers import word_loss as module
from stemma.layers.word_loss import stretches, word_loss


@pytest.mark.parametrize("held", [1 << 21, 40], ids=["at once", "some rows at a time"])
@pytest.mark.parametrize("factor", [1.0, 0.5])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_and_gradients_equal_those_of_cross_entropy(monkeypatch, held, factor, with_bias, smoothing):
    monkeypatch.setattr(module, "_SCORES", held)
    monkeypatch.setattr(module, "_ROWS", 1)
    generator = torch.Generator().manual_seed(1)
    features, weight, bias = (
        torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((7, 4), (11, 4), (11,))
    )
    words = torch.randint(11, (7,), generator=generator)
    learned = (features, weight, bias) if with_bias else (features, weight)
    scores = linear(features, weight, bias if with_bias else None)
    wanted = cross_entropy(scores, words, reduction="sum", label_smoothing=smoothing) * 0.1
    found = word_loss(features, weight, bias if with_bias else None, words, 0.1, smoothing=smoothing)
    torch.testing.assert_close(found, wanted)
    gradients = torch.autograd.grad(found * factor, learned)
    for ours, theirs in zip(gradients, torch.autograd.grad(wanted * factor, learned), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_words_that_are_next_to_impossible_cost_what_they_should():
    """Their probability is below the smallest number there is; its logarithm is not."""
    features, words = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], requires_grad=True), torch.tensor([1, 1, 0])
    weight = torch.tensor([[150.0, 0.0], [0.0, 0.0], [80.0, 0.0]])
    loss = word_loss(features, weight, None, words, 1.0)
    torch.testing.assert_close(loss, cross_entropy(linear(features, weight), words, reduction="sum"))
    assert float(loss.detach()) > 150


def test_without_predictions_there_is_no_loss():
    weight = torch.ones(3, 2, requires_grad=True)
    loss = word_loss(torch.zeros(0, 2, requires_grad=True), weight, None, torch.zeros(0, dtype=torch.long), 1.0)
    (gradient,) = torch.autograd.grad(loss, weight)
    assert float(loss.detach()) == 0
    assert torch.equal(gradient, torch.zeros(3, 2))


def test_products_of_16_bits_are_those_of_autocast_and_sums_stay_in_32(monkeypatch):
    monkeypatch.setattr(module, "_SCORES", 400)
    monkeypatch.setattr(module, "_ROWS", 1)
    generator = torch.Generator().manual_seed(1)
    features, weight, bias = (torch.randn(*shape, generator=generator) for shape in ((64, 16), (40, 16), (40,)))
    learned = features, weight, bias = tuple(one.requires_grad_() for one in (features, weight, bias))
    words = torch.randint(40, (64,), generator=generator)
    with torch.autocast("cpu", torch.bfloat16):
        found = word_loss(features, weight, bias, words, 0.1)
        wanted = cross_entropy(linear(features, weight, bias).float(), words, reduction="sum") * 0.1
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, wanted)
    for ours, theirs in zip(torch.autograd.grad(found, learned), torch.autograd.grad(wanted, learned), strict=True):
        assert ours.dtype == torch.float32
        torch.testing.assert_close(ours, theirs, rtol=2e-2, atol=2e-2 * float(theirs.abs().max()))


def test_features_of_16_bits_get_a_gradient_of_16():
    weight, words = torch.ones(3, 2, requires_grad=True), torch.tensor([0, 2])
    features = torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        loss = word_loss(features, weight, None, words, 1.0)
    gradients = torch.autograd.grad(loss, (features, weight))
    assert [loss.dtype, *(gradient.dtype for gradient in gradients)] == [torch.float32, torch.bfloat16, torch.float32]
    assert float(loss.detach()) == pytest.approx(2 * math.log(3))


def test_stretches_cover_all_rows():
    rows = [row for part in stretches(1000, 100_000) for row in range(part.start, part.stop)]
    assert rows == list(range(1000))
    assert all(part.stop - part.start >= 200 for part in stretches(1000, 100_000)), "weights are read a few times only"
