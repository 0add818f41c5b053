"""BERT's network and heads: `transformers`' modules, our losses, and folders that `from_pretrained` loads."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import tokenizers
import torch
import transformers
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from stemma.errors import InputError
from stemma.families.bert.forward import encode
from stemma.layers.dropout import dropped, masks_for
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
_SPECIAL_TOKENS: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_HEADS: Final[dict[HeadKind, str]] = {
    "classification": "BertForSequenceClassification",
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
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: nn.Module = _network_class("BertForPreTraining")(config)
    return network


def pretraining_loss(model: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The sum of both losses of the paper; words are predicted only where they are asked for.

    `columns` (rows, width) holds the columns of each row where anything is asked: [CLS] of its examples, hidden words.
    `firsts` and `asked` say which of them, laid end to end, are which; `labels` are the words. A pass that is only a part
    of a batch gets its share of the batch's loss: means are over `all_words` and `all_pairs`.
    """
    network: Any = model
    hidden = encode(network.bert, tensors).flatten(0, 1)  # (rows × width, size)
    head = network.cls.predictions
    features = head.transform(hidden.index_select(0, tensors["asked"]))  # (asked, size)
    pairs = hidden.index_select(0, tensors["firsts"])[:, None]
    order = network.cls.seq_relationship(network.bert.pooler(pairs))  # (pairs, 2)
    mlm = word_loss(features, head.decoder.weight, head.decoder.bias, tensors["labels"], 1 / int(tensors["all_words"]))
    nsp = cross_entropy(order, tensors["next_sentence_label"], reduction="sum") / tensors["all_pairs"]
    right = (order.detach().argmax(1) == tensors["next_sentence_label"]).sum() / tensors["all_pairs"]
    return {"loss": mlm + nsp, "mlm": mlm, "nsp": nsp, "nsp_accuracy": right}


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
            config.num_labels = len(labels)
            config.id2label = dict(enumerate(labels))
            config.label2id = {label: number for number, label in enumerate(labels)}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = _network_class(_HEADS[kind])(config)
        wanted = network.bert.state_dict().keys()  # not every head has use for the pooled [CLS]
        network.bert.load_state_dict(
            {name: tensor for name, tensor in self._network.state_dict().items() if name in wanted}
        )
        return _Logits(network)

    def save(self, model: nn.Module, out: Path) -> None:
        """Write a model made by `with_head` as `from_pretrained` reads it, with the tokenizer."""
        assert isinstance(model, _Logits)
        save_network(model.network, self._folder, out)


def load_encoder(folder: Path) -> BertEncoder:
    """Load what `pretrain` wrote."""
    return BertEncoder(folder)


def load_pretrained(folder: Path) -> nn.Module:
    """Load what `pretrain` wrote, with both pretraining heads."""
    network: nn.Module = _load("BertForPreTraining", folder)
    return network


def load_tuned(folder: Path, kind: HeadKind) -> nn.Module:
    """Load what `BertEncoder.save` wrote."""
    return _Logits(_load(_HEADS[kind], folder))


class _Logits(nn.Module):
    """A network of `transformers` whose forward is logits alone."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        network: Any = self.network
        tensors = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        if network.bert.pooler is not None:  # classification and choice look at [CLS] alone
            hidden = encode(network.bert, {**tensors, "columns": torch.zeros(len(input_ids), 1, dtype=torch.long)})
            logits = network.classifier(network.dropout(network.bert.pooler(hidden)))
        elif hasattr(network, "qa_outputs"):
            logits = network.qa_outputs(encode(network.bert, tensors))
        else:
            logits = network.classifier(dropped(encode(network.bert, tensors), masks_for(network.dropout)))
        result: Tensor = logits
        return result


def _load(name: str, folder: Path) -> Any:
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: no BERT model here (config.json is missing); run its stage")
    return _network_class(name).from_pretrained(folder, local_files_only=True)


def _network_class(name: str) -> Any:
    return getattr(transformers, name)  # importing a network takes seconds: only when one is made
