"""GPT's network: `transformers`' modules, our loss, and folders that `from_pretrained` loads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import torch
import transformers
from torch import Tensor, nn

from stemma.errors import InputError
from stemma.families.gpt.forward import encode
from stemma.layers.word_loss import stretches, word_loss
from stemma.text.symbols import Symbols

__all__ = [
    "NetworkSettings",
    "build_network",
    "dropout_of",
    "hidden_states",
    "load_network",
    "log_probabilities",
    "nats",
    "num_positions",
    "save_network",
    "text_loss",
    "word_vectors",
]

_PADDING: Final = 0  # [PAD] of every tokenizer here


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
    def dropout(self) -> float:
        """The share of activations and of attention weights that are dropped."""

    @property
    def max_length(self) -> int:
        """How many positions there are."""


def build_network(settings: NetworkSettings, symbols: Symbols, *, seed: int) -> nn.Module:
    """A network that predicts the next token, its weights drawn from `seed`."""
    config = transformers.OpenAIGPTConfig(
        vocab_size=symbols.size,
        n_layer=settings.layers,
        n_embd=settings.hidden_size,
        n_head=settings.heads,
        n_positions=settings.max_length,
        embd_pdrop=settings.dropout,
        attn_pdrop=settings.dropout,
        resid_pdrop=settings.dropout,
        pad_token_id=_PADDING,
        bos_token_id=symbols.begin,
        eos_token_id=symbols.end,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: nn.Module = _network_class()(config)
    return network


def hidden_states(model: nn.Module, ids: Tensor, inside: Tensor | None = None) -> Tensor:
    """h_n (rows, width, size) of tokens (rows, width); `inside` is 0 where padding stands, on either side."""
    network: Any = model
    return encode(network.transformer, ids, inside)


def word_vectors(model: nn.Module) -> Tensor:
    """W_e (tokens, size): what tokens come in as, and what they are predicted by."""
    network: Any = model
    weight: Tensor = network.transformer.tokens_embed.weight
    return weight


def dropout_of(model: nn.Module) -> nn.Dropout:
    """The module that says how much is dropped, and whether it is in training."""
    network: Any = model
    dropout: nn.Dropout = network.transformer.drop
    return dropout


def num_positions(model: nn.Module) -> int:
    """How many tokens it reads at once."""
    network: Any = model
    return int(network.config.n_positions)


def text_loss(model: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The mean of the nats of a batch's predictions, one behind every token.

    `input_ids` (rows, width) go in; `words` are what follows, laid end to end. Where not everything is asked for, `asked`
    says which of all tokens are. A pass that is only a part of a batch gets its share: the mean is over `all_words`.
    """
    features = hidden_states(model, tensors["input_ids"]).flatten(0, 1)  # (rows × width, size)
    if "asked" in tensors:
        features = features.index_select(0, tensors["asked"])
    return {"loss": word_loss(features, word_vectors(model), None, tensors["words"], 1 / int(tensors["all_words"]))}


def log_probabilities(model: nn.Module, features: Tensor) -> Tensor:
    """The logarithm of softmax(h_n W_e^T): of every token of the vocabulary, behind each hidden state."""
    return torch.log_softmax(features @ word_vectors(model).t(), dim=-1)


def nats(model: nn.Module, features: Tensor, words: Tensor) -> Tensor:
    """Minus the log-probability of each word behind its hidden state (predictions, size), some at a time."""
    parts = [
        log_probabilities(model, features[rows]).gather(1, words[rows, None])[:, 0]
        for rows in stretches(len(features), len(word_vectors(model)))
    ]
    return -torch.cat(parts)


def save_network(network: nn.Module, out: Path) -> None:
    """Write weights and configuration as `from_pretrained` reads them; the tokenizer is the stage's to add."""
    model: Any = network
    model.save_pretrained(out)


def load_network(folder: Path) -> nn.Module:
    """Read back what `save_network` wrote."""
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: no GPT model here (config.json is missing); run its stage")
    network: nn.Module = _network_class().from_pretrained(folder, local_files_only=True)
    return network.eval()


def _network_class() -> Any:
    return transformers.OpenAIGPTLMHeadModel  # importing a network takes seconds: only when one is made
