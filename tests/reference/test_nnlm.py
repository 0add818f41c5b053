"""The neural language model against the paper's formula written out, PyTorch's own modules, and numerical gradients."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stemma.families.nnlm.network import NeuralModel, build_network
from stemma.families.nnlm.output import Full
from tests import toy_ngrams, toy_nnlm

NUM_WORDS = 11
SYMBOLS = toy_ngrams.symbols(NUM_WORDS)
EVENTS = [1, *range(6, SYMBOLS.size)]  # [UNK], </s> and the words


def network(*, direct: bool, dtype: torch.dtype = torch.float64, **changes: Any) -> NeuralModel:
    settings = toy_nnlm.settings(direct=direct, dropout=0.0, **changes)
    return build_network(settings, SYMBOLS, seed=3).to(dtype)


def windows(count: int, seed: int = 5) -> Tensor:
    """Contexts of any ids that text can have, each with a word that can follow."""
    draw = torch.Generator().manual_seed(seed)
    contexts = torch.randint(5, SYMBOLS.size, (count, 3), generator=draw)
    words = torch.tensor(EVENTS)[torch.randint(len(EVENTS), (count, 1), generator=draw)]
    return torch.cat([contexts, words], dim=1)


def formula(window: Tensor, weights: dict[str, Tensor]) -> Tensor:
    """Minus log P(w_t | w_t-1 …) as section 2 of the paper has it, one prediction at a time, one event at a time."""
    C, H, d, U, W, b = (weights[name] for name in "CHdUWb")  # noqa: N806 - as in the paper
    x = torch.cat([C[word] for word in window[:-1]])
    scores = []
    for event in range(len(EVENTS)):
        y = b[event] + sum(U[event, unit] * torch.tanh(d[unit] + H[unit] @ x) for unit in range(len(d)))
        scores.append(y + W[event] @ x if W.numel() else y)
    exponentials = [torch.exp(score) for score in scores]
    return -torch.log(exponentials[EVENTS.index(int(window[-1]))] / torch.stack(exponentials).sum())


def parts(model: NeuralModel) -> dict[str, Tensor]:
    """The network's weights by their names in the paper."""
    assert isinstance(model.output, Full)
    hidden = model.hidden.out_features
    return {
        "C": model.vectors,
        "H": model.hidden.weight,
        "d": model.hidden.bias,
        "U": model.output.weight[:, :hidden],
        "W": model.output.weight[:, hidden:-1],  # without columns where there is no direct connection
        "b": model.output.weight[:, -1],
    }


@pytest.mark.parametrize("direct", [False, True])
def test_loss_and_gradients_are_those_of_the_papers_formula(direct: bool) -> None:
    model, some = network(direct=direct), windows(7)
    model.loss(some, 1 / 7).backward()  # type: ignore[no-untyped-call]
    ours = [parameter.grad for parameter in model.parameters()]
    written_out = torch.stack([formula(window, parts(model)) for window in some])
    theirs = torch.autograd.grad(written_out.mean(), list(model.parameters()))
    assert model.loss(some, 1 / 7).item() == pytest.approx(written_out.mean().item(), rel=1e-12)
    assert model.nats(some).tolist() == pytest.approx(written_out.tolist(), rel=1e-12)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("scores_held", [1 << 21, 40])
def test_gradients_are_the_numerical_ones(monkeypatch: pytest.MonkeyPatch, direct: bool, scores_held: int) -> None:
    monkeypatch.setattr("stemma.layers.word_loss._SCORES", scores_held)  # all rows at once, and a few at a time
    model, some = network(direct=direct, size=2, hidden_size=3), windows(5)
    names = [name for name, _ in model.named_parameters()]

    def loss(*weights: Tensor) -> Tensor:
        held = dict(zip(names, weights, strict=True))
        answer: Tensor = torch.func.functional_call(_Loss(model), {f"model.{name}": held[name] for name in names}, some)
        return answer

    weights = tuple(parameter.detach().clone().requires_grad_() for parameter in model.parameters())
    assert torch.autograd.gradcheck(loss, weights)


class _Loss(nn.Module):
    def __init__(self, model: NeuralModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, some: Tensor) -> Tensor:
        return self.model.loss(some, 0.3)


class Plain(nn.Module):
    """What a user of PyTorch would write."""

    def __init__(self, size: int, hidden: int, context: int, num_events: int, *, direct: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS.size, size)
        self.hidden = nn.Linear(context * size, hidden)
        self.out = nn.Linear(hidden, num_events)
        self.straight = nn.Linear(context * size, num_events, bias=False) if direct else None

    def forward(self, contexts: Tensor) -> Tensor:
        x = self.embedding(contexts).flatten(1)
        scores: Tensor = self.out(torch.tanh(self.hidden(x)))
        return scores if self.straight is None else scores + self.straight(x)


@pytest.mark.parametrize("direct", [False, True])
def test_equal_to_pytorchs_modules_with_the_same_weights(direct: bool) -> None:
    model, some = network(direct=direct, dtype=torch.float32), windows(300)
    weights = parts(model)
    plain = Plain(5, 6, 3, len(EVENTS), direct=direct)
    with torch.no_grad():
        plain.embedding.weight.copy_(weights["C"])
        plain.hidden.weight.copy_(weights["H"])
        plain.hidden.bias.copy_(weights["d"])
        plain.out.weight.copy_(weights["U"])
        plain.out.bias.copy_(weights["b"])
        if plain.straight is not None:
            plain.straight.weight.copy_(weights["W"])
    wanted = torch.tensor([EVENTS.index(word) for word in some[:, -1].tolist()])
    theirs = nn.functional.cross_entropy(plain(some[:, :-1]), wanted)
    torch.testing.assert_close(model.loss(some, 1 / 300), theirs)
    theirs.backward()  # type: ignore[no-untyped-call]
    model.loss(some, 1 / 300).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(model.vectors.grad, plain.embedding.weight.grad)
    assert isinstance(model.output, Full)
    assert model.output.weight.grad is not None
    torch.testing.assert_close(model.output.weight.grad[:, :6], plain.out.weight.grad)


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("softmax", ["full", "adaptive"])
def test_probabilities_sum_to_1_over_what_can_be_predicted(direct: bool, softmax: str) -> None:
    model = network(direct=direct, softmax=softmax)
    with torch.no_grad():
        for parameter in model.parameters():  # far from uniform
            parameter.mul_(5)
        contexts = windows(50)[:, :-1]
        logs = model.log_probabilities(contexts)
        assert logs.shape == (50, len(EVENTS))
        assert logs.exp().sum(1).tolist() == pytest.approx([1.0] * 50, abs=1e-12)
        for place, event in enumerate(EVENTS):
            nats = model.nats(torch.cat([contexts, torch.full((50, 1), event)], dim=1))
            assert nats.tolist() == pytest.approx((-logs[:, place]).tolist(), rel=1e-9)


def test_a_word_of_probability_next_to_0_costs_what_it_should() -> None:
    model, some = network(direct=False, dtype=torch.float32), windows(1)
    assert isinstance(model.output, Full)
    with torch.no_grad():
        model.output.weight[EVENTS.index(int(some[0, -1])), -1] = -500.0
    assert math.isfinite(model.loss(some, 1.0).item())
    assert model.loss(some, 1.0).item() == pytest.approx(model.nats(some).item()) == pytest.approx(500, abs=10)
