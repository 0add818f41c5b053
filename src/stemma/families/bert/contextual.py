"""What BERT makes of the tokens of a sentence: its last hidden states."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stemma.families.bert.forward import encode
from stemma.families.bert.network import load_pretrained, read_tokenizer
from stemma.files import verify_manifest
from stemma.protocols import InContext
from stemma.training.loop import deterministic

__all__ = ["BertContextual", "load_contextual"]


class BertContextual:
    """Reads sentences, one at a time; one that is longer than an input is cut at its end."""

    def __init__(self, folder: Path) -> None:
        network: Any = load_pretrained(folder)
        self._network = network.bert.eval()
        self._tokenizer = read_tokenizer(folder)
        self._tokenizer.enable_truncation(int(network.config.max_position_embeddings))

    def read(self, sentences: Sequence[str]) -> list[InContext]:
        """The vectors of each sentence's tokens."""
        with deterministic(threads=1), torch.inference_mode():
            return [self._read(sentence) for sentence in sentences]

    def _read(self, sentence: str) -> InContext:
        encoding = self._tokenizer.encode(sentence)
        ids = torch.tensor([encoding.ids])
        last = encode(self._network, {"input_ids": ids, "token_type_ids": torch.zeros_like(ids)})[0]
        inside = np.array(encoding.special_tokens_mask) == 0
        return InContext(
            vectors=last.numpy()[inside], spans=np.array(encoding.offsets, np.int64).reshape(-1, 2)[inside]
        )


def load_contextual(folder: Path) -> BertContextual:
    """Load what `pretrain` wrote, once its bytes are found whole."""
    verify_manifest(folder)
    return BertContextual(folder)
