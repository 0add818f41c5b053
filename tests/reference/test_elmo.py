"""ELMo against the papers' formulas written out, PyTorch's own modules, and numerical gradients; who sees what."""

import math
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from stemma.data.batches import Ragged
from stemma.families.elmo.characters import Characters
from stemma.families.elmo.family import CarriedState
from stemma.families.elmo.likelihood import sentence_nats
from stemma.families.elmo.network import Elmo, Reading
from stemma.families.elmo.tokens import Highway, TokenEncoder
from stemma.layers.lstm import Lstm
from stemma.layers.scalar_mix import ScalarMix
from tests import toy_elmo, toy_ngrams

WORDS = ["a", "bank", "banks", "##ing", "银行", "extraordinarily"]
TOKENS = [*toy_ngrams.MARKERS, *WORDS]
SYMBOLS = toy_ngrams.symbols(len(WORDS))
EVENTS = [1, *range(6, SYMBOLS.size)]  # [UNK], </s> and the words


def elmo(**changes: Any) -> Elmo:
    """A network in double precision without dropout."""
    asked = toy_elmo.settings(dropout=0.0, **changes)
    torch.manual_seed(3)
    return Elmo(asked, SYMBOLS, Characters.of(TOKENS, asked.max_characters)).double()


def text(length: int, rows: int, seed: int = 5) -> Tensor:
    """Ids that text can have, for both directions."""
    draw = torch.Generator().manual_seed(seed)
    return torch.tensor(EVENTS)[torch.randint(len(EVENTS), (2, length, rows), generator=draw)]


def read(network: Elmo, ids: Tensor, states: Any = None) -> Reading:
    tokens, places = torch.unique(ids, return_inverse=True)
    return network.read(tokens, places, states)


# What a token's characters are made into


def filters_written_out(encoder: TokenEncoder, characters: list[int]) -> Tensor:
    """max over places of w · (the characters' vectors), by place and filter, in a token with much padding behind it."""
    vectors = [encoder.vectors[character] for character in characters]
    vectors += [torch.zeros_like(encoder.vectors[0])] * 10
    found = []
    for group in encoder.filters:
        width = len(group) // encoder.vectors.shape[1]
        for column in range(group.shape[1]):
            weights = group[:, column].view(width, -1)
            sums = [
                torch.stack([weights[k] @ vectors[place + k] for k in range(width)]).sum()
                for place in range(len(vectors) - width + 1)
            ]
            found.append(torch.stack(sums).max())
    return torch.stack(found)


def test_a_token_is_filters_highways_and_a_projection_of_its_characters() -> None:
    encoder = elmo().tokens
    spelling = {
        11: [256, *"银行".encode(), 257],
        7: [256, ord("a"), 257],
        12: [256, *b"extraord", 257],  # cut at 8
        1: [256, 259, 257],
        0: [256, 257],
    }
    for number, characters in spelling.items():
        y = torch.relu(filters_written_out(encoder, characters) + encoder.bias)
        highway = encoder.highways[0]
        assert isinstance(highway, Highway)
        size = len(y)
        transform, gate = highway.layer.weight[:size], highway.layer.weight[size:]
        t = torch.sigmoid(gate @ y + highway.layer.bias[size:])
        y = t * torch.relu(transform @ y + highway.layer.bias[:size]) + (1 - t) * y
        expected = encoder.projection.weight @ y + encoder.projection.bias
        torch.testing.assert_close(encoder(torch.tensor([number]))[0], expected)


def test_filters_are_pytorchs_convolution() -> None:
    encoder = elmo().tokens
    ids = torch.arange(SYMBOLS.size)
    padded = nn.functional.pad(encoder.table, (0, 10), value=261)
    channels = nn.functional.embedding(padded, encoder.vectors).transpose(1, 2)
    parts = []
    for group in encoder.filters:
        kernel = group.view(-1, channels.shape[1], group.shape[1]).permute(2, 1, 0)
        parts.append(nn.functional.conv1d(channels, kernel).amax(2))
    torch.testing.assert_close(encoder._look(ids), torch.cat(parts, dim=1))


def test_a_vector_does_not_depend_on_the_other_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = elmo().tokens
    together = encoder(torch.arange(SYMBOLS.size))
    alone = torch.cat([encoder(torch.tensor([number])) for number in range(SYMBOLS.size)])
    torch.testing.assert_close(together, alone)
    monkeypatch.setattr("stemma.families.elmo.tokens._AT_ONCE", 3)
    torch.testing.assert_close(encoder(torch.arange(SYMBOLS.size)), together)


def test_boundaries_are_one_thing_and_padding_stays_0() -> None:
    encoder = elmo().tokens
    boundaries = encoder(torch.tensor([2, 3, 5, 6]))
    torch.testing.assert_close(boundaries, boundaries[:1].expand(4, -1))
    encoder(torch.arange(SYMBOLS.size)).sum().backward()
    assert encoder.vectors.grad is not None
    assert not encoder.vectors.grad[261].any()
    assert not encoder.vectors[261].any()


# LSTMs


def in_pytorchs_order(weights: Tensor) -> Tensor:
    """Our gates (…, output | input | forget | new) as rows of input | forget | new | output."""
    out, into, forget, new = weights.chunk(4, dim=-1)
    return torch.cat([into, forget, new, out], dim=-1).movedim(-1, 0)


def pytorchs(layer: Lstm, direction: int) -> nn.LSTM:
    """One direction as PyTorch's module."""
    projected = 0 if layer.projection is None else layer.size
    module = nn.LSTM(layer.from_input.shape[1], layer.cells, proj_size=projected).double()
    weights = {
        "weight_ih_l0": in_pytorchs_order(layer.from_input[direction]),
        "weight_hh_l0": in_pytorchs_order(layer.from_output[direction]),
        "bias_ih_l0": in_pytorchs_order(layer.bias.view(2, -1)[direction]),
        "bias_hh_l0": torch.zeros(4 * layer.cells),
    }
    if layer.projection is not None:
        weights["weight_hr_l0"] = layer.projection[direction].T
    module.load_state_dict(weights)
    return module


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize("cells", [6, 9])
def test_an_lstm_is_pytorchs_with_the_same_weights(cells: int) -> None:
    torch.manual_seed(2)
    layer = Lstm(2, 5, cells, 6).double()
    inputs = torch.randn(2, 7, 3, 5, dtype=torch.float64, requires_grad=True)
    state = torch.randn(2, 3, 6).double(), torch.randn(2, 3, cells).double()
    factors = torch.randn(2, 7, 3, 6).double()
    outputs, (last, cell) = layer(inputs, state)
    (outputs * factors).sum().backward()
    assert inputs.grad is not None
    for direction in range(2):
        theirs, given = pytorchs(layer, direction), inputs.detach()[direction].requires_grad_()
        expected, (hidden, carried) = theirs(given, (state[0][direction][None], state[1][direction][None]))
        torch.testing.assert_close(outputs[direction], expected)
        torch.testing.assert_close(last[direction], hidden[0])
        torch.testing.assert_close(cell[direction], carried[0])
        (expected * factors[direction]).sum().backward()
        torch.testing.assert_close(inputs.grad[direction], given.grad)
        for name, their_name in (("from_input", "weight_ih_l0"), ("from_output", "weight_hh_l0")):
            ours = in_pytorchs_order(getattr(layer, name).grad[direction])
            torch.testing.assert_close(ours, getattr(theirs, their_name).grad)
        assert layer.bias.grad is not None
        torch.testing.assert_close(in_pytorchs_order(layer.bias.grad.view(2, -1)[direction]), theirs.bias_ih_l0.grad)
        if layer.projection is not None:
            assert layer.projection.grad is not None
            torch.testing.assert_close(layer.projection.grad[direction].T, theirs.weight_hr_l0.grad)


@pytest.mark.parametrize("cells", [3, 4])
def test_gradients_of_an_lstm_are_the_numerical_ones(cells: int) -> None:
    torch.manual_seed(2)
    layer = Lstm(2, 2, cells, 3).double()
    inputs = torch.randn(2, 4, 2, 2, dtype=torch.float64, requires_grad=True)
    names = [name for name, _ in layer.named_parameters()]

    def run(given: Tensor, *weights: Tensor) -> Tensor:
        outputs: Tensor = torch.func.functional_call(layer, dict(zip(names, weights, strict=True)), (given, None))[0]
        return outputs

    weights = tuple(parameter.detach().clone().requires_grad_() for parameter in layer.parameters())
    assert torch.autograd.gradcheck(run, (inputs, *weights))


def test_two_layers_are_a_loop_over_cells_with_a_residual() -> None:
    network = elmo(cells=6)  # without a projection, as `nn.LSTMCell` has none
    ids = text(9, 2)
    reading = read(network, ids)
    for direction in range(2):
        vectors = network.tokens(ids[direction].flatten()).view(9, 2, 6)
        torch.testing.assert_close(reading.layers[0][direction], vectors)
        modules = [pytorchs(layer, direction) for layer in network.lstms if isinstance(layer, Lstm)]
        cells = [nn.LSTMCell(6, 6).double() for _ in modules]
        for one, module in zip(cells, modules, strict=True):
            one.load_state_dict({name.removesuffix("_l0"): weight for name, weight in module.state_dict().items()})
        states = [(torch.zeros(2, 6).double(), torch.zeros(2, 6).double()) for _ in cells]
        for step in range(9):
            states[0] = cells[0](vectors[step], states[0])
            first = states[0][0]
            states[1] = cells[1](first, states[1])
            torch.testing.assert_close(reading.layers[1][direction, step], first)
            torch.testing.assert_close(reading.layers[2][direction, step], states[1][0] + first)


# Two language models


@pytest.mark.parametrize("cells", [6, 8])
def test_loss_and_gradients_are_those_of_plain_cross_entropy(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    monkeypatch.setattr("stemma.layers.word_loss._SCORES", 40)  # a few rows at a time
    network, ids = elmo(cells=cells), text(8, 3)
    ours = network.loss(read(network, ids[:, :-1]), ids[:, 1:])
    ours.backward()  # type: ignore[no-untyped-call]
    gradients = [parameter.grad for parameter in network.parameters()]
    losses = []
    for direction in range(2):
        top = read(network, ids[:, :-1]).layers[2][direction]
        scores = top @ network.weight.T + network.bias
        wanted = [EVENTS.index(target) for target in ids[direction, 1:].flatten().tolist()]
        losses.append(nn.functional.cross_entropy(scores.flatten(0, 1), torch.tensor(wanted)))
    mean = (losses[0] + losses[1]) / 2
    theirs = torch.autograd.grad(mean, list(network.parameters()))
    assert ours.item() == pytest.approx(mean.item(), rel=1e-12)
    for mine, other in zip(gradients, theirs, strict=True):
        torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("cells", [6, 8])
def test_the_forward_model_never_sees_what_follows_nor_the_backward_one_what_came_before(cells: int) -> None:
    """Positions are those of the text: the backward model is given it from its end on."""
    network, length = elmo(cells=cells), 8
    forward = text(length, 2)[0]
    place = 4
    changed = forward.clone()
    changed[place] = torch.where(forward[place] == 8, 9, 8)  # one token of each row is another

    def states(of: Tensor) -> list[tuple[Tensor, Tensor]]:
        reading = read(network, torch.stack([of, of.flip(0)]))
        return [(layer[0], layer[1].flip(0)) for layer in reading.layers]

    for number, (before, after) in enumerate(zip(states(forward), states(changed), strict=True)):
        for direction, unseen in ((0, range(place)), (1, range(place + 1, length))):
            differs = (before[direction] != after[direction]).any(dim=(1, 2))
            assert not differs[list(unseen)].any(), "what is not read yet changes nothing"
            if number:
                seen = set(range(length)) - set(unseen)
                assert differs[list(seen)].all(), "what has been read changes all that follows"


def test_probabilities_sum_to_1_over_what_can_be_predicted_in_both_directions() -> None:
    network = elmo()
    with torch.no_grad():
        for parameter in network.parameters():  # far from uniform
            parameter.mul_(3)
        features = read(network, text(8, 3)).layers[-1].flatten(0, 2)
        logs = network.log_probabilities(features)
        assert logs.shape == (2 * 8 * 3, len(EVENTS))
        assert logs.exp().sum(1).tolist() == pytest.approx([1.0] * len(logs), abs=1e-12)
        for place, event in enumerate(EVENTS):
            nats = network.nats(features, torch.full((len(features),), event))
            assert nats.tolist() == pytest.approx((-logs[:, place]).tolist(), rel=1e-9)


def test_windows_with_a_carried_state_are_one_long_text() -> None:
    network, ids = elmo(), text(12, 2)
    whole = read(network, ids)
    first = read(network, ids[:, :5])
    second = read(network, ids[:, 5:], first.states)
    for layer in range(3):
        torch.testing.assert_close(torch.cat([first.layers[layer], second.layers[layer]], 1), whole.layers[layer])


def test_the_objective_carries_the_state_from_step_to_step() -> None:
    """The losses of windows, each begun with what the one before it left, add up to that of the whole text."""
    network, ids = elmo(), text(13, 2)

    training: Any = SimpleNamespace(kept={})
    objective = CarriedState(training, 0.0)
    losses = []
    for start in range(0, 12, 4):
        tokens, places = torch.unique(ids[:, start : start + 4], return_inverse=True)
        given = {"tokens": tokens, "places": places, "targets": ids[:, start + 1 : start + 5]}
        losses.append(objective(network, {**given, "begins": torch.tensor(start == 0)})["loss"].item())
    assert np.mean(losses) == pytest.approx(network.loss(read(network, ids[:, :-1]), ids[:, 1:]).item(), rel=1e-12)
    assert not math.isclose(losses[1], network.loss(read(network, ids[:, 4:8]), ids[:, 5:9]).item(), rel_tol=1e-6)


def test_rows_that_begin_anew_know_nothing_of_the_window_before() -> None:
    network, ids = elmo(), text(13, 2)
    objective = CarriedState(cast(Any, SimpleNamespace(kept={})), 1.0)
    for start in range(0, 12, 4):
        tokens, places = torch.unique(ids[:, start : start + 4], return_inverse=True)
        given = {"tokens": tokens, "places": places, "targets": ids[:, start + 1 : start + 5]}
        loss = objective(network, {**given, "begins": torch.tensor(start == 0)})["loss"].item()
        assert loss == pytest.approx(
            network.loss(read(network, ids[:, start : start + 4]), given["targets"]).item(), rel=1e-12
        )


def test_every_sentence_of_a_length_together_has_probability_1() -> None:
    """P of all sentences of at most n words, and of having gone on beyond them: 1, forwards and backwards."""
    network = elmo().eval()
    words = [event for event in EVENTS if event != SYMBOLS.end]
    short = [list(sentence) for length in range(3) for sentence in product(words, repeat=length)]
    long = [list(sentence) for sentence in product(words, repeat=3)]
    with torch.inference_mode():
        nats = sentence_nats(network, Ragged.from_rows(short, np.int64), SYMBOLS)
        # P(three words and more) is P(those three words), which is what the sum over what may come next leaves
        begun = sentence_nats(network, Ragged.from_rows(long, np.int64), SYMBOLS)
        ended = np.stack([_last(network, long, direction) for direction in range(2)])
    total = np.exp(-nats).sum(axis=1) + np.exp(-(begun - ended)).sum(axis=1)
    assert total.tolist() == pytest.approx([1.0, 1.0], abs=1e-9)


def _last(network: Elmo, sentences: list[list[int]], direction: int) -> np.ndarray:
    """The nats of the end of each sentence of like length, the last prediction of either model."""
    rows = torch.tensor(sentences).T
    rows = rows.flip(0) if direction else rows
    ids = torch.cat([torch.full((1, rows.shape[1]), SYMBOLS.end), rows])
    features = read(network, torch.stack([ids, ids])).layers[-1][direction, -1]
    return network.nats(features, torch.full((rows.shape[1],), SYMBOLS.end)).numpy()


# What a task gets


def test_the_mix_of_layers_is_the_formula() -> None:
    """γ Σ_j s_j h_j with s = softmax(w); at first a plain mean."""
    mix, layers = ScalarMix(3), [torch.randn(4, 2, 6) for _ in range(3)]
    torch.testing.assert_close(mix(layers), (layers[0] + layers[1] + layers[2]) / 3)
    with torch.no_grad():
        mix.scores.copy_(torch.tensor([0.5, -1.0, 2.0]))
        mix.gamma.fill_(0.7)
    exponentials = [torch.exp(score) for score in mix.scores]
    s = [one / sum(exponentials) for one in exponentials]
    torch.testing.assert_close(mix(layers), mix.gamma * sum(s[j] * layers[j] for j in range(3)))
