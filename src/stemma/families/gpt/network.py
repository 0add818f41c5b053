"""GPT's network: `transformers`' modules or an LSTM, our loss, and folders that `from_pretrained` loads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import torch
import transformers
from pydantic import Field, PositiveInt, model_validator
from torch import Tensor, nn

from stemma.config import Settings
from stemma.errors import InputError
from stemma.families.gpt.forward import Cache, encode, extend
from stemma.families.gpt.lstm import LstmModel, LstmShape, Memory
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
    "read_on",
    "save_network",
    "text_loss",
    "with_more_tokens",
    "word_vectors",
]

_PADDING: Final = 0  # [PAD] of every tokenizer here


class NetworkSettings(Settings):
    """The shape of the network."""

    block: Literal["transformer", "lstm"]
    layers: PositiveInt
    hidden_size: PositiveInt
    heads: PositiveInt  # of a Transformer's block
    dropout: float = Field(ge=0, lt=1)
    max_length: int = Field(ge=8)  # tokens

    @model_validator(mode="after")
    def _sizes_fit(self) -> "NetworkSettings":
        if self.hidden_size % self.heads:
            raise ValueError(f"hidden_size {self.hidden_size} is not a multiple of heads {self.heads}")
        return self


def build_network(settings: NetworkSettings, symbols: Symbols, *, seed: int) -> nn.Module:
    """A network that predicts the next token, its weights drawn from `seed`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _lstm(settings, symbols) if settings.block == "lstm" else _transformer(settings, symbols)


def _transformer(settings: NetworkSettings, symbols: Symbols) -> nn.Module:
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
    network: nn.Module = _network_class()(config)
    return network


def _lstm(settings: NetworkSettings, symbols: Symbols) -> LstmModel:
    return LstmModel(
        LstmShape(
            vocabulary_size=symbols.size,
            layers=settings.layers,
            size=settings.hidden_size,
            dropout=settings.dropout,
            max_length=settings.max_length,
        )
    )


def hidden_states(model: nn.Module, ids: Tensor, inside: Tensor | None = None) -> Tensor:
    """h_n (rows, width, size) of tokens (rows, width); `inside` is 0 where padding stands, on either side."""
    if isinstance(model, LstmModel):
        return model.encode(ids, inside)
    return encode(_body(model), ids, inside)


def read_on(model: nn.Module, ids: Tensor, read: Cache | Memory | None) -> tuple[Tensor, Cache | Memory]:
    """h_n (rows, new, size) of tokens that follow those that were read, and what is kept of all of them."""
    if isinstance(model, LstmModel):
        assert not isinstance(read, Cache)
        return model.read_on(ids, read)
    assert not isinstance(read, Memory)
    cache = read or Cache()
    return extend(_body(model), ids, cache), cache


def word_vectors(model: nn.Module) -> Tensor:
    """W_e (tokens, size): what tokens come in as, and what they are predicted by."""
    weight: Tensor = _body(model).tokens_embed.weight
    return weight


def dropout_of(model: nn.Module) -> nn.Dropout:
    """The module that says how much is dropped, and whether it is in training."""
    dropout: nn.Dropout = _body(model).drop
    return dropout


def num_positions(model: nn.Module) -> int:
    """How many tokens it reads at once."""
    if isinstance(model, LstmModel):
        return model.shape.max_length
    network: Any = model
    return int(network.config.n_positions)


def with_more_tokens(model: nn.Module, count: int) -> nn.Module:
    """The network with so many more vectors, which are drawn."""
    if isinstance(model, LstmModel):
        return model.with_more_tokens(count)
    network: Any = model
    network.resize_token_embeddings(len(word_vectors(model)) + count, mean_resizing=False)
    return model


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


def save_network(model: nn.Module, out: Path) -> None:
    """Write weights and configuration, a Transformer's as `from_pretrained` reads them; the tokenizer is the stage's to add."""
    if isinstance(model, LstmModel):
        model.save(out)
        return
    network: Any = model
    network.save_pretrained(out)


def load_network(folder: Path) -> nn.Module:
    """Read back what `save_network` wrote."""
    lstm = LstmModel.load(folder)
    if lstm is not None:
        return lstm.eval()
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: no GPT model here (config.json is missing); run its stage")
    network: nn.Module = _network_class().from_pretrained(folder, local_files_only=True)
    return network.eval()


def _body(model: nn.Module) -> Any:
    """What has the vectors and the blocks."""
    network: Any = model
    return model if isinstance(model, LstmModel) else network.transformer


def _network_class() -> Any:
    return transformers.OpenAIGPTLMHeadModel  # importing a network takes seconds: only when one is made
