"""Static word vectors with a task's network on them: one word, one vector, whatever stands around it."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from stemma.errors import InputError
from stemma.files import atomic_path, read_json, write_json, write_text
from stemma.layers.crf import CrfTagger
from stemma.layers.word_networks import Asked, WordNetwork
from stemma.layers.word_table import WordTable, open_vocabulary, tokens_of
from stemma.protocols import HeadKind
from stemma.text.vectors import MATRIX, WORDS, WordVectors
from stemma.text.vocabulary import load_tokenizer
from stemma.training.static_tasks import TASK_NETWORK, StaticTaskSettings

__all__ = ["StaticEncoder", "load_network"]

_WEIGHTS: Final = "model.safetensors"
_HEAD: Final = "head.json"
_TOKENIZER: Final = "tokenizer.json"
_FILES: Final = (MATRIX, WORDS, TASK_NETWORK, "tokenizer_config.json")


class StaticEncoder:
    """Pretrained word vectors for a task's network to be put on."""

    max_length = sys.maxsize  # it has no positions

    def __init__(self, folder: Path, vectors: WordVectors, files: Sequence[str] = ()) -> None:
        self._folder, self._vectors, self._files = folder, vectors, (*_FILES, *files)
        self._settings = _read_settings(folder)
        self.learning_rate = self._settings.task_learning_rate
        self.tokenizer = load_tokenizer(folder)
        if vectors.compose is not None:
            open_vocabulary(self.tokenizer)
        self._tokens = tokens_of(self.tokenizer)

    def with_head(self, kind: HeadKind, labels: Sequence[str], *, seed: int, symmetric: bool = False) -> nn.Module:
        """The vectors with a task's network on them, drawn from `seed`."""
        asked = Asked(kind=kind, labels=list(labels), symmetric=symmetric)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return _build(self._vectors, self._tokens, self._settings, asked)

    def save(self, model: nn.Module, out: Path) -> None:
        """Write a model made by `with_head`, with the vectors as they were pretrained and the tokenizer."""
        network = model.network if isinstance(model, CrfTagger) else model
        assert isinstance(network, WordNetwork)
        with atomic_path(out / _WEIGHTS) as temporary:
            save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, temporary)
        for name in self._files:
            shutil.copyfile(self._folder / name, out / name)
        tokenizer = load_tokenizer(self._folder, segmented=True)
        if self._vectors.compose is not None:
            open_vocabulary(tokenizer)
        write_text(out / _TOKENIZER, tokenizer.to_str(pretty=True) + "\n")
        asked = network.asked
        write_json(out / _HEAD, {"kind": asked.kind, "labels": list(asked.labels), "symmetric": asked.symmetric})


def load_network(folder: Path, kind: HeadKind, vectors: WordVectors) -> nn.Module:
    """Read back what `StaticEncoder.save` wrote."""
    if not (folder / _HEAD).is_file():
        raise InputError(f"{folder}: no task's network on word vectors here ({_HEAD} is missing); run its stage")
    asked = Asked(**read_json(folder / _HEAD))
    if asked.kind != kind:
        raise InputError(f"{folder / _HEAD}: tuned for {asked.kind}, not for {kind}")
    tokens = tokens_of(load_tokenizer(folder, segmented=True))
    model = _build(vectors, tokens, _read_settings(folder), asked)
    model.load_state_dict(load_file(folder / _WEIGHTS))
    return model


def _build(vectors: WordVectors, tokens: Sequence[str], settings: StaticTaskSettings, asked: Asked) -> nn.Module:
    network = WordNetwork(WordTable(vectors, tokens, tuned=settings.tune == "whole"), settings, asked)
    return CrfTagger(network, asked.labels) if settings.crf and asked.kind == "tagging" else network


def _read_settings(folder: Path) -> StaticTaskSettings:
    if not (folder / TASK_NETWORK).is_file():
        raise InputError(f"{folder / TASK_NETWORK}: no such file; run the stage `pretrain` again")
    return StaticTaskSettings.model_validate(read_json(folder / TASK_NETWORK))
