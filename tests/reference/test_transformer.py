"""The Transformer against `torch.nn.Transformer` on copied weights, the paper's formulas, and searches written out."""

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stemma.families.transformer.network import Decoding, Transformer, build_network
from stemma.families.transformer.search import Bounds, beam_search, greedy_search
from stemma.training.schedule import inverse_root_warmup
from tests import toy_transformer

SIZE, HEADS, INNER, LAYERS, VOCABULARY = 16, 4, 24, 2, 13


def network(seed: int = 3) -> Transformer:
    settings = toy_transformer.settings(
        layers=LAYERS, hidden_size=SIZE, heads=HEADS, intermediate_size=INNER, dropout=0.0
    )
    model = build_network(settings, VOCABULARY, seed=seed).double()
    with torch.no_grad():  # drawn as zeros and ones, with which a wrong place would go unseen
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(
                    torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(parameter))) / 5
                )
    return model


def plain(model: Any) -> Any:
    """PyTorch's own network with the same weights; its stacks end with a normalisation unless they are given."""
    common: dict[str, Any] = {"dropout": 0.0, "batch_first": True, "dtype": torch.float64}
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(SIZE, HEADS, INNER, **common), LAYERS, enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(SIZE, HEADS, INNER, **common), LAYERS)
    theirs = nn.Transformer(
        SIZE, HEADS, custom_encoder=encoder, custom_decoder=decoder, batch_first=True, dtype=torch.float64
    )
    for own, other in zip(model.encoder, encoder.layers, strict=True):
        copy_attention(own.attention, other.self_attn)
        copy_rest(own, other, {"attention_norm": "norm1", "norm": "norm2"})
    for own, other in zip(model.decoder, decoder.layers, strict=True):
        copy_attention(own.attention, other.self_attn)
        copy_attention(own.source, other.multihead_attn)
        copy_rest(own, other, {"attention_norm": "norm1", "source_norm": "norm2", "norm": "norm3"})
    return theirs


def copy_attention(own: Any, other: Any) -> None:
    other.in_proj_weight.data = torch.cat([own.query.weight, own.key_value.weight]).detach().clone()
    other.in_proj_bias.data = torch.cat([own.query.bias, own.key_value.bias]).detach().clone()
    other.out_proj.load_state_dict(own.output.state_dict())


def copy_rest(own: Any, other: Any, norms: dict[str, str]) -> None:
    other.linear1.load_state_dict(own.feed_forward[0].state_dict())
    other.linear2.load_state_dict(own.feed_forward[2].state_dict())
    for name, theirs in norms.items():
        getattr(other, theirs).load_state_dict(getattr(own, name).state_dict())


def embed(model: Transformer, ids: Tensor) -> Tensor:
    """√size · vector + PE, with PE as the paper writes it."""
    table = [
        [
            (math.sin if column % 2 == 0 else math.cos)(position / 10000 ** (2 * (column // 2) / SIZE))
            for column in range(SIZE)
        ]
        for position in range(ids.shape[1])
    ]
    embedded: Tensor = model.vectors[ids] * SIZE**0.5 + torch.tensor(table, dtype=torch.float64)
    return embedded


def batch() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(7)
    lengths, sizes = torch.tensor([5, 2, 4]), torch.tensor([3, 6, 1])
    source = torch.randint(VOCABULARY, (3, 5), generator=draw)
    target = torch.randint(VOCABULARY, (3, 6), generator=draw)
    return source, lengths, target, torch.arange(6) < sizes[:, None]


def test_outputs_and_gradients_equal_pytorchs() -> None:
    model: Any = network()
    theirs, (source, lengths, target, inside) = plain(model), batch()
    words = torch.randint(VOCABULARY, (int(inside.sum()),), generator=torch.Generator().manual_seed(8))
    hidden = model.predictions(source, lengths, target, inside)
    vectors = model.vectors.detach().clone().requires_grad_()
    copied = network()
    copied.vectors = nn.Parameter(vectors)  # a graph of its own
    padding = torch.arange(5) >= lengths[:, None]
    wanted = theirs(
        embed(copied, source),
        embed(copied, target),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(6, dtype=torch.float64),
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
    )[inside]
    torch.testing.assert_close(hidden, wanted, rtol=1e-6, atol=1e-6)  # ours takes the sinusoids as 32-bit numbers
    loss = model.loss(hidden, words, 1 / len(words), 0.1)
    other = nn.functional.cross_entropy(wanted @ copied.vectors.T, words, label_smoothing=0.1)
    torch.testing.assert_close(loss, other, rtol=1e-6, atol=1e-6)
    loss.backward()
    other.backward()  # type: ignore[no-untyped-call]
    close: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close(model.vectors.grad, copied.vectors.grad, **close)
    for own, layer in zip(model.decoder, theirs.decoder.layers, strict=True):
        both = torch.cat([own.source.query.weight.grad, own.source.key_value.weight.grad])
        torch.testing.assert_close(both, layer.multihead_attn.in_proj_weight.grad, **close)
        torch.testing.assert_close(own.feed_forward[0].weight.grad, layer.linear1.weight.grad, **close)
        torch.testing.assert_close(own.source_norm.bias.grad, layer.norm2.bias.grad, **close)
    for own, layer in zip(model.encoder, theirs.encoder.layers, strict=True):
        both = torch.cat([own.attention.query.bias.grad, own.attention.key_value.bias.grad])
        torch.testing.assert_close(both, layer.self_attn.in_proj_bias.grad, **close)
        torch.testing.assert_close(own.norm.weight.grad, layer.norm2.weight.grad, **close)


@torch.inference_mode()
def test_the_decoder_never_sees_the_future() -> None:
    model, (source, lengths, target, _) = network(), batch()
    memory, bias = model.encode(source, lengths)
    before = model.decode(target, memory, bias)
    for place in range(1, target.shape[1]):
        changed = target.clone()
        changed[:, place:] = (changed[:, place:] + 1) % VOCABULARY
        after = model.decode(changed, memory, bias)
        assert torch.equal(after[:, :place], before[:, :place])
        assert not torch.isclose(after[:, place:], before[:, place:]).all(dim=2).any()


@torch.inference_mode()
def test_padding_of_the_source_is_not_seen() -> None:
    model, (source, lengths, target, _) = network(), batch()
    before = model.decode(target, *model.encode(source, lengths))
    source[torch.arange(5) >= lengths[:, None]] = 0
    assert torch.equal(model.decode(target, *model.encode(source, lengths)), before)
    alone = model.decode(target[1:2], *model.encode(source[1:2, :2], lengths[1:2]))
    torch.testing.assert_close(alone, before[1:2])


@torch.inference_mode()
def test_token_by_token_is_the_same_as_all_at_once() -> None:
    model, (source, lengths, target, _) = network(), batch()
    at_once = torch.log_softmax(model.scores(model.decode(target, *model.encode(source, lengths))), dim=2)
    decoding, rows = Decoding(model, source, lengths), torch.arange(3)
    for place in range(target.shape[1]):
        torch.testing.assert_close(decoding.step(target[rows, place]), at_once[rows, place])
        order = torch.tensor([2, 0, 1, 1][: len(rows)])  # rows may change places
        decoding.keep(order)
        rows = rows[order]


@torch.inference_mode()
def test_positions_beyond_those_at_hand_are_computed() -> None:
    model, long = network(), torch.arange(300)[None] % VOCABULARY
    embedded = model.embed(long, 0, None)
    torch.testing.assert_close(embedded, embed(model, long), rtol=1e-5, atol=1e-5)
    assert torch.equal(model.embed(long[:, 299:], 299, None), embedded[:, 299:])


def test_the_schedule_is_the_papers() -> None:
    size, warmup = 512, 4000
    for number in (1, 2, 100, 3999, 4000, 4001, 100_000):
        paper = size**-0.5 * min(number**-0.5, number * warmup**-1.5)
        ours = (size * warmup) ** -0.5 * inverse_root_warmup(number - 1, warmup=warmup)
        assert ours == pytest.approx(paper, rel=1e-12)


class Table:
    """Steps of a model that is a table: the log-probabilities of what follows each beginning."""

    def __init__(self, num_words: int, num_sentences: int, seed: int, *, sharpness: float = 2.0) -> None:
        self._rows: list[tuple[int, ...]] = [(sentence,) for sentence in range(num_sentences)]
        self._num_words, self._seed, self._sharpness = num_words, seed, sharpness

    def after(self, beginning: tuple[int, ...]) -> Tensor:
        draw = torch.Generator().manual_seed(hash((self._seed, beginning)))  # of whole numbers, the same every time
        return torch.log_softmax(torch.randn(self._num_words, generator=draw) * self._sharpness, dim=0)

    def step(self, tokens: Tensor) -> Tensor:
        self._rows = [(*row, token) for row, token in zip(self._rows, tokens.tolist(), strict=True)]
        return torch.stack([self.after(row) for row in self._rows])

    def keep(self, rows: Tensor) -> None:
        self._rows = [self._rows[row] for row in rows.tolist()]


BEGIN, END, WORDS, LONGEST = 0, 1, 5, 3


def bounds(*limits: int) -> Bounds:
    return Bounds(begin=BEGIN, end=END, silent=(BEGIN,), limits=torch.tensor(limits))


def score(table: Table, sentence: int, tokens: list[int]) -> float:
    way: tuple[int, ...] = (sentence, BEGIN)
    total = 0.0
    for token in [*tokens, END]:
        total += float(table.after(way)[token])
        way = (*way, token)
    return total


def every(longest: int) -> list[list[int]]:
    words = [word for word in range(WORDS) if word not in (BEGIN, END)]
    return [list(row) for length in range(longest + 1) for row in itertools.product(words, repeat=length)]


def penalised(table: Table, sentence: int, tokens: list[int], penalty: float) -> float:
    scale: float = ((5 + len(tokens) + 1) / 6) ** penalty
    return score(table, sentence, tokens) / scale


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("penalty", [0.0, 0.6])
def test_a_beam_that_holds_everything_finds_the_best(seed: int, penalty: float) -> None:
    table = Table(WORDS, 2, seed)
    found = beam_search(Table(WORDS, 2, seed), bounds(LONGEST, LONGEST), width=len(every(LONGEST)), penalty=penalty)
    for sentence in range(2):
        best = max(every(LONGEST), key=lambda tokens: penalised(table, sentence, tokens, penalty))
        assert found[sentence] == best


class Forks(Table):
    """A tree in which the likelier first word leads nowhere good, so that the best beginning is not the best translation."""

    def after(self, beginning: tuple[int, ...]) -> Tensor:
        following = {
            (): [0.0, 0.0, 0.6, 0.4, 0.0],
            (2,): [0.0, 0.4, 0.3, 0.3, 0.0],
            (3,): [0.0, 0.9, 0.05, 0.05, 0.0],
        }
        return torch.tensor(following.get(beginning[2:], [0.0, 1.0, 0.0, 0.0, 0.0])).log()


def test_a_wider_beam_finds_what_the_greedy_search_misses() -> None:
    assert greedy_search(Forks(WORDS, 1, 0), bounds(LONGEST)) == [[2]]  # 0.6 · 0.4
    assert beam_search(Forks(WORDS, 1, 0), bounds(LONGEST), width=2, penalty=0.0) == [[3]]  # 0.4 · 0.9


@pytest.mark.parametrize("seed", range(20))
def test_greedy_is_a_beam_of_width_1(seed: int) -> None:
    limits = bounds(0, 2, 5, 9)
    greedy = greedy_search(Table(WORDS, 4, seed, sharpness=1.0), limits)
    assert greedy == beam_search(Table(WORDS, 4, seed, sharpness=1.0), limits, width=1, penalty=0.6)
    assert all(len(tokens) <= limit for tokens, limit in zip(greedy, limits.limits.tolist(), strict=True))
    table = Table(WORDS, 4, seed, sharpness=1.0)
    way: tuple[int, ...] = (3, BEGIN)
    for token in greedy[3]:  # each the best that follows
        scores = table.after(way)
        scores[BEGIN] = -math.inf
        assert token == int(scores.argmax())
        way = (*way, token)


@pytest.mark.parametrize("width", [2, 3, 4])
def test_sentences_of_a_batch_do_not_change_each_other(width: int) -> None:
    together = beam_search(Table(WORDS, 4, 9), bounds(1, 3, 6, 9), width=width, penalty=0.6)
    for sentence, limit in enumerate((1, 3, 6, 9)):
        alone = Table(WORDS, 4, 9)
        alone.keep(torch.tensor([sentence]))
        assert beam_search(alone, bounds(limit), width=width, penalty=0.6) == [together[sentence]]


@torch.inference_mode()
def test_the_networks_greedy_translation_is_its_beam_of_width_1() -> None:
    model, (source, lengths, _, _) = network(), batch()
    limits = Bounds(begin=5, end=6, silent=(0, 5), limits=lengths + 8)
    assert greedy_search(Decoding(model, source, lengths), limits) == beam_search(
        Decoding(model, source, lengths), limits, width=1, penalty=0.6
    )
