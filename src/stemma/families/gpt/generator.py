"""Text that goes on where a beginning ends: one token after the other, each from those before it.

A beginning is read as pretraining reads text: `<s>`, and `</s>` between its sentences. What was read is kept, so that a token
costs one step through the network. When there are more tokens than the network reads at once, it goes on from the last half
of them, from a sentence on if one begins there. The text ends where the network would begin another document.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from stemma.families.gpt.network import load_network, num_positions, read_on, word_vectors
from stemma.files import verify_manifest
from stemma.text.joining import join_tokens
from stemma.text.sentences import split_sentences
from stemma.text.symbols import Symbols, read_symbols
from stemma.text.vocabulary import load_tokenizer, read_kind
from stemma.training.loop import deterministic

__all__ = ["GptGenerator", "choice", "last_half", "load_generator"]

Scores = npt.NDArray[np.float64]
Choose = Callable[[Scores], int]


class GptGenerator:
    """A pretrained GPT that writes."""

    def __init__(self, folder: Path) -> None:
        self.network = load_network(folder)
        self._symbols, self._tokenizer = read_symbols(folder), load_tokenizer(folder)
        self._at_spaces = read_kind(folder) == "spaces"  # text that was tokenized before stays so
        self._written = self._symbols.events
        self._written[self._symbols.begin] = True  # that of the next document
        self._written[self._symbols.unknown] = False

    def go_on(self, beginning: str, *, tokens: int, temperature: float, top_k: int | None, seed: int) -> str:
        """The beginning and what follows, up to so many tokens; at temperature 0 always the likeliest."""
        read = self.read(beginning)
        choose = choice(temperature, top_k, np.random.default_rng(seed))
        new = self.continuation(read, tokens, choose)
        before, after = self._text(read), self._text([*read, *new])
        return beginning.rstrip() + after[len(before) :]  # our own spelling of what was given need not be its own

    def read(self, beginning: str) -> list[int]:
        """The ids of a beginning, from `<s>` on; its last sentence is not ended."""
        sentences = [beginning] if self._at_spaces else split_sentences(beginning)
        ids = [self._symbols.begin]
        for number, encoding in enumerate(self._tokenizer.encode_batch(sentences, add_special_tokens=False)):
            ids += [*([self._symbols.end] if number else []), *self._symbols.readable(np.array(encoding.ids, np.int64))]
        return [int(id_) for id_ in ids]

    def continuation(self, ids: list[int], count: int, choose: Choose) -> list[int]:
        """Up to `count` ids that follow."""
        new: list[int] = []
        with deterministic(threads=1), torch.inference_mode():
            cache, pending = None, ids
            while len(new) < count:
                if len(pending) + (cache.length if cache else 0) > num_positions(self.network):
                    cache, pending = None, last_half([*ids, *new], num_positions(self.network), self._symbols)
                hidden, cache = read_on(self.network, torch.tensor([pending]), cache)
                scores = (word_vectors(self.network) @ hidden[0, -1]).double().numpy()
                chosen = choose(np.where(self._written, scores, -np.inf))
                if chosen == self._symbols.begin:
                    break
                new.append(chosen)
                pending = [chosen]
        return new

    def _text(self, ids: list[int]) -> str:
        kept = (id_ for id_ in ids[1:] if self._at_spaces or id_ != self._symbols.end)
        words = [self._tokenizer.id_to_token(id_) or "" for id_ in kept]
        return " ".join(words) if self._at_spaces else join_tokens(words)


def load_generator(folder: Path) -> GptGenerator:
    """Load what `pretrain` wrote, once its bytes are found whole."""
    verify_manifest(folder)
    return GptGenerator(folder)


def last_half(ids: list[int], width: int, symbols: Symbols) -> list[int]:
    """What is read on from when `width` tokens are too few for all: the last half, from a sentence on if one begins there."""
    kept = ids[-(width // 2) :]
    if symbols.end in kept[:-1]:
        return [symbols.begin, *kept[kept.index(symbols.end) + 1 :]]
    return kept


def choice(temperature: float, top_k: int | None, rng: np.random.Generator) -> Choose:
    """How a token is chosen by its score."""

    def draw(scores: Scores) -> int:
        order = np.argsort(-scores, kind="stable")[:top_k]
        weights = np.exp((scores[order] - scores[order[0]]) / temperature)
        place = np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right")
        return int(order[min(int(place), len(order) - 1)])

    return draw if temperature else lambda scores: int(np.argmax(scores))
