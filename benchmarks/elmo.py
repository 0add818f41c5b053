"""Training ELMo's language models, tokens per second: ours against the loop that a user of PyTorch would write.

Both sides: the same network (character CNN, highway layers, two LSTM layers each way, one full softmax for both), windows of as
many tokens, AdamW, one thread, 32-bit floats, no dropout, equal loss on equal weights, which is checked first. Theirs: nn.Conv1d
over the characters of every token of a batch, nn.LSTM (with `proj_size` where there is a projection), nn.Linear, cross_entropy,
a DataLoader over windows in memory. Ours reads the token store, carries the state of the LSTMs, and clips gradients.
"""

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.harness import Comparison, apart, compare, write_result
from benchmarks.trainers import cycle_of, our_loop, our_training
from stemma.data.token_store import TokenStore, TokenStoreWriter, id_dtype
from stemma.families.elmo.characters import NUM_CHARACTERS, PADDING, Characters
from stemma.families.elmo.family import CarriedState, ElmoSettings, windows_of
from stemma.families.elmo.network import Elmo
from stemma.families.elmo.streams import Streams
from stemma.families.elmo.tokens import Highway
from stemma.layers.lstm import Lstm
from stemma.text.symbols import Symbols
from stemma.text.vocabulary import WORD_SPECIAL_TOKENS

STEPS = 5
NUM_TOKENS = 400_000
FIRST_WORD = len(WORD_SPECIAL_TOKENS)
LEARNING_RATE = 0.001


def settings(size: int, cells: int) -> ElmoSettings:
    """A network of the paper's kind at a size that a CPU trains."""
    return ElmoSettings(
        max_characters=50,
        character_size=16,
        filters=[(1, 32), (2, 32), (3, 64), (4, 128)],
        highways=2,
        size=size,
        cells=cells,
        layers=2,
        dropout=0.0,
        steps=1_000_000,
        batch_size=32,
        length=35,
        fresh_share=0.0,
        learning_rate=LEARNING_RATE,
        weight_decay=0.01,
        warmup_share=0.0,
        max_gradient_norm=1.0,
        checkpoint_every=1_000_000,
        threads=1,
        tune="frozen",
        task_size=1,
        task_dropout=0.0,
        task_learning_rate=0.005,
        crf=False,
    )


class Plain(nn.Module):
    """The network in PyTorch's own modules."""

    def __init__(self, asked: ElmoSettings, characters: Characters, num_ids: int) -> None:
        super().__init__()
        widest = max(width for width, _ in asked.filters)
        table = torch.from_numpy(characters.table)
        self.register_buffer("table", nn.functional.pad(table, (0, widest), value=PADDING))
        self.characters = nn.Embedding(NUM_CHARACTERS, asked.character_size, padding_idx=PADDING)
        self.filters = nn.ModuleList(nn.Conv1d(asked.character_size, n, width) for width, n in asked.filters)
        total = sum(number for _, number in asked.filters)
        self.highways = nn.ModuleList(nn.Linear(total, 2 * total) for _ in range(asked.highways))
        self.projection = nn.Linear(total, asked.size)
        projected = asked.size if asked.size != asked.cells else 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.lstms = nn.ModuleList(
                nn.LSTM(asked.size, asked.cells, proj_size=projected) for _ in range(2 * asked.layers)
            )
        self.output = nn.Linear(asked.size, num_ids)

    def forward(self, text: Tensor) -> Tensor:
        """The mean loss of both directions on windows (length + 1, rows)."""
        vectors = self.vectors(text)
        forward = self.direction(vectors[:-1], 0)
        backward = self.direction(vectors[1:].flip(0), 1)
        losses = [
            nn.functional.cross_entropy(self.output(features).flatten(0, 1), targets.flatten())
            for features, targets in ((forward, text[1:]), (backward, text[:-1].flip(0)))
        ]
        return (losses[0] + losses[1]) / 2

    def vectors(self, text: Tensor) -> Tensor:
        """The vector of every token."""
        table: Any = self.table
        channels = self.characters(table[text.flatten()]).transpose(1, 2)
        found = torch.relu(torch.cat([filter_(channels).max(dim=2).values for filter_ in self.filters], dim=1))
        for highway in self.highways:
            changed, gate = highway(found).chunk(2, dim=1)
            gate = torch.sigmoid(gate)
            found = gate * torch.relu(changed) + (1 - gate) * found
        vectors: Tensor = self.projection(found)
        return vectors.view(*text.shape, -1)

    def direction(self, inputs: Tensor, number: int) -> Tensor:
        """What one direction's two layers give."""
        first: Tensor = self.lstms[number](inputs)[0]
        second: Tensor = self.lstms[2 + number](first)[0]
        return first + second


def open_store(folder: Path, num_words: int) -> tuple[TokenStore, Symbols, list[str]]:
    """Sentences of 20 words drawn by Zipf's law, written if they are not there yet, and words of about seven letters."""
    rng = np.random.default_rng(1)
    shares = 1 / np.arange(1, num_words + 1)
    ids = FIRST_WORD + rng.choice(num_words, NUM_TOKENS, p=shares / shares.sum())
    if not folder.exists():
        with TokenStoreWriter(folder, id_dtype(num_words + FIRST_WORD)) as writer:
            for start in range(0, NUM_TOKENS, 2000):
                writer.add(ids[start : start + 2000].astype(np.uint16), np.full(100, 20), 0)
    symbols = Symbols(size=num_words + FIRST_WORD, begin=5, end=6, unknown=1, silent=(0, 2, 3, 4, 5))
    letters = list("abcdefghijklmnopqrstuvwxyz")
    words = ["".join(rng.choice(letters, min(1 + rng.poisson(6), 18))) for _ in range(num_words)]
    return TokenStore.open(folder), symbols, [*WORD_SPECIAL_TOKENS, *words]


def build(asked: ElmoSettings, symbols: Symbols, tokens: list[str]) -> Elmo:
    """Our network."""
    torch.manual_seed(1)
    return Elmo(asked, symbols, Characters.of(tokens, asked.max_characters))


def our_side(store: TokenStore, symbols: Symbols, tokens: list[str], asked: ElmoSettings) -> Callable[[], float]:
    """Our loop, going on for some steps a call."""
    streams = Streams(store, symbols, rows=asked.batch_size, length=asked.length, seed=1)
    training = our_training(build(asked, symbols, tokens), asked)
    objective = CarriedState(training, asked.fresh_share)
    return our_loop(training, asked.threads, windows_of(streams), objective, steps=STEPS)


def their_side(folder: Path, num_words: int, asked: ElmoSettings) -> Callable[[], float]:
    """A plain loop over windows that lie in memory."""
    warnings.filterwarnings("ignore", message="LSTM with projections is not supported with oneDNN")
    store, symbols, tokens = open_store(folder, num_words)
    windows = text_windows(store, symbols, asked)
    network = Plain(asked, Characters.of(tokens, asked.max_characters), symbols.size)
    optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=asked.weight_decay)
    batches: Iterator[Any] = cycle_of(DataLoader(TensorDataset(windows), asked.batch_size, shuffle=True))

    def run() -> float:
        torch.set_num_threads(asked.threads)
        torch.use_deterministic_algorithms(False)
        begun, count = time.perf_counter(), 0
        for _ in range(STEPS):
            (text,) = next(batches)
            loss = network(text.t())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
            count += text.shape[0] * (text.shape[1] - 1)
        return count / (time.perf_counter() - begun)

    return run


def text_windows(store: TokenStore, symbols: Symbols, asked: ElmoSettings) -> Tensor:
    """The store's text in windows (windows, length + 1) of which each begins with the last token of the one before."""
    one = Streams(store, symbols, rows=1, length=asked.length, seed=1)
    whole = [one.at(step) for step in range(one.steps_per_epoch - 1)]
    rows = [np.append(window.inputs[0, :, 0], window.targets[0, -1, 0]) for window in whole]
    return torch.from_numpy(np.stack(rows))


def check(store: TokenStore, symbols: Symbols, tokens: list[str], asked: ElmoSettings) -> None:
    """Equal weights must give an equal loss; the words that text can't hold are never asked for, and left out of ours."""
    ours, theirs = build(asked, symbols, tokens), Plain(asked, Characters.of(tokens, 50), symbols.size)
    copy_weights(ours, theirs, symbols)
    text = text_windows(store, symbols, asked)[: asked.batch_size].t()
    both = torch.stack([text, text.flip(0)])
    distinct, places = torch.unique(both[:, :-1], return_inverse=True)
    with torch.no_grad():
        torch.testing.assert_close(ours.loss(ours.read(distinct, places), both[:, 1:]), theirs(text))


def copy_weights(ours: Elmo, theirs: Plain, symbols: Symbols) -> None:
    """Give the plain network our weights, and to what can't be predicted a probability of 0."""
    events = torch.from_numpy(np.flatnonzero(symbols.events))
    modules: Any = theirs
    with torch.no_grad():
        theirs.characters.weight.copy_(ours.tokens.vectors)
        biases = torch.split(ours.tokens.bias, [filter_.shape[1] for filter_ in ours.tokens.filters])
        for mine, bias, other in zip(ours.tokens.filters, biases, modules.filters, strict=True):
            other.weight.copy_(mine.view(-1, other.in_channels, other.out_channels).permute(2, 1, 0))
            other.bias.copy_(bias)
        for mine, other in zip(ours.tokens.highways, modules.highways, strict=True):
            assert isinstance(mine, Highway)
            other.load_state_dict(mine.layer.state_dict())
        theirs.projection.load_state_dict(ours.tokens.projection.state_dict())
        for number, other in enumerate(modules.lstms):
            layer = ours.lstms[number // 2]
            assert isinstance(layer, Lstm)
            copy_lstm(layer, number % 2, other)
        theirs.output.bias.fill_(-1e9)
        theirs.output.weight[events], theirs.output.bias[events] = ours.weight, ours.bias


def copy_lstm(ours: Lstm, direction: int, theirs: Any) -> None:
    """One direction of a layer, the gates in PyTorch's order."""

    def reorder(weights: Tensor) -> Tensor:
        out, into, forget, new = weights.chunk(4, dim=-1)
        return torch.cat([into, forget, new, out], dim=-1).movedim(-1, 0)

    theirs.weight_ih_l0.copy_(reorder(ours.from_input[direction]))
    theirs.weight_hh_l0.copy_(reorder(ours.from_output[direction]))
    theirs.bias_ih_l0.copy_(reorder(ours.bias.view(2, -1)[direction]))
    theirs.bias_hh_l0.zero_()
    if ours.projection is not None:
        theirs.weight_hr_l0.copy_(ours.projection[direction].t())


def bench(num_words: int, size: int, cells: int, floor: float, aim: float) -> Comparison:
    """One row of the table."""
    asked = settings(size, cells)
    projected = f"{cells} cells projected to {size}" if cells != size else f"{cells} cells"
    warnings.filterwarnings("ignore", message="LSTM with projections is not supported with oneDNN")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tokens"
        store, symbols, tokens = open_store(place, num_words)
        check(store, symbols, tokens, asked)
        return compare(
            f"elmo-{num_words // 1000}k-{size}-{cells}",
            our_side(store, symbols, tokens, asked),
            apart(their_side, place, num_words, asked),
            work=f"ELMo pretraining, full softmax, vocabulary {num_words:,}, {projected}",
            against="plain PyTorch loop with nn.LSTM and a DataLoader",
            unit="tokens/s",
            floor=floor,
            aim=aim,
        )


def main() -> None:
    """Measure and keep."""
    for num_words, size, cells, floor, aim in (
        (10_000, 128, 512, 1.5, 1.5),
        (30_000, 128, 512, 1.5, 1.5),
        (10_000, 256, 256, 0, 0),
    ):
        result = bench(num_words, size, cells, floor, aim)
        write_result(result.name, result)


if __name__ == "__main__":
    main()
