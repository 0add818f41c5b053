"""ELMo as the features of a task's network (Peters et al. 2018, sections 3.2 and 3.3).

A token's features are γ Σ_j s_j h_j: the layers, from the token's own vector up, weighted by a softmax and scaled; weights and
scale are the task's to learn. The language models themselves stay as they are (`frozen`), or are tuned with the rest (`whole`).
The task's network is a bidirectional LSTM; labels of tokens are read from its outputs, that of a text from the largest value of
each. Either direction reads padding last, so that it changes nothing.
"""

import copy
import math
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import torch
from pydantic import Field, PositiveInt
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from stemma.config import Settings
from stemma.families.elmo.network import DIRECTIONS, SHAPE_FILE, Elmo, empty_network, load_network
from stemma.files import atomic_path, read_json, write_json
from stemma.layers.crf import CrfTagger
from stemma.layers.dropout import dropped, masks_for
from stemma.layers.lstm import Lstm, Turn, read_both_ways
from stemma.layers.scalar_mix import ScalarMix
from stemma.protocols import HeadKind
from stemma.text.vocabulary import load_tokenizer

__all__ = [
    "ElmoEncoder",
    "TaskNetwork",
    "TaskSettings",
    "load_encoder",
    "load_tuned",
    "read_layers",
    "save_task_settings",
]

_TASK_NETWORK: Final = "task_network.json"
_LABELS: Final = "labels.json"
_WEIGHTS: Final = "model.safetensors"
_PER_TOKEN: Final[tuple[HeadKind, ...]] = ("span", "tagging")
_TOKENIZER_FILES: Final = ("tokenizer.json", "tokenizer_config.json")
_NUM_TYPES: Final = 2  # of tokens: those of a first and of a second text


class TaskSettings(Settings):
    """The network that a task puts on ELMo."""

    tune: Literal["frozen", "whole"]  # whether the language models stay as they are
    task_size: PositiveInt  # what its LSTM gives in each direction
    task_dropout: float = Field(ge=0, lt=1)  # of features, and of what the last layer is given
    task_learning_rate: float = Field(gt=0)  # its own, and not that of fine-tuning: all of it is new
    crf: bool  # whether tags are scored as a whole, not each by itself


class TaskNetwork(nn.Module):
    """ELMo with a network of a task on it; its forward is logits: a row an input, or a row a token."""

    def __init__(self, elmo: Elmo, settings: TaskSettings, kind: HeadKind, labels: Sequence[str]) -> None:
        super().__init__()
        self.elmo, self.labels, self._frozen = elmo, list(labels), settings.tune == "frozen"
        self._per_token = kind in _PER_TOKEN
        elmo.requires_grad_(not self._frozen)
        size = DIRECTIONS * elmo.weight.shape[1]
        self.mix = ScalarMix(len(elmo.lstms) + 1)
        self.types = nn.Parameter(torch.zeros(_NUM_TYPES, size))
        self.lstm = Lstm(DIRECTIONS, size, settings.task_size, settings.task_size)
        self.dropout = nn.Dropout(settings.task_dropout)
        num_scores = {"span": 2, "choice": 1, "regression": 1}.get(kind, len(labels))
        self.output = nn.Linear(DIRECTIONS * settings.task_size, num_scores)

    def train(self, mode: bool = True) -> "TaskNetwork":
        """Train the task's network; frozen language models drop nothing."""
        super().train(mode)
        if self._frozen:
            self.elmo.eval()
        return self

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Logits (rows, outputs), or (rows, length, outputs)."""
        turn = Turn(attention_mask.sum(1), input_ids.shape[1])
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self._frozen):
            layers = read_layers(self.elmo, input_ids.t(), turn)
        masks = masks_for(self.dropout)
        features = self.mix(layers) + nn.functional.embedding(token_type_ids.t(), self.types)
        features = dropped(features, masks)
        found = read_both_ways(self.lstm, features, turn)
        if not self._per_token:
            found = found.masked_fill(attention_mask[:, :, None] == 0, -math.inf).amax(1)
        logits: Tensor = self.output(dropped(found, masks))
        return logits


def read_layers(elmo: Elmo, ids: Tensor, turn: Turn) -> list[Tensor]:
    """What ELMo makes of texts (length, rows): for each layer both directions side by side (length, rows, 2 × size)."""
    tokens, places = torch.unique(torch.stack([ids, turn(ids)]), return_inverse=True)
    layers = elmo.read(tokens, places).layers
    return [torch.cat([layer[0], turn(layer[1])], dim=2) for layer in layers]


class ElmoEncoder:
    """A pretrained ELMo for a task's network to be put on."""

    max_length = sys.maxsize  # it has no positions

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tokenizer = load_tokenizer(folder)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self._network = load_network(folder)
        self._settings = TaskSettings.model_validate(read_json(folder / _TASK_NETWORK))
        self.learning_rate = self._settings.task_learning_rate

    def with_head(
        self,
        kind: HeadKind,
        labels: Sequence[str],
        *,
        seed: int,
        symmetric: bool = False,  # noqa: ARG002 - it reads both texts from either side
    ) -> nn.Module:
        """A fresh copy with a task's network, drawn from `seed`."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return _build(copy.deepcopy(self._network), self._settings, kind, labels)

    def save(self, model: nn.Module, out: Path) -> None:
        """Write a model made by `with_head`, with its shape and the tokenizer."""
        network = model.network if isinstance(model, CrfTagger) else model
        assert isinstance(network, TaskNetwork)
        with atomic_path(out / _WEIGHTS) as temporary:
            save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, temporary)
        for name in (SHAPE_FILE, _TASK_NETWORK, *_TOKENIZER_FILES):
            shutil.copyfile(self._folder / name, out / name)
        write_json(out / _LABELS, network.labels)


def load_encoder(folder: Path) -> ElmoEncoder:
    """Load what `pretrain` wrote."""
    return ElmoEncoder(folder)


def load_tuned(folder: Path, kind: HeadKind) -> nn.Module:
    """Load what `ElmoEncoder.save` wrote."""
    settings = TaskSettings.model_validate(read_json(folder / _TASK_NETWORK))
    model = _build(empty_network(folder), settings, kind, read_json(folder / _LABELS))
    model.load_state_dict(load_file(folder / _WEIGHTS))
    return model


def _build(elmo: Elmo, settings: TaskSettings, kind: HeadKind, labels: Sequence[str]) -> nn.Module:
    network = TaskNetwork(elmo, settings, kind, labels)
    return CrfTagger(network, labels) if settings.crf and kind == "tagging" else network


def save_task_settings(settings: TaskSettings, out: Path) -> None:
    """Write into a pretrained model's folder what network tasks are to put on it."""
    write_json(out / _TASK_NETWORK, {name: getattr(settings, name) for name in TaskSettings.model_fields})
