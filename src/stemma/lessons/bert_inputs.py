"""BERT's inputs: every token is the sum of what it is, which segment it stands in, and where it stands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from stemma.families.bert.network import build_network
from stemma.lessons.masked_lm import make_tokenizer

__all__ = ["TOKENS", "Sum", "add_up", "explain", "segments"]

TOKENS: Final = ["[CLS]", "my", "dog", "is", "cute", "[SEP]", "he", "likes", "play", "##ing", "[SEP]"]


@dataclass(frozen=True)
class _Network:
    """A network of the smallest size that can be shown."""

    layers: int = 1
    hidden_size: int = 4
    heads: int = 1
    intermediate_size: int = 4
    dropout: float = 0.0
    max_length: int = 16
    direction: str = "both"
    bilstm: bool = False
    features: str = "last"
    tune: str = "whole"
    task_learning_rate: float = 0.005


@dataclass(frozen=True)
class Sum:
    """The parts of the inputs (tokens, size) and what the first block gets."""

    token: Tensor
    segment: Tensor
    position: Tensor
    given: Tensor

    @property
    def total(self) -> Tensor:
        """What is normalised."""
        return self.token + self.segment + self.position


def segments(tokens: Sequence[str]) -> list[int]:
    """0 up to the first [SEP], 1 behind it."""
    first = tokens.index("[SEP]")
    return [int(place > first) for place in range(len(tokens))]


def add_up() -> Sum:
    """The inputs of the example, by a network as it is drawn."""
    tokenizer = make_tokenizer([token for token in TOKENS if not token.startswith("[")])
    network: Any = build_network(_Network(), tokenizer, seed=1).eval()
    embeddings = network.bert.embeddings
    ids = torch.tensor([[tokenizer.token_to_id(token) for token in TOKENS]])
    types, positions = torch.tensor([segments(TOKENS)]), torch.arange(len(TOKENS))[None]
    with torch.no_grad():
        return Sum(
            token=embeddings.word_embeddings(ids)[0],
            segment=embeddings.token_type_embeddings(types)[0],
            position=embeddings.position_embeddings(positions)[0],
            given=embeddings(input_ids=ids, token_type_ids=types)[0],
        )


def explain() -> Iterator[str]:
    """The three vectors of every token and their sum, in hundredths, and what normalisation makes of it."""
    parts = add_up()
    yield f"{' '.join(TOKENS)}: a network of size 4 as it is drawn, its vectors in hundredths."
    heads = ("E(token)", "+ E(segment)", "+ E(position)", "= sum")
    yield (f"  {'token':<8}" + "  ".join(f"{head:^25}" for head in heads)).rstrip()
    for place, token in enumerate(TOKENS):
        cells = (_show(one[place]) for one in (parts.token, parts.segment, parts.position, parts.total))
        yield f"  {token:<8}" + "  ".join(cells)
    yield "Two tokens alike differ by where they stand: the two [SEP] have one vector as tokens, and two sums."
    mean, spread = float(parts.given.mean()), float(parts.given.pow(2).mean().sqrt())
    yield f"Layer normalisation then gives each token mean {abs(mean):.2f} and spread {spread:.2f}: so the first block gets it."


def _show(vector: Tensor) -> str:
    return "(" + " ".join(f"{100 * float(value):5.1f}" for value in vector) + ")"
