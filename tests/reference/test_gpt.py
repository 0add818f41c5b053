"""Our GPT against `transformers`' own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from stemma.data.token_store import TokenStore
from stemma.families.gpt.budget import pretraining_flops
from stemma.families.gpt.family import GptExamples
from stemma.families.gpt.forward import Cache, encode, extend
from stemma.families.gpt.network import build_network, hidden_states, load_network, log_probabilities, nats, text_loss
from stemma.families.gpt.scorer import load_scorer
from stemma.families.gpt.text import TextRows
from stemma.text.symbols import read_symbols
from stemma.text.vocabulary import load_tokenizer
from tests import toy_gpt, toy_ngrams

SYMBOLS = toy_ngrams.symbols(10)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_gpt.pretrain(tmp_path_factory.mktemp("gpt"), layers=2, steps=40)[0]


def drawn(dropout: float = 0.0) -> Any:
    """A network far from where it begins, so that nothing is next to 0."""
    network = build_network(toy_gpt.settings(layers=3, dropout=dropout), SYMBOLS, seed=3)
    draw = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=draw))
    return network


def token_rows(count: int, width: int, seed: int = 5) -> Tensor:
    return torch.randint(5, SYMBOLS.size, (count, width), generator=torch.Generator().manual_seed(seed))


def test_logits_loss_and_gradients_are_theirs() -> None:
    network, ids = drawn(), token_rows(5, 17)
    inputs, words = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    theirs = network(inputs, labels=inputs, shift_labels=words)
    theirs.loss.backward()
    wanted = {name: parameter.grad.clone() for name, parameter in network.named_parameters()}
    network.zero_grad()
    tensors = {"input_ids": inputs, "words": words.flatten(), "all_words": torch.tensor(words.numel())}
    loss = text_loss(network, tensors)["loss"]
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == pytest.approx(theirs.loss.item(), abs=1e-5)
    torch.testing.assert_close(network.lm_head(encode(network.transformer, inputs)), theirs.logits, rtol=0, atol=1e-5)
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(parameter.grad, wanted[name], rtol=0, atol=1e-5)


@pytest.mark.parametrize("tokens_per_pass", [10_000, 32], ids=["one pass", "many passes"])
def test_the_loss_of_a_batch_is_theirs(trained: Path, tokens_per_pass: int) -> None:
    """Of all rows of the corpus, the short last one among them."""
    store, symbols = TokenStore.open(trained.parent / "tokens/train"), read_symbols(trained)
    num_rows = len(TextRows(store, symbols, width=16, seed=1))
    settings = toy_gpt.settings(batch_size=num_rows, tokens_per_pass=tokens_per_pass)
    examples = GptExamples(store, symbols, settings, seed=1)
    batch = examples.batch_at(0)
    network: Any = transformers.OpenAIGPTLMHeadModel.from_pretrained(trained)
    network.eval()
    total = 0.0
    for tensors in batch.passes:
        loss = text_loss(network, tensors)["loss"]
        torch.autograd.backward(loss)
        total += loss.item()
    ours = {name: parameter.grad.clone() for name, parameter in network.named_parameters()}
    network.zero_grad()
    losses = [
        cross_entropy(network(torch.from_numpy(row[None, :-1])).logits[0], torch.from_numpy(row[1:]), reduction="sum")
        for row in examples.rows.build(np.arange(len(examples.rows)), 0)
    ]
    theirs = torch.stack(losses).sum() / batch.num_tokens
    theirs.backward()  # type: ignore[no-untyped-call]
    assert total == pytest.approx(theirs.item(), abs=1e-5)
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(ours[name], parameter.grad, rtol=0, atol=1e-5)


def test_dropout_changes_no_mean() -> None:
    """With dropout, our outputs have the mean of theirs over many draws, and as much spread."""
    network, ids = drawn(dropout=0.1), token_rows(3, 8)
    network.train()
    torch.manual_seed(0)
    with torch.no_grad():
        ours = torch.stack([encode(network.transformer, ids) for _ in range(300)])
        theirs = torch.stack([network.transformer(ids).last_hidden_state for _ in range(300)])
    error = ((ours.var(0) + theirs.var(0)) / 300).sqrt()
    differences = (ours.mean(0) - theirs.mean(0)) / error
    assert float(differences.square().mean()) == pytest.approx(1, abs=0.25)
    assert float(ours.var(0).mean() / theirs.var(0).mean()) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("dropout", [0.0, 0.1], ids=["fused", "with masks"])
def test_no_token_sees_what_follows_it(dropout: float) -> None:
    network, ids = drawn(dropout), token_rows(2, 12)
    other = ids.clone()
    other[:, 7:] = token_rows(2, 5, seed=6)
    network.train(dropout > 0)
    states = []
    for some in (ids, other):
        torch.manual_seed(1)  # the same masks
        states.append(encode(network.transformer, some))
    assert torch.equal(states[0][:, :7], states[1][:, :7])
    assert not torch.equal(states[0][:, 7:], states[1][:, 7:])


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(side: str) -> None:
    network, lengths = drawn().eval(), [12, 3, 7, 1]
    ids, inside = torch.zeros(4, 12, dtype=torch.long), torch.zeros(4, 12, dtype=torch.long)
    rows = [token_rows(1, length, seed=length) for length in lengths]
    for number, row in enumerate(rows):
        at = slice(12 - row.shape[1], 12) if side == "left" else slice(row.shape[1])
        ids[number, at], inside[number, at] = row[0], 1
    states = hidden_states(network, ids, inside)
    for number, row in enumerate(rows):
        torch.testing.assert_close(states[number][inside[number].bool()], network.transformer(row)[0][0])
    states.sum().backward()  # type: ignore[no-untyped-call]
    assert all(bool(parameter.grad.isfinite().all()) for parameter in network.parameters())


def test_reading_on_from_a_cache_equals_reading_anew() -> None:
    network, ids = drawn().eval(), token_rows(3, 16)
    cache = Cache()
    with torch.no_grad():
        parts = [extend(network.transformer, some, cache) for some in torch.split(ids, [5, 1, 1, 9], dim=1)]
        torch.testing.assert_close(torch.cat(parts, 1), network.transformer(ids).last_hidden_state)
    assert cache.length == 16


def test_the_folder_loads_with_from_pretrained(trained: Path) -> None:
    network = transformers.OpenAIGPTLMHeadModel.from_pretrained(trained)
    assert network.lm_head.weight is network.transformer.tokens_embed.weight
    ours = load_network(trained)
    assert all(torch.equal(tensor, ours.state_dict()[name]) for name, tensor in network.state_dict().items())
    assert isinstance(transformers.AutoModelForCausalLM.from_pretrained(trained), transformers.OpenAIGPTLMHeadModel)
    tokenizer = transformers.AutoTokenizer.from_pretrained(trained)
    assert tokenizer("a b").input_ids == load_tokenizer(trained).encode("a b").ids


def test_scores_are_sums_of_their_log_probabilities(trained: Path) -> None:
    sentences = ["a b c", "", "j", "a c d e g h j a b c"]
    scores = load_scorer(trained).score(sentences)
    network: Any = transformers.OpenAIGPTLMHeadModel.from_pretrained(trained)
    network.eval()
    tokenizer = load_tokenizer(trained)
    for sentence, surprise, count in zip(sentences, scores.nats, scores.num_predictions, strict=True):
        ids = [5, *tokenizer.encode(sentence, add_special_tokens=False).ids, 6]
        logs = network(torch.tensor([ids])).logits[0].log_softmax(-1)
        assert count == len(ids) - 1
        assert surprise == pytest.approx(-sum(logs[at, ids[at + 1]].item() for at in range(count)), rel=1e-5)


def test_probabilities_sum_to_1_over_the_vocabulary(trained: Path) -> None:
    network, contexts = load_network(trained), token_rows(6, 9)
    with torch.no_grad():
        features = hidden_states(network, contexts)[:, -1]
        assert log_probabilities(network, features).exp().sum(1).tolist() == pytest.approx([1.0] * 6, abs=1e-5)
        every = torch.stack([nats(network, features, torch.full((6,), word)) for word in range(SYMBOLS.size)])
        assert (-every).exp().sum(0).tolist() == pytest.approx([1.0] * 6, abs=1e-5)


def test_initialisation_is_that_of_the_paper() -> None:
    network = build_network(toy_gpt.settings(hidden_size=128), SYMBOLS, seed=1)
    assert network.get_parameter("transformer.h.0.mlp.c_fc.weight").std().item() == pytest.approx(0.02, rel=0.05)


def test_estimated_operations_are_those_that_torch_counts() -> None:
    settings = toy_gpt.settings(layers=2, dropout=0.0)
    network: Any = build_network(settings, SYMBOLS, seed=1)
    ids = token_rows(3, 16)
    with FlopCounterMode(display=False) as counter:
        network(input_ids=ids, labels=ids).loss.backward()
    assert counter.get_total_flops() == pretraining_flops(settings, SYMBOLS.size, 48)


def test_weights_without_a_gradient_are_none(trained: Path) -> None:
    """Every weight that is saved was trained."""
    network: nn.Module = load_network(trained).train()
    ids = token_rows(2, 16)
    words = {"words": ids.flatten(), "all_words": torch.tensor(32)}
    torch.autograd.backward(text_loss(network, {"input_ids": ids, **words})["loss"])
    assert all(parameter.grad is not None for parameter in network.parameters())
