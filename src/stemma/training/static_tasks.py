"""What tasks put on static word vectors, as settings and as files; without torch, which counting words has no use for."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field, PositiveInt

from stemma.config import Settings
from stemma.files import write_json
from stemma.protocols import Encoder, HeadKind
from stemma.text.vectors import WordVectors, load_vectors

if TYPE_CHECKING:
    from torch import nn

__all__ = [
    "TASK_NETWORK",
    "StaticTaskSettings",
    "load_static_encoder",
    "load_static_tuned",
    "make_static_encoder",
    "save_task_settings",
]

TASK_NETWORK: Final = "task_network.json"


class StaticTaskSettings(Settings):
    """The network that a task puts on word vectors."""

    task_network: Literal["cbow", "bilstm"]  # means of vectors, or a BiLSTM with attention
    tune: Literal["frozen", "whole"]  # whether the vectors stay as they are
    task_size: PositiveInt  # of its hidden layer; a BiLSTM gives that much in each direction
    task_dropout: float = Field(ge=0, lt=1)  # of vectors, and of what the last layer is given
    task_learning_rate: float = Field(gt=0)  # its own, and not that of fine-tuning: all of it is new
    crf: bool  # whether tags are scored as a whole, not each by itself


def save_task_settings(settings: StaticTaskSettings, out: Path) -> None:
    """Write into a pretrained model's folder what network tasks are to put on it."""
    write_json(out / TASK_NETWORK, {name: getattr(settings, name) for name in StaticTaskSettings.model_fields})


def load_static_encoder(folder: Path) -> Encoder:
    """The word vectors of a pretrained model, for a task's network to be put on."""
    return make_static_encoder(folder, load_vectors(folder))


def make_static_encoder(folder: Path, vectors: WordVectors, files: Sequence[str] = ()) -> Encoder:
    """Word vectors for a task's network to be put on; `files` are those of the folder that they need besides their own."""
    from stemma.training.static_encoder import StaticEncoder  # two seconds of torch

    return StaticEncoder(folder, vectors, files)


def load_static_tuned(folder: Path, kind: HeadKind, vectors: WordVectors | None = None) -> "nn.Module":
    """What `StaticEncoder.save` wrote; with vectors other than those of the folder's own files, if they are given."""
    from stemma.training.static_encoder import load_network

    return load_network(folder, kind, load_vectors(folder) if vectors is None else vectors)
