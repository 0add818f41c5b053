"""ELMo's two language models (Peters et al. 2018, section 3.1): P(t_k | t_1 … t_k-1) and P(t_k | t_k+1 … t_N).

Both have LSTMs of their own, and share what a token's characters are made into and the softmax over all words. What the second
layer gives is added to what it was given. Direction 0 reads forwards, 1 backwards; either is given text in its own order of
reading, so that to the network there are only two texts. A sentence ends, for both, with the same event.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from pydantic import Field, PositiveInt
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from stemma.config import Settings
from stemma.errors import InputError
from stemma.families.elmo.characters import Characters, read_characters
from stemma.families.elmo.tokens import TokenEncoder
from stemma.files import atomic_path, read_json, write_json
from stemma.layers.dropout import dropped, masks_for
from stemma.layers.lstm import Lstm, State
from stemma.layers.word_loss import stretches, word_loss
from stemma.text.symbols import Symbols, read_symbols

__all__ = [
    "DIRECTIONS",
    "SHAPE_FILE",
    "Elmo",
    "NetworkSettings",
    "Reading",
    "build_network",
    "empty_network",
    "load_network",
    "save_network",
]

DIRECTIONS: Final = 2
_WEIGHTS: Final = "model.safetensors"
SHAPE_FILE: Final = "network.json"


class NetworkSettings(Settings):
    """The shape of the network."""

    max_characters: PositiveInt  # bytes of a token that are looked at
    character_size: PositiveInt
    filters: list[tuple[PositiveInt, PositiveInt]] = Field(min_length=1)  # the width of some filters, and how many
    highways: PositiveInt
    size: PositiveInt  # of a token's vector, and of what a layer gives in each direction
    cells: PositiveInt  # of an LSTM; if they are not `size`, what it gives is projected
    layers: PositiveInt
    dropout: float = Field(ge=0, lt=1)  # of what a layer is given, and the softmax


@dataclass(frozen=True)
class Reading:
    """What the network makes of a text."""

    layers: list[Tensor]  # (directions, length, rows, size) each: token vectors, then what every layer gives
    states: list[State]  # of every layer behind the text, without a gradient


class Elmo(nn.Module):
    """Two language models."""

    events: Tensor  # (ids,): the place of an id among what can be predicted, -1 for what can't

    def __init__(self, settings: NetworkSettings, symbols: Symbols, characters: Characters) -> None:
        super().__init__()
        flags = symbols.events
        self.register_buffer("events", torch.from_numpy(np.where(flags, np.cumsum(flags) - 1, -1)), persistent=False)
        size = settings.size
        self.tokens = TokenEncoder(
            characters, settings.character_size, settings.filters, settings.highways, settings.size
        )
        self.lstms = nn.ModuleList(Lstm(DIRECTIONS, size, settings.cells, size) for _ in range(settings.layers))
        self.dropout = nn.Dropout(settings.dropout)
        self.weight = nn.Parameter(torch.empty(int(flags.sum()), size))  # of the softmax
        self.bias = nn.Parameter(torch.zeros(len(self.weight)))
        nn.init.normal_(self.weight, std=1 / math.sqrt(size))

    def read(self, tokens: Tensor, places: Tensor, states: list[State] | None = None) -> Reading:
        """Read a text: its distinct tokens (tokens,), and which of them stands in each place (directions, length, rows)."""
        masks = masks_for(self.dropout)
        outputs = nn.functional.embedding(places, self.tokens(tokens))
        layers, behind = [outputs], []
        for number, lstm in enumerate(self.lstms):
            inputs = outputs
            outputs, state = lstm(dropped(inputs, masks), None if states is None else states[number])
            if number:
                outputs = outputs + inputs
            layers.append(outputs)
            behind.append(state)
        return Reading(layers, behind)

    def loss(self, reading: Reading, targets: Tensor) -> Tensor:
        """The mean of the nats of both directions' predictions (directions, length, rows), with a gradient."""
        features = dropped(reading.layers[-1], masks_for(self.dropout)).flatten(0, 2)
        return word_loss(features, self.weight, self.bias, self.events[targets.flatten()], 1 / targets.numel())

    def log_probabilities(self, features: Tensor) -> Tensor:
        """Of every event (predictions, events), from the last layer's outputs."""
        return torch.log_softmax(nn.functional.linear(features, self.weight, self.bias), dim=1)

    def nats(self, features: Tensor, targets: Tensor) -> Tensor:
        """Minus the log-probability of each target (predictions,)."""
        events = self.events[targets]
        parts = [
            self.log_probabilities(features[rows]).gather(1, events[rows, None])[:, 0]
            for rows in stretches(len(features), len(self.weight))
        ]
        return -torch.cat(parts)


def build_network(settings: NetworkSettings, tokenizer: Path, *, seed: int) -> Elmo:
    """A network for a tokenizer's ids, whose weights are drawn from `seed`."""
    symbols, characters = read_symbols(tokenizer), read_characters(tokenizer, settings.max_characters)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Elmo(settings, symbols, characters)


def save_network(network: Elmo, settings: NetworkSettings, out: Path) -> None:
    """Write the weights and the shape; what ids mean is the tokenizer's to say."""
    with atomic_path(out / _WEIGHTS) as temporary:
        save_file({name: tensor.contiguous() for name, tensor in network.state_dict().items()}, temporary)
    write_json(out / SHAPE_FILE, {name: getattr(settings, name) for name in NetworkSettings.model_fields})


def load_network(folder: Path) -> Elmo:
    """Read back what `save_network` wrote, with the tokenizer beside it."""
    network = empty_network(folder)
    network.load_state_dict(load_file(folder / _WEIGHTS))
    return network.eval()


def empty_network(folder: Path) -> Elmo:
    """A network of the shape that a folder says, for its tokenizer; its weights mean nothing yet."""
    if not (folder / SHAPE_FILE).is_file():
        raise InputError(f"{folder}: no ELMo here ({SHAPE_FILE} is missing); run its stage")
    settings = NetworkSettings.model_validate(read_json(folder / SHAPE_FILE))
    return Elmo(settings, read_symbols(folder), read_characters(folder, settings.max_characters))
