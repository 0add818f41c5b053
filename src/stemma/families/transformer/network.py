"""The encoder-decoder of "Attention is all you need" (Vaswani et al. 2017).

As in the paper: normalisation after each residual sum, none at the end of a stack; one matrix for the vectors of source and
target and for the scores of words; vectors times the root of their size, plus sinusoids; dropout on these sums and on what
every sub-layer gives. Left out on purpose: the mean of the last checkpoints' weights.
"""

import math
from pathlib import Path
from typing import Any, Final

import torch
from pydantic import Field, PositiveInt, model_validator
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from stemma.config import Settings
from stemma.errors import InputError
from stemma.files import atomic_path, read_json, write_json
from stemma.layers.attention import attend
from stemma.layers.dropout import Masks, add_dropped, dropped, masks_for
from stemma.layers.positions import sinusoids
from stemma.layers.word_loss import word_loss

__all__ = ["Decoding", "NetworkSettings", "Transformer", "build_network", "load_network", "save_network"]

_WEIGHTS: Final = "model.safetensors"
_SHAPE: Final = "network.json"
_POSITIONS: Final = 256  # that are at hand; those of a longer sentence are computed


class NetworkSettings(Settings):
    """The shape of the network."""

    layers: PositiveInt  # of the encoder, and as many of the decoder
    hidden_size: PositiveInt
    heads: PositiveInt
    intermediate_size: PositiveInt
    dropout: float = Field(ge=0, lt=1)

    @model_validator(mode="after")
    def _heads_fit(self) -> "NetworkSettings":
        if self.hidden_size % self.heads:
            raise ValueError(f"hidden_size {self.hidden_size} is not a multiple of heads {self.heads}")
        return self


class _Attention(nn.Module):
    """Multi-head attention: some tokens ask, others answer."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.size = size // heads
        self.query, self.key_value, self.output = (
            nn.Linear(size, size),
            nn.Linear(size, 2 * size),
            nn.Linear(size, size),
        )

    def answers(self, hidden: Tensor) -> Tensor:
        """Keys and values (rows, width, 2, heads, size of a head) of tokens (rows, width, size)."""
        both: Tensor = self.key_value(hidden).view(*hidden.shape[:2], 2, -1, self.size)
        return both

    def forward(self, asking: Tensor, answers: Tensor, bias: Tensor | None) -> Tensor:
        """What tokens (rows, width, size) find; `bias` is added to scores."""
        query = self.query(asking).mul(self.size**-0.5).unflatten(2, (-1, self.size))
        found: Tensor = self.output(attend(query, answers, bias, None))
        return found


class _FeedForward(nn.Sequential):
    """max(0, x W1 + b1) W2 + b2, at every token alike."""

    def __init__(self, size: int, inner: int) -> None:
        super().__init__(nn.Linear(size, inner), nn.ReLU(), nn.Linear(inner, size))


class _EncoderBlock(nn.Module):
    """Every token looks at all of its sentence."""

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__()
        size = settings.hidden_size
        self.attention, self.attention_norm = _Attention(size, settings.heads), nn.LayerNorm(size)
        self.feed_forward, self.norm = _FeedForward(size, settings.intermediate_size), nn.LayerNorm(size)

    def forward(self, hidden: Tensor, bias: Tensor, masks: Masks | None) -> Tensor:
        """The next hidden states."""
        found = self.attention(hidden, self.attention.answers(hidden), bias)
        hidden = self.attention_norm(add_dropped(hidden, found, masks))
        result: Tensor = self.norm(add_dropped(hidden, self.feed_forward(hidden), masks))
        return result


class _DecoderBlock(nn.Module):
    """Every token looks at those before it and itself, then at all of the source."""

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__()
        size = settings.hidden_size
        self.attention, self.attention_norm = _Attention(size, settings.heads), nn.LayerNorm(size)
        self.source, self.source_norm = _Attention(size, settings.heads), nn.LayerNorm(size)
        self.feed_forward, self.norm = _FeedForward(size, settings.intermediate_size), nn.LayerNorm(size)

    def forward(
        self, hidden: Tensor, own: Tensor, of_source: Tensor, causal: Tensor | None, bias: Tensor, masks: Masks | None
    ) -> Tensor:
        """The next hidden states; `own` are the answers of the target's tokens, up to these."""
        found = self.attention(hidden, own, causal)
        hidden = self.attention_norm(add_dropped(hidden, found, masks))
        hidden = self.source_norm(add_dropped(hidden, self.source(hidden, of_source, bias), masks))
        result: Tensor = self.norm(add_dropped(hidden, self.feed_forward(hidden), masks))
        return result


class Transformer(nn.Module):
    """Source ids to the probabilities of target ids."""

    positions: Tensor

    def __init__(self, settings: NetworkSettings, vocabulary_size: int) -> None:
        super().__init__()
        size = settings.hidden_size
        self.vectors = nn.Parameter(torch.empty(vocabulary_size, size))
        blocks: Any = nn.ModuleList  # whose type forgets what the blocks are
        self.encoder = blocks(_EncoderBlock(settings) for _ in range(settings.layers))
        self.decoder = blocks(_DecoderBlock(settings) for _ in range(settings.layers))
        self.dropout = nn.Dropout(settings.dropout)
        self.register_buffer("positions", sinusoids(_POSITIONS, size), persistent=False)
        self._draw()

    def encode(self, source: Tensor, lengths: Tensor, masks: Masks | None = None) -> tuple[Tensor, Tensor]:
        """Hidden states (rows, width, size) of the source, and what keeps its padding from being looked at."""
        outside = torch.arange(source.shape[1]) >= lengths[:, None]
        hidden = self.embed(source, 0, masks)
        bias = torch.zeros(outside.shape, dtype=hidden.dtype).masked_fill_(outside, -torch.inf)[:, None, None]
        for block in self.encoder:
            hidden = block(hidden, bias, masks)
        return hidden, bias

    def decode(self, target: Tensor, memory: Tensor, bias: Tensor, masks: Masks | None = None) -> Tensor:
        """Hidden states (rows, width, size) of the target, each blind to what comes after it."""
        hidden = self.embed(target, 0, masks)
        width = target.shape[1]
        causal = torch.full((width, width), -torch.inf, dtype=hidden.dtype).triu(1)
        for block in self.decoder:
            own, of_source = block.attention.answers(hidden), block.source.answers(memory)
            hidden = block(hidden, own, of_source, causal, bias, masks)
        return hidden

    def predictions(self, source: Tensor, lengths: Tensor, target: Tensor, inside: Tensor) -> Tensor:
        """Hidden states (predictions, size) of those tokens of the target that are `inside`, end to end."""
        masks = masks_for(self.dropout)
        memory, bias = self.encode(source, lengths, masks)
        return self.decode(target, memory, bias, masks)[inside]

    def scores(self, hidden: Tensor) -> Tensor:
        """The scores of all words."""
        return nn.functional.linear(hidden, self.vectors)

    def loss(self, hidden: Tensor, words: Tensor, share: float, smoothing: float) -> Tensor:
        """`share` of the nats of all predictions, with smoothed labels."""
        return word_loss(hidden, self.vectors, None, words, share, smoothing=smoothing)

    def embed(self, ids: Tensor, first: int, masks: Masks | None) -> Tensor:
        """Vectors of tokens, of which the first of each row stands at position `first`."""
        size, end = self.vectors.shape[1], first + ids.shape[1]
        table = self.positions if end <= len(self.positions) else sinusoids(end, size).to(self.positions.dtype)
        return dropped(nn.functional.embedding(ids, self.vectors) * math.sqrt(size) + table[first:end], masks)

    def _draw(self) -> None:
        """Draw weights: Glorot's for products, and vectors so small that their scaled values are about 1."""
        for name, parameter in self.named_parameters():
            if name == "vectors":
                nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
            elif parameter.ndim > 1:
                for part in parameter.chunk(2) if name.endswith("key_value.weight") else [parameter]:
                    nn.init.xavier_uniform_(part)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)


class Decoding:
    """Some translations on their way: what was computed of each is kept, so that a step costs a token a row."""

    def __init__(self, network: Transformer, source: Tensor, lengths: Tensor) -> None:
        memory, self._bias = network.encode(source, lengths)
        self._network, self._length = network, 0
        self._source = [block.source.answers(memory) for block in network.decoder]
        self._own: list[Tensor] = []

    def step(self, tokens: Tensor) -> Tensor:
        """Add a token to every row; the log-probabilities (rows, words) of what comes next."""
        network = self._network
        hidden = network.embed(tokens[:, None], self._length, None)
        before, self._own, self._length = self._own, [], self._length + 1
        for number, block in enumerate(network.decoder):
            own = block.attention.answers(hidden)
            if before:
                own = torch.cat([before[number], own], dim=1)
            self._own.append(own)
            hidden = block(hidden, own, self._source[number], None, self._bias, None)
        return torch.log_softmax(network.scores(hidden[:, 0]), dim=1)

    def keep(self, rows: Tensor) -> None:
        """Go on with some rows, in the order given; one may be there more than once."""
        self._bias = self._bias[rows]
        self._source = [answers[rows] for answers in self._source]
        self._own = [answers[rows] for answers in self._own]


def build_network(settings: NetworkSettings, vocabulary_size: int, *, seed: int) -> Transformer:
    """A network whose weights are drawn from `seed`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Transformer(settings, vocabulary_size)


def save_network(network: Transformer, settings: NetworkSettings, out: Path) -> None:
    """Write the weights and the shape; what ids mean is the tokenizer's to say."""
    with atomic_path(out / _WEIGHTS) as temporary:
        save_file({name: tensor.contiguous() for name, tensor in network.state_dict().items()}, temporary)
    write_json(out / _SHAPE, {name: getattr(settings, name) for name in NetworkSettings.model_fields})


def load_network(folder: Path) -> Transformer:
    """Read back what `save_network` wrote."""
    if not (folder / _SHAPE).is_file():
        raise InputError(f"{folder}: no Transformer here ({_SHAPE} is missing); run its stage")
    settings = NetworkSettings.model_validate(read_json(folder / _SHAPE))
    weights = load_file(folder / _WEIGHTS)
    network = Transformer(settings, len(weights["vectors"]))
    network.load_state_dict(weights)
    return network.eval()
