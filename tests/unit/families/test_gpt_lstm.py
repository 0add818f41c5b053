"""An LSTM in place of the Transformer: PyTorch's own layers, the same rows, scores, heads and files of our own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from stemma.families.gpt.budget import pretraining_flops
from stemma.families.gpt.encoder import load_encoder, load_tuned
from stemma.families.gpt.generator import choice, load_generator
from stemma.families.gpt.lstm import LstmModel
from stemma.families.gpt.network import build_network, hidden_states, load_network, log_probabilities, text_loss
from stemma.families.gpt.scorer import load_scorer
from stemma.files import digest_tree
from tests import toy_gpt, toy_ngrams

SYMBOLS = toy_ngrams.symbols(10)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, float]]:
    changes = {"layers": 2, "steps": 150, "dropout": 0.0, "learning_rate": 0.03}
    return toy_gpt.pretrain(tmp_path_factory.mktemp("lstm"), block="lstm", **changes)


def drawn(dropout: float = 0.0) -> LstmModel:
    network = build_network(toy_gpt.settings(block="lstm", layers=2, dropout=dropout), SYMBOLS, seed=3)
    assert isinstance(network, LstmModel)
    with torch.no_grad():
        network.tokens_embed.weight.mul_(30)
    return network


def token_rows(count: int, width: int, seed: int = 5) -> Tensor:
    return torch.randint(5, SYMBOLS.size, (count, width), generator=torch.Generator().manual_seed(seed))


def test_loss_and_gradients_are_those_of_pytorchs_layers() -> None:
    network, ids = drawn(), token_rows(4, 17)
    inputs, words = ids[:, :-1].contiguous(), ids[:, 1:].flatten()
    outputs, _ = network.layers(network.tokens_embed(inputs))
    theirs = cross_entropy((outputs @ network.tokens_embed.weight.t()).flatten(0, 1), words)
    wanted = torch.autograd.grad(theirs, list(network.parameters()))
    ours = text_loss(network, {"input_ids": inputs, "words": words, "all_words": torch.tensor(len(words))})["loss"]
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-5)
    for mine, other in zip(torch.autograd.grad(ours, list(network.parameters())), wanted, strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(side: str) -> None:
    network, lengths = drawn().eval(), [12, 3, 7, 1]
    ids, inside = torch.zeros(2, 4, 12, dtype=torch.long)
    rows = [token_rows(1, length, seed=length) for length in lengths]
    for number, row in enumerate(rows):
        at = slice(12 - row.shape[1], 12) if side == "left" else slice(row.shape[1])
        ids[number, at], inside[number, at] = row[0], 1
    states = hidden_states(network, ids, inside)
    for number, row in enumerate(rows):
        torch.testing.assert_close(states[number][inside[number].bool()], hidden_states(network, row)[0])


def test_it_learns_and_its_probabilities_sum_to_1(trained: tuple[Path, dict[str, float]]) -> None:
    folder, metrics = trained
    assert metrics["validation_perplexity"] < 9  # 12 events; each letter is one of three
    network = load_network(folder)
    logs = log_probabilities(network, hidden_states(network, token_rows(3, 8))[:, -1])
    assert logs.exp().sum(1).tolist() == pytest.approx([1.0] * 3, abs=1e-5)
    assert load_scorer(folder).score(["a b c"]).num_predictions.tolist() == [4]


def test_reading_on_equals_reading_anew(trained: tuple[Path, dict[str, float]]) -> None:
    generator = load_generator(trained[0])
    ids = generator.read("a b")
    new = generator.continuation(ids, 10, choice(0.0, None, np.random.default_rng(1)))
    network = load_network(trained[0])
    for number, token in enumerate(new):
        context = torch.tensor([[*ids, *new[:number]]])
        scores = log_probabilities(network, hidden_states(network, context)[0, -1])
        scores[:5] = -torch.inf  # what text can't hold
        assert int(scores.argmax()) == token


@pytest.mark.parametrize(
    ("kind", "labels"), [("classification", ["no", "yes"]), ("span", []), ("tagging", ["O", "B-X"])]
)
def test_heads(tmp_path: Path, kind: Any, labels: list[str]) -> None:
    encoder = load_encoder(toy_gpt.pretrain_on_pieces(tmp_path, block="lstm", steps=2))
    model = encoder.with_head(kind, labels, seed=3)
    ids = torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]])
    inputs = {"input_ids": ids, "attention_mask": (ids > 0).long(), "token_type_ids": torch.zeros_like(ids)}
    _, losses = model.logits_and_losses(**inputs)
    assert losses.keys() == {"lm"}
    (tmp_path / "tuned").mkdir()
    encoder.save(model, tmp_path / "tuned")
    loaded = load_tuned(tmp_path / "tuned", kind)
    assert torch.equal(loaded.eval()(**inputs), model.eval()(**inputs))


def test_the_same_twice(tmp_path: Path) -> None:
    one, two = (toy_gpt.pretrain(tmp_path / name, block="lstm", layers=2, steps=6)[0] for name in ("one", "two"))
    assert digest_tree([one]) == digest_tree([two])


def test_estimated_operations_are_those_that_torch_counts() -> None:
    """Counted cell by cell: the fused layer is not counted as the products that it makes."""
    settings = toy_gpt.settings(block="lstm", layers=1, dropout=0.0)
    cell = torch.nn.LSTMCell(16, 16, bias=False)
    vectors = torch.randn(SYMBOLS.size, 16, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        state = torch.zeros(3, 16, requires_grad=True), torch.zeros(3, 16)
        outputs = []
        for _ in range(16):
            state = cell(torch.randn(3, 16, requires_grad=True), state)
            outputs.append(state[0])
        torch.cat(outputs).matmul(vectors.t()).sum().backward()  # type: ignore[no-untyped-call]
    assert counter.get_total_flops() == pretraining_flops(settings, SYMBOLS.size, 48)
