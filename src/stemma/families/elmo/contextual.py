"""What ELMo makes of the tokens of a sentence: the last layer of both language models, side by side."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from stemma.families.elmo.encoder import read_layers
from stemma.families.elmo.network import load_network
from stemma.files import verify_manifest
from stemma.layers.lstm import Turn
from stemma.protocols import InContext
from stemma.text.vocabulary import load_tokenizer
from stemma.training.loop import deterministic

__all__ = ["ElmoContextual", "load_contextual"]


class ElmoContextual:
    """Reads sentences, one at a time."""

    def __init__(self, folder: Path) -> None:
        self._network, self._tokenizer = load_network(folder), load_tokenizer(folder)

    def read(self, sentences: Sequence[str]) -> list[InContext]:
        """The vectors of each sentence's tokens."""
        with deterministic(threads=1), torch.inference_mode():
            return [self._read(sentence) for sentence in sentences]

    def _read(self, sentence: str) -> InContext:
        encoding = self._tokenizer.encode(sentence)
        ids = torch.tensor(encoding.ids)[:, None]
        last = read_layers(self._network, ids, Turn(torch.tensor([len(ids)]), len(ids)))[-1][:, 0]
        inside = np.array(encoding.special_tokens_mask) == 0
        return InContext(
            vectors=last.numpy()[inside], spans=np.array(encoding.offsets, np.int64).reshape(-1, 2)[inside]
        )


def load_contextual(folder: Path) -> ElmoContextual:
    """Load what `pretrain` wrote, once its bytes are found whole."""
    verify_manifest(folder)
    return ElmoContextual(folder)
