"""An LSTM in place of the Transformer, as the paper's ablation has it: the same vectors, rows and softmax, another memory.

`transformers` has no such network, so its folder holds our own safetensors and a JSON file with its shape.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from stemma.files import atomic_path, read_json, write_json
from stemma.layers.dropout import dropped, masks_for

__all__ = ["LstmModel", "LstmShape", "Memory"]

_WEIGHTS: Final = "model.safetensors"
_SHAPE: Final = "lstm.json"


@dataclass(frozen=True, kw_only=True)
class LstmShape:
    """What the network is made of."""

    vocabulary_size: int
    layers: int
    size: int
    dropout: float
    max_length: int  # tokens of a row in training; it could read on for ever


@dataclass(frozen=True)
class Memory:
    """What is left of the tokens that were read so far."""

    state: tuple[Tensor, Tensor]
    length: int  # how many they were


class LstmModel(nn.Module):
    """Layers of LSTM that predict the next token by the vectors that tokens come in with."""

    def __init__(self, shape: LstmShape) -> None:
        super().__init__()
        self.shape = shape
        self.tokens_embed = nn.Embedding(shape.vocabulary_size, shape.size)
        nn.init.normal_(self.tokens_embed.weight, std=shape.size**-0.5)  # no normalisation makes up for smaller ones
        self.drop = nn.Dropout(shape.dropout)
        self.layers = nn.LSTM(
            shape.size,
            shape.size,
            shape.layers,
            batch_first=True,
            dropout=shape.dropout if shape.layers > 1 else 0.0,
        )

    def encode(self, ids: Tensor, inside: Tensor | None = None) -> Tensor:
        """The last layer's outputs (rows, width, size); tokens with padding before them are read from the first on."""
        masks = masks_for(self.drop)
        if inside is None or bool(inside[:, 0].all()):
            outputs, _ = self.layers(dropped(self.tokens_embed(ids), masks))
            return dropped(outputs, masks)
        columns, first = torch.arange(ids.shape[1]), inside.long().argmax(1, keepdim=True)
        there, back = (columns + first) % len(columns), (columns - first) % len(columns)
        outputs, _ = self.layers(dropped(self.tokens_embed(ids.gather(1, there)), masks))
        return dropped(outputs.gather(1, back[:, :, None].expand_as(outputs)), masks)

    def read_on(self, ids: Tensor, memory: Memory | None) -> tuple[Tensor, Memory]:
        """The outputs of tokens that follow those in memory, and the memory with them."""
        outputs, state = self.layers(self.tokens_embed(ids), memory.state if memory else None)
        return outputs, Memory(state, ids.shape[1] + (memory.length if memory else 0))

    def with_more_tokens(self, count: int) -> "LstmModel":
        """The same network with so many more vectors, drawn anew."""
        vocabulary_size = self.shape.vocabulary_size
        larger = LstmModel(LstmShape(**{**asdict(self.shape), "vocabulary_size": vocabulary_size + count}))
        with torch.no_grad():
            larger.tokens_embed.weight[:vocabulary_size] = self.tokens_embed.weight
        larger.layers.load_state_dict(self.layers.state_dict())
        return larger

    def save(self, out: Path) -> None:
        """Write weights and shape."""
        with atomic_path(out / _WEIGHTS) as temporary:
            save_file({name: tensor.contiguous() for name, tensor in self.state_dict().items()}, temporary)
        write_json(out / _SHAPE, asdict(self.shape))

    @classmethod
    def load(cls, folder: Path) -> "LstmModel | None":
        """Read back what `save` wrote; none where there is no such network."""
        if not (folder / _SHAPE).is_file():
            return None
        model = cls(LstmShape(**read_json(folder / _SHAPE)))
        model.load_state_dict(load_file(folder / _WEIGHTS))
        return model
