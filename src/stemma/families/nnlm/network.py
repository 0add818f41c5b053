"""The network of Bengio et al. (2003), section 2: y = b + W x + U tanh(d + H x), where x is the context's word vectors.

The look-up table C has a row an id, `<s>` among them; the scores y are of the events alone, so that probabilities sum to 1
over what can be predicted. W, the direct connection, is optional. U, W and b are one matrix [U W b], which [tanh(d + H x), x, 1]
is multiplied by: the same sums in one product.
"""

import math
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field, PositiveInt, model_validator
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from stemma.config import Settings
from stemma.errors import InputError
from stemma.families.nnlm.output import Adaptive, Full
from stemma.families.nnlm.windows import Windows
from stemma.files import atomic_path, read_json, write_json
from stemma.layers.dropout import dropped, masks_for
from stemma.text.symbols import Symbols, read_symbols

__all__ = ["NetworkSettings", "NeuralModel", "build_network", "load_network", "save_network"]

_WEIGHTS: Final = "model.safetensors"
_SHAPE: Final = "network.json"
_AT_ONCE: Final = 4096  # predictions that are scored together


class NetworkSettings(Settings):
    """The shape of the network."""

    context: PositiveInt  # words before a word that are looked at: n - 1 of the paper
    size: PositiveInt  # of a word's vector: m
    hidden_size: PositiveInt  # h
    direct: bool  # whether there is a direct connection W
    softmax: Literal["full", "adaptive"]
    cutoffs: list[PositiveInt]  # for adaptive: how many frequent words come before each class of rare ones
    dropout: float = Field(ge=0, lt=1)  # of vectors and hidden layer

    @model_validator(mode="after")
    def _cutoffs_rise(self) -> "NetworkSettings":
        if self.softmax == "adaptive" and (not self.cutoffs or sorted(set(self.cutoffs)) != self.cutoffs):
            raise ValueError("cutoffs: give one or more rising numbers of words, or use softmax: full")
        return self


class NeuralModel(nn.Module):
    """Words to the probability of the next."""

    events: Tensor  # (ids,): the place of an id among what can be predicted, -1 for what can't

    def __init__(self, settings: NetworkSettings, symbols: Symbols) -> None:
        super().__init__()
        flags = symbols.events
        self.register_buffer("events", torch.from_numpy(np.where(flags, np.cumsum(flags) - 1, -1)), persistent=False)
        self.context = settings.context
        width, hidden = settings.context * settings.size, settings.hidden_size
        self.vectors = nn.Parameter(torch.empty(symbols.size, settings.size))  # C
        self.hidden = nn.Linear(width, hidden)  # H and d
        self.direct, self.dropout = settings.direct, nn.Dropout(settings.dropout)
        num_features, num_events = hidden + width * settings.direct + 1, int(flags.sum())
        self.output: Full | Adaptive = (
            Full(num_features, num_events)
            if settings.softmax == "full"
            else Adaptive(num_features, num_events, settings.cutoffs)
        )
        nn.init.normal_(self.vectors, std=1 / math.sqrt(settings.size))

    def features(self, contexts: Tensor) -> Tensor:
        """What the last layer gets for each context (predictions, context): tanh(d + H x), x if it is direct, and 1."""
        masks = masks_for(self.dropout)
        x = nn.functional.embedding(contexts, self.vectors).flatten(1)  # (predictions, context × size)
        x = dropped(x, masks)
        hidden = dropped(torch.tanh(self.hidden(x)), masks)
        return torch.cat([hidden, *([x] if self.direct else []), x.new_ones(len(x), 1)], dim=1)

    def loss(self, windows: Tensor, share: float) -> Tensor:
        """`share` of the nats of all predictions; a window (context + 1) is a context and the word that follows."""
        return self.output.loss(self.features(windows[:, :-1]), self.events[windows[:, -1]], share)

    def nats(self, windows: Tensor) -> Tensor:
        """Minus the log-probability of the last word of each window."""
        return self.output.nats(self.features(windows[:, :-1]), self.events[windows[:, -1]])

    def surprise(self, windows: Windows) -> npt.NDArray[np.float64]:
        """Minus the log-probabilities of many windows, some at a time and without a gradient."""
        parts = [
            self.nats(torch.from_numpy(windows[start : start + _AT_ONCE])).double().numpy()
            for start in range(0, len(windows), _AT_ONCE)
        ]
        return np.concatenate(parts)

    def log_probabilities(self, contexts: Tensor) -> Tensor:
        """Of all events after each context (predictions, events)."""
        return self.output.log_probabilities(self.features(contexts))


def build_network(settings: NetworkSettings, symbols: Symbols, *, seed: int) -> NeuralModel:
    """A network whose weights are drawn from `seed`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return NeuralModel(settings, symbols)


def save_network(network: NeuralModel, settings: NetworkSettings, out: Path) -> None:
    """Write the weights and the shape; what ids mean is the tokenizer's to say."""
    with atomic_path(out / _WEIGHTS) as temporary:
        save_file({name: tensor.contiguous() for name, tensor in network.state_dict().items()}, temporary)
    write_json(out / _SHAPE, {name: getattr(settings, name) for name in NetworkSettings.model_fields})


def load_network(folder: Path) -> NeuralModel:
    """Read back what `save_network` wrote, with the tokenizer beside it."""
    if not (folder / _SHAPE).is_file():
        raise InputError(f"{folder}: no neural language model here ({_SHAPE} is missing); run its stage")
    settings = NetworkSettings.model_validate(read_json(folder / _SHAPE))
    network = NeuralModel(settings, read_symbols(folder))
    network.load_state_dict(load_file(folder / _WEIGHTS))
    return network.eval()
