"""GPT's formulas step by step on a tiny network: h_0 = U W_e + W_p, h_l = block(h_{l-1}), P(u) = softmax(h_n W_e^T)."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import torch
from torch import Tensor, nn

from stemma.families.gpt.forward import encode
from stemma.families.gpt.network import NetworkSettings, build_network, log_probabilities
from stemma.text.symbols import Symbols

__all__ = ["CONTEXT", "WORDS", "explain", "tiny_network"]


WORDS: Final = ("[UNK]", "<s>", "</s>", "the", "cat", "sat")
CONTEXT: Final = ("<s>", "the", "cat")  # U
_SYMBOLS: Final = Symbols(size=len(WORDS), begin=1, end=2, unknown=0, silent=(1,))
_SHAPE: Final = NetworkSettings(block="transformer", layers=2, hidden_size=4, heads=2, dropout=0.0, max_length=8)


def explain() -> Iterator[str]:
    """From three words to the probability of the fourth."""
    network: Any = tiny_network()
    transformer = network.transformer
    ids = torch.tensor([[WORDS.index(word) for word in CONTEXT]])
    with torch.no_grad():
        vectors, positions = transformer.tokens_embed.weight, transformer.positions_embed.weight
        yield f"A network of {_SHAPE.layers} blocks, vectors of {_SHAPE.hidden_size} and {_SHAPE.heads} heads."
        yield f"Its vocabulary: {' '.join(WORDS)}."
        yield f"The context U: {' '.join(CONTEXT)}. What comes next?"
        yield ""
        yield "W_e, a row a word of the vocabulary:"
        yield from _rows(WORDS, vectors)
        yield "W_p, a row a position:"
        yield from _rows(range(len(CONTEXT)), positions)
        hidden = vectors[ids[0]] + positions[: len(CONTEXT)]
        yield "h_0 = U W_e + W_p, a row a word of the context:"
        yield from _rows(CONTEXT, hidden)
        for number in range(1, _SHAPE.layers + 1):
            yield f"h_{number} = block(h_{number - 1}): masked attention, then a feed-forward layer,"
            yield "each added to what came in, and the sum normalised."
            yield from _attention(transformer.h[number - 1], hidden)
            hidden = transformer.h[number - 1](hidden[None])[0][0]
            yield from _rows(CONTEXT, hidden)
        assert torch.allclose(hidden, encode(transformer, ids)[0], atol=1e-5)  # the path of training
        scores = hidden[-1] @ vectors.t()
        yield "h_n W_e^T for the last word: a score for every word, by the same vectors that words come in with."
        yield from _rows(["score"], scores[None])
        probabilities = log_probabilities(network, hidden[-1]).exp()
        yield "P(u) = softmax(h_n W_e^T):"
        yield from (
            f"  P({word} | {' '.join(CONTEXT)}) = {value:.4f}" for word, value in zip(WORDS, probabilities, strict=True)
        )
        yield f"They sum to {float(probabilities.sum()):.4f}."


def tiny_network() -> nn.Module:
    """A network with weights drawn from a seed, larger than training begins with, so that figures differ."""
    network = build_network(_SHAPE, _SYMBOLS, seed=1).eval()
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=draw).mul_(0.5))
    return network


def _attention(block: Any, hidden: Tensor) -> Iterator[str]:
    weights = block.attn(hidden[None], output_attentions=True)[1][0, 0]  # of the first head
    yield "  what each word looks at, first head: what stands behind it has weight 0"
    yield from _rows(CONTEXT, weights, indent=4)


def _rows(names: Sequence[object], rows: Tensor, indent: int = 2) -> Iterator[str]:
    for name, row in zip(names, rows, strict=False):
        yield f"{'':{indent}}{name!s:>6} {' '.join(f'{value:7.4f}' for value in row.tolist())}"
