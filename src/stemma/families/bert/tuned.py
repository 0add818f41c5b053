"""BERT with a task's head on it: modules of `transformers`, and what the paper's ablations put between them.

A classification or a choice is read at `[CLS]`. In a model that reads from left to right `[CLS]` has seen nothing: there it is
read at the last token, which has seen all. A BiLSTM, if the settings ask for one, is new in every task: it goes over the
encoder's output, half of the size each way, and the head reads its output instead. A frozen encoder gives the features that
pretraining left, without dropout, and only what stands on it learns: the pooled layer, the BiLSTM, the head.

What the BiLSTM reads (section 5.3): the last layer, a learned weighted sum of the last four, or these four side by side.
"""

from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from stemma.families.bert.forward import encode_layers
from stemma.layers.dropout import dropped, masks_for
from stemma.layers.scalar_mix import ScalarMix

__all__ = ["TaskNetwork"]

_LAST_LAYERS: Final = 4


class TaskNetwork(nn.Module):
    """A network of `transformers` whose forward is logits alone; its configuration says what stands below its head."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        inner: Any = network
        config, size = inner.config, inner.config.hidden_size
        self.bilstm: nn.LSTM | None = None
        features = getattr(config, "features", "last")
        self._many = features != "last"
        self.mix = ScalarMix(_LAST_LAYERS) if features == "sum-last-four" else None
        if getattr(config, "bilstm", False):  # no word of it in a model that other tools wrote
            width = size * (_LAST_LAYERS if features == "concat-last-four" else 1)
            self.bilstm = nn.LSTM(width, size // 2, batch_first=True, bidirectional=True)
        self._frozen = getattr(config, "tune", "whole") == "frozen"
        if self._frozen:
            for part in (inner.bert.embeddings, inner.bert.encoder):
                part.requires_grad_(False)

    def train(self, mode: bool = True) -> "TaskNetwork":
        """Switch dropout on or off; a frozen encoder has none."""
        super().train(mode)
        if self._frozen:
            self._bert.eval()
        return self

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """The logits that the task's kind has, see `stemma.protocols.Encoder`."""
        network: Any = self.network
        tensors = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        logits: Tensor
        if network.bert.pooler is not None:  # classification and choice look at one token alone
            last = attention_mask.sum(1, keepdim=True) - 1
            hidden = self._read(tensors, last if network.config.is_decoder else torch.zeros_like(last))
            logits = network.classifier(network.dropout(network.bert.pooler(hidden)))
        elif hasattr(network, "qa_outputs"):
            logits = network.qa_outputs(self._read(tensors, None))
        else:
            logits = network.classifier(dropped(self._read(tensors, None), masks_for(network.dropout)))
        return logits

    @property
    def _bert(self) -> Any:
        network: Any = self.network
        return network.bert

    def _read(self, tensors: dict[str, Tensor], columns: Tensor | None) -> Tensor:
        """What the head sees: of every token, or (batch, asked) of some columns."""
        asked = {} if columns is None or self.bilstm is not None else {"columns": columns}
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self._frozen):
            layers = encode_layers(self._bert, {**tensors, **asked}, _LAST_LAYERS if self._many else 1)
        if self.bilstm is None:
            return layers[0]
        hidden = torch.cat(layers, dim=2) if self.mix is None else self.mix(layers)
        lengths = tensors["attention_mask"].sum(1)
        packed = pack_padded_sequence(hidden, lengths, batch_first=True, enforce_sorted=False)
        found, _ = pad_packed_sequence(self.bilstm(packed)[0], batch_first=True, total_length=hidden.shape[1])
        return found if columns is None else found.gather(1, columns[:, :, None].expand(-1, -1, found.shape[2]))
