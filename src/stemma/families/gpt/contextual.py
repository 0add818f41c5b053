"""What GPT makes of the tokens of a sentence: its last hidden states, each of which has read up to its own token."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from stemma.families.gpt.network import hidden_states, load_network, num_positions
from stemma.files import verify_manifest
from stemma.protocols import InContext
from stemma.text.symbols import read_symbols
from stemma.text.vocabulary import load_tokenizer
from stemma.training.loop import deterministic

__all__ = ["GptContextual", "load_contextual"]


class GptContextual:
    """Reads sentences, one at a time; one that is longer than an input is cut at its end."""

    def __init__(self, folder: Path) -> None:
        self._network, self._tokenizer = load_network(folder), load_tokenizer(folder)
        self._begin = read_symbols(folder).begin

    def read(self, sentences: Sequence[str]) -> list[InContext]:
        """The vectors of each sentence's tokens."""
        with deterministic(threads=1), torch.inference_mode():
            return [self._read(sentence) for sentence in sentences]

    def _read(self, sentence: str) -> InContext:
        encoding = self._tokenizer.encode(sentence, add_special_tokens=False)
        ids = [self._begin, *encoding.ids][: num_positions(self._network)]
        last = hidden_states(self._network, torch.tensor([ids]))[0, 1:]
        return InContext(
            vectors=last.numpy(), spans=np.array(encoding.offsets, np.int64).reshape(-1, 2)[: len(ids) - 1]
        )


def load_contextual(folder: Path) -> GptContextual:
    """Load what `pretrain` wrote, once its bytes are found whole."""
    verify_manifest(folder)
    return GptContextual(folder)
