"""BERT's network: `transformers`' modules, our losses, and folders that `from_pretrained` loads."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from stemma.errors import InputError
from stemma.families.bert.forward import encode
from stemma.families.bert.tuned import TaskNetwork
from stemma.layers.word_loss import word_loss
from stemma.protocols import HeadKind
from stemma.text.vocabulary import load_tokenizer

__all__ = [
    "BertEncoder",
    "NetworkSettings",
    "build_network",
    "load_encoder",
    "load_pretrained",
    "load_tuned",
    "pretraining_loss",
    "read_tokenizer",
    "save_network",
    "token_id",
]

_TOKENIZER_FILES: Final = ("tokenizer.json", "tokenizer_config.json")
_BILSTM_FILE: Final = "bilstm.safetensors"
_MIX: Final = "mix."  # of names in it
_SPECIAL_TOKENS: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_HEADS: Final[dict[HeadKind, str]] = {
    "classification": "BertForSequenceClassification",
    "regression": "BertForSequenceClassification",
    "span": "BertForQuestionAnswering",
    "tagging": "BertForTokenClassification",
    "choice": "BertForMultipleChoice",
}


class NetworkSettings(Protocol):
    """The settings that the network's shape depends on."""

    @property
    def layers(self) -> int:
        """How many blocks."""

    @property
    def hidden_size(self) -> int:
        """The size of a token's vector."""

    @property
    def heads(self) -> int:
        """How many attention heads a block has."""

    @property
    def intermediate_size(self) -> int:
        """The width of a block's feed-forward part."""

    @property
    def dropout(self) -> float:
        """The share of activations and of attention weights that are dropped."""

    @property
    def max_length(self) -> int:
        """How many positions there are."""

    @property
    def direction(self) -> str:
        """Whether a token sees `both` sides, or from `left-to-right`."""

    @property
    def bilstm(self) -> bool:
        """Whether tasks put a BiLSTM below their head."""

    @property
    def features(self) -> str:
        """What of the encoder's layers the BiLSTM reads."""

    @property
    def tune(self) -> str:
        """Whether tasks change the `whole` network, or leave the encoder `frozen`."""

    @property
    def task_learning_rate(self) -> float:
        """What tasks on a frozen encoder are learned at."""


def read_tokenizer(folder: Path) -> tokenizers.Tokenizer:
    """Read a tokenizer that has BERT's special tokens; a text's words that look like them are words to it."""
    tokenizer = load_tokenizer(folder)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    missing = [token for token in _SPECIAL_TOKENS if tokenizer.token_to_id(token) is None]
    if missing:
        raise InputError(f"{folder / _TOKENIZER_FILES[0]}: BERT needs {', '.join(missing)} in the vocabulary")
    return tokenizer


def token_id(tokenizer: tokenizers.Tokenizer, token: str) -> int:
    """The id of a token that is there."""
    id_: int | None = tokenizer.token_to_id(token)
    assert id_ is not None
    return id_


def build_network(settings: NetworkSettings, tokenizer: tokenizers.Tokenizer, *, seed: int) -> nn.Module:
    """A network with both pretraining heads, its weights drawn from `seed`."""
    config = transformers.BertConfig(
        vocab_size=max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1,
        num_hidden_layers=settings.layers,
        hidden_size=settings.hidden_size,
        num_attention_heads=settings.heads,
        intermediate_size=settings.intermediate_size,
        hidden_dropout_prob=settings.dropout,
        attention_probs_dropout_prob=settings.dropout,
        max_position_embeddings=settings.max_length,
        pad_token_id=token_id(tokenizer, "[PAD]"),
        is_decoder=settings.direction == "left-to-right",
        use_cache=False,
    )
    config.bilstm = settings.bilstm  # these four are for `TaskNetwork`; `transformers` keeps what it does not know
    config.features = settings.features
    config.tune = settings.tune
    config.task_learning_rate = settings.task_learning_rate
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: nn.Module = _network_class("BertForPreTraining")(config)
    return network


def pretraining_loss(model: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The sum of both losses of the paper, or that of words alone; words are predicted only where they are asked for.

    `columns` (rows, width) holds the columns of each row where anything is asked: [CLS] of its examples, hidden words.
    `firsts` and `asked` say which of them, laid end to end, are which; `labels` are the words. Without `firsts` there is no
    next-sentence prediction. A pass that is only a part of a batch gets its share of the batch's loss: means are over
    `all_words` and `all_pairs`.
    """
    network: Any = model
    hidden = encode(network.bert, tensors).flatten(0, 1)  # (rows × width, size)
    head = network.cls.predictions
    features = head.transform(hidden.index_select(0, tensors["asked"]))  # (asked, size)
    share = 1 / int(tensors["all_words"])
    words = word_loss(features, head.decoder.weight, head.decoder.bias, tensors["labels"], share)
    losses = {"loss": words, "lm" if network.config.is_decoder else "mlm": words}
    if "firsts" not in tensors:
        return losses
    pairs = hidden.index_select(0, tensors["firsts"])[:, None]
    order = network.cls.seq_relationship(network.bert.pooler(pairs))  # (pairs, 2)
    nsp = cross_entropy(order, tensors["next_sentence_label"], reduction="sum") / tensors["all_pairs"]
    right = (order.detach().argmax(1) == tensors["next_sentence_label"]).sum() / tensors["all_pairs"]
    return {**losses, "loss": words + nsp, "nsp": nsp, "nsp_accuracy": right}


def save_network(network: nn.Module, tokenizer: Path, out: Path) -> None:
    """Write weights and configuration as `from_pretrained` reads them, with a copy of the tokenizer's files."""
    model: Any = network
    model.save_pretrained(out)
    for name in _TOKENIZER_FILES:
        if (tokenizer / name).is_file():
            shutil.copyfile(tokenizer / name, out / name)


class BertEncoder:
    """A pretrained BERT for a task's head to be put on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tokenizer = read_tokenizer(folder)
        pretrained: Any = load_pretrained(folder)
        self._network = pretrained.bert
        self.max_length = int(self._network.config.max_position_embeddings)

    @property
    def learning_rate(self) -> float | None:
        """A rate of its own where the encoder is frozen, so that all that is trained is new."""
        config = self._network.config
        return getattr(config, "task_learning_rate", None) if getattr(config, "tune", "whole") == "frozen" else None

    def with_head(
        self,
        kind: HeadKind,
        labels: Sequence[str],
        *,
        seed: int,
        symmetric: bool = False,  # noqa: ARG002 - it sees both texts at once, in one order as well as in the other
    ) -> nn.Module:
        """A fresh copy with a new head, drawn from `seed`."""
        config = transformers.BertConfig.from_pretrained(self._folder)
        if kind != "span":
            names = ["score"] if kind == "regression" else labels
            config.num_labels = len(names)
            config.id2label = dict(enumerate(names))
            config.label2id = {name: number for number, name in enumerate(names)}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = TaskNetwork(_network_class(_HEADS[kind])(config))
        encoder: Any = network.network.bert
        wanted = encoder.state_dict().keys()  # not every head has use for the pooled [CLS]
        encoder.load_state_dict({name: tensor for name, tensor in self._network.state_dict().items() if name in wanted})
        return network

    def save(self, model: nn.Module, out: Path) -> None:
        """Write a model made by `with_head` as `from_pretrained` reads it, with the tokenizer."""
        assert isinstance(model, TaskNetwork)
        save_network(model.network, self._folder, out)
        if model.bilstm is not None:
            mix = {} if model.mix is None else model.mix.state_dict()
            mixed = {f"{_MIX}{name}": tensor for name, tensor in mix.items()}
            save_file({**model.bilstm.state_dict(), **mixed}, out / _BILSTM_FILE)


def load_encoder(folder: Path) -> BertEncoder:
    """Load what `pretrain` wrote."""
    return BertEncoder(folder)


def load_pretrained(folder: Path) -> nn.Module:
    """Load what `pretrain` wrote, with both pretraining heads."""
    network: nn.Module = _load("BertForPreTraining", folder)
    return network


def load_tuned(folder: Path, kind: HeadKind) -> nn.Module:
    """Load what `BertEncoder.save` wrote."""
    with torch.random.fork_rng(devices=[]):  # what a module draws at first is not kept
        network = TaskNetwork(_load(_HEADS[kind], folder))
    if network.bilstm is not None:
        weights = load_file(folder / _BILSTM_FILE)
        mixed = {name: weights.pop(name) for name in list(weights) if name.startswith(_MIX)}
        network.bilstm.load_state_dict(weights)
        if network.mix is not None:
            network.mix.load_state_dict({name.removeprefix(_MIX): tensor for name, tensor in mixed.items()})
    return network


def _load(name: str, folder: Path) -> Any:
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: no BERT model here (config.json is missing); run its stage")
    return _network_class(name).from_pretrained(folder, local_files_only=True)


def _network_class(name: str) -> Any:
    return getattr(transformers, name)  # importing a network takes seconds: only when one is made
