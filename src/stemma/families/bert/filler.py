"""What BERT would write where a text says `[MASK]`: its most likely words, each with its probability.

Every gap is filled by itself, from the words that are there and the gaps that are not: the model predicts hidden words
independently of each other, and so does this.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import torch

from stemma.errors import InputError
from stemma.families.bert.forward import encode
from stemma.families.bert.network import load_pretrained, read_tokenizer, token_id
from stemma.protocols import Filling
from stemma.training.loop import deterministic

__all__ = ["BertFiller", "load_filler"]

_GAP: Final = "[MASK]"


class BertFiller:
    """Fills the gaps of texts."""

    def __init__(self, folder: Path) -> None:
        network: Any = load_pretrained(folder)
        if network.config.is_decoder:
            raise InputError(f"{folder}: this model reads from left to right and fills no gap between words")
        self._network = network.eval()
        self._tokenizer = read_tokenizer(folder)
        self._room = int(network.config.max_position_embeddings) - 2
        self._cls, self._sep, self._mask = (token_id(self._tokenizer, token) for token in ("[CLS]", "[SEP]", _GAP))

    def fill(self, text: str, count: int) -> list[list[Filling]]:
        """For every `[MASK]` of a text its `count` most likely words, the likeliest first."""
        ids = self._encode(text)
        if len(ids) > self._room:
            raise InputError(f"{len(ids)} tokens, but the model reads at most {self._room}; make the text shorter")
        inputs = torch.tensor([[self._cls, *ids, self._sep]])
        columns = (inputs == self._mask).nonzero()[:, 1]
        if not len(columns):
            raise InputError(f"no {_GAP} in the text")
        with deterministic(threads=1), torch.inference_mode():
            tensors = {"input_ids": inputs, "token_type_ids": torch.zeros_like(inputs), "columns": columns[None]}
            hidden = encode(self._network.bert, tensors)[0]  # (gaps, size)
            probabilities = torch.softmax(self._network.cls.predictions(hidden), dim=-1)
            return [list(self._best(row, count)) for row in probabilities]

    def _encode(self, text: str) -> list[int]:
        """A text's ids; what stands between gaps is split as if it stood alone, as `transformers` does it."""
        parts = [
            encoding.ids for encoding in self._tokenizer.encode_batch_fast(text.split(_GAP), add_special_tokens=False)
        ]
        return [id_ for number, part in enumerate(parts) for id_ in ([self._mask] if number else []) + part]

    def _best(self, probabilities: torch.Tensor, count: int) -> Iterator[Filling]:
        order = torch.argsort(probabilities, descending=True, stable=True)[:count]  # of equals the first word
        for id_ in order.tolist():
            yield Filling(self._tokenizer.id_to_token(id_) or "", float(probabilities[id_]))


def load_filler(folder: Path) -> BertFiller:
    """Load what `pretrain` wrote, for filling gaps."""
    return BertFiller(folder)
