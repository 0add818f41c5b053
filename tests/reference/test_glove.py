"""GloVe against its paper's formula, and its updates against torch's AdaGrad."""

import numpy as np
import pytest
import torch

from stemma.data.cooccurrences import Cooccurrences
from stemma.families.glove.objective import Factors, Objective
from stemma.families.glove.training import draw_factors, update

FULL, EXPONENT = 10.0, 0.75
OBJECTIVE = Objective(full_weight_count=FULL, weight_exponent=EXPONENT)
NAMES = ("words", "contexts", "word_biases", "context_biases")


@pytest.fixture
def matrix() -> np.ndarray:
    """Co-occurrences of seven words, a third of them 0, some above the count that weighs 1."""
    rng = np.random.default_rng(3)
    values = rng.gamma(1.0, 8.0, (7, 7)) * (rng.random((7, 7)) > 0.3)
    values[4] = 0  # a word that stands alone
    return values


def sparse(matrix: np.ndarray) -> Cooccurrences:
    rows, columns = np.nonzero(matrix)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(matrix)))])
    return Cooccurrences(offsets=offsets, columns=columns.astype(np.int32), values=matrix[rows, columns])


def factors_of(matrix: np.ndarray) -> Factors:
    return draw_factors(len(matrix), 5, seed=1)


def test_loss_is_the_sum_of_the_paper(matrix):
    """J = Σ f(X_ij) (w_i · w̃_j + b_i + b̃_j - log X_ij)², in loops."""
    factors = factors_of(matrix)
    expected = 0.0
    for i in range(len(matrix)):
        for j in range(len(matrix)):
            x = matrix[i, j]
            if x > 0:
                weight = (x / FULL) ** EXPONENT if x < FULL else 1.0
                product = sum(float(a) * float(b) for a, b in zip(factors.words[i], factors.contexts[j], strict=True))
                difference = product + float(factors.word_biases[i] + factors.context_biases[j]) - np.log(x)
                expected += weight * difference**2
    loss, _ = OBJECTIVE.loss_and_gradients(factors, sparse(matrix))
    assert loss == pytest.approx(expected, rel=1e-5)


def torch_loss(parameters: dict[str, torch.Tensor], matrix: np.ndarray) -> torch.Tensor:
    """The formula on the whole matrix."""
    counts = torch.from_numpy(matrix)
    biases = parameters["word_biases"][:, None] + parameters["context_biases"][None, :]
    logarithms = torch.where(counts > 0, counts.clamp_min(1e-30).log(), 0.0)
    differences = parameters["words"] @ parameters["contexts"].T + biases - logarithms
    return ((counts / FULL).pow(EXPONENT).clamp_max(1) * differences**2).sum()


def as_parameters(factors: Factors) -> dict[str, torch.Tensor]:
    """Copies in double precision, which autograd can differentiate."""
    return {
        name: torch.from_numpy(values.astype(np.float64)).requires_grad_() for name, values in factors.arrays().items()
    }


def test_gradients_are_those_of_autograd(matrix):
    factors = factors_of(matrix)
    parameters = as_parameters(factors)
    expected = torch.autograd.grad(torch_loss(parameters, matrix), list(parameters.values()))
    _, gradients = OBJECTIVE.loss_and_gradients(factors, sparse(matrix))
    for values, gradient in zip(gradients.arrays().values(), expected, strict=True):
        np.testing.assert_allclose(values, gradient.numpy(), rtol=1e-4, atol=1e-5)
    assert not gradients.words[4].any(), "a word that stands alone learns nothing"


def test_updates_are_those_of_torch_adagrad(matrix):
    factors = factors_of(matrix)
    squares = Factors(*(np.ones_like(values) for values in factors.arrays().values()))
    parameters = as_parameters(factors)
    optimizer = torch.optim.Adagrad(parameters.values(), lr=0.05, initial_accumulator_value=1.0)
    for _ in range(3):
        expected = torch.autograd.grad(torch_loss(parameters, matrix), list(parameters.values()))
        for parameter, gradient in zip(parameters.values(), expected, strict=True):
            parameter.grad = gradient
        optimizer.step()
        _, gradients = OBJECTIVE.loss_and_gradients(factors, sparse(matrix))
        update(factors, gradients, squares, 0.05)
    for name in NAMES:
        np.testing.assert_allclose(factors.arrays()[name], parameters[name].detach().numpy(), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(squares.arrays()[name], optimizer.state[parameters[name]]["sum"].numpy(), rtol=1e-4)
