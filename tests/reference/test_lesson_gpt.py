"""GPT's formulas, worked out with loops over single numbers: h_0 = U W_e + W_p, h_l = block(h_{l-1}), softmax(h_n W_e^T)."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from stemma.lessons import explain
from stemma.lessons.gpt import CONTEXT, WORDS, tiny_network

Matrix = npt.NDArray[np.float64]


def weights() -> dict[str, Matrix]:
    return {name: tensor.detach().double().numpy() for name, tensor in tiny_network().state_dict().items()}


def normalised(rows: Matrix, at: str, of: dict[str, Matrix]) -> Matrix:
    mean, variance = rows.mean(1, keepdims=True), rows.var(1, keepdims=True)
    scaled: Matrix = (rows - mean) / np.sqrt(variance + 1e-5) * of[f"{at}.weight"] + of[f"{at}.bias"]
    return scaled


def attention(rows: Matrix, at: str, of: dict[str, Matrix]) -> tuple[Matrix, list[Matrix]]:
    """What two heads of size 2 find, one word and one head at a time, and what each word looks at."""
    joined = rows @ of[f"{at}.c_attn.weight"] + of[f"{at}.c_attn.bias"]
    queries, keys, values = np.split(joined, 3, axis=1)
    found, looked = np.zeros_like(rows), []
    for head in (slice(0, 2), slice(2, 4)):
        shares = np.zeros((len(rows), len(rows)))
        for here in range(len(rows)):
            scores = [queries[here, head] @ keys[there, head] / math.sqrt(2) for there in range(here + 1)]
            exponentials = [math.exp(score) for score in scores]
            shares[here, : here + 1] = [one / sum(exponentials) for one in exponentials]
            found[here, head] = sum(share * value for share, value in zip(shares[here], values[:, head], strict=True))
        looked.append(shares)
    return found @ of[f"{at}.c_proj.weight"] + of[f"{at}.c_proj.bias"], looked


def gelu(values: Matrix) -> Matrix:
    inner = [math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)) for x in values.ravel()]
    result: Matrix = 0.5 * values * (1 + np.array(inner).reshape(values.shape))
    return result


def block(rows: Matrix, number: int, of: dict[str, Matrix]) -> Matrix:
    at = f"transformer.h.{number}"
    rows = normalised(rows + attention(rows, f"{at}.attn", of)[0], f"{at}.ln_1", of)
    inner = gelu(rows @ of[f"{at}.mlp.c_fc.weight"] + of[f"{at}.mlp.c_fc.bias"])
    return normalised(rows + inner @ of[f"{at}.mlp.c_proj.weight"] + of[f"{at}.mlp.c_proj.bias"], f"{at}.ln_2", of)


@pytest.fixture(scope="module")
def told() -> list[str]:
    return list(explain("gpt"))


def figures(lines: list[str], title: str, count: int, skip: int = 0) -> Any:
    """The rows of numbers under a line."""
    place = next(number for number, line in enumerate(lines) if line.startswith(title)) + 1 + skip
    return [[float(cell) for cell in line.split()[1:]] for line in lines[place : place + count]]


def test_every_step_by_hand(told: list[str]) -> None:
    of, ids = weights(), [WORDS.index(word) for word in CONTEXT]
    vectors, positions = of["transformer.tokens_embed.weight"], of["transformer.positions_embed.weight"]
    hidden = vectors[ids] + positions[: len(ids)]
    assert figures(told, "h_0 = U W_e + W_p", 3) == pytest.approx(hidden, abs=6e-5)
    for number in range(2):
        _, looked = attention(hidden, f"transformer.h.{number}.attn", of)
        assert figures(told, f"h_{number + 1} = ", 3, skip=2) == pytest.approx(looked[0], abs=6e-5)
        assert (np.triu(looked[0], 1) == 0).all()
        hidden = block(hidden, number, of)
        assert figures(told, f"h_{number + 1} = ", 3, skip=5) == pytest.approx(hidden, abs=6e-5)
    scores = vectors @ hidden[-1]
    assert figures(told, "h_n W_e^T", 1)[0] == pytest.approx(scores, abs=6e-5)
    probabilities = np.exp(scores) / np.exp(scores).sum()
    lines = [line for line in told if line.startswith("  P(")]
    assert [float(line.split("= ")[1]) for line in lines] == pytest.approx(probabilities, abs=6e-5)
    assert lines[0].startswith("  P([UNK] | <s> the cat) = ")
    assert told[-1] == "They sum to 1.0000."
