"""Training a neural language model, predictions per second: ours against the loop that a user of PyTorch would write.

Both sides: the same network with a full softmax (vectors of 100, context 4), the same predictions and batch size, AdamW, one
thread, 32-bit floats, equal loss on equal weights, which is checked first. Theirs: nn.Embedding, nn.Linear, cross_entropy, a
DataLoader over tensors in memory, in a process of its own. Ours reads the token store and clips gradients. In further rows
theirs has its batches ready-made, and ours an adaptive softmax: another model, whose perplexity docs/results.md has.
"""

import tempfile
import time
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
from stemma.families.nnlm.family import NnlmSettings, objective
from stemma.families.nnlm.network import NeuralModel, build_network
from stemma.families.nnlm.output import Full
from stemma.families.nnlm.windows import Predictions, read_windows
from stemma.text.symbols import Symbols
from stemma.training.loop import Batch

STEPS = 15
NUM_TOKENS = 400_000
FIRST_WORD = 7
LEARNING_RATE = 0.001


CUTOFFS = {10_000: [2000], 30_000: [2000, 10_000]}  # of the adaptive softmax


def settings(hidden_size: int, cutoffs: list[int] | None = None) -> NnlmSettings:
    """Sizes as in the literature; with cutoffs, an adaptive softmax."""
    return NnlmSettings(
        context=4,
        size=100,
        hidden_size=hidden_size,
        direct=False,
        softmax="adaptive" if cutoffs else "full",
        cutoffs=cutoffs or [],
        dropout=0.0,
        steps=1_000_000,
        batch_size=512,
        learning_rate=LEARNING_RATE,
        weight_decay=0.01,
        warmup_share=0.0,
        max_gradient_norm=1.0,
        checkpoint_every=1_000_000,
        threads=1,
        task_network="cbow",
        tune="frozen",
        task_size=64,
        task_dropout=0.2,
        task_learning_rate=0.005,
        crf=False,
    )


class Plain(nn.Module):
    """The network in PyTorch's own modules."""

    def __init__(self, asked: NnlmSettings, num_ids: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(num_ids, asked.size)
        self.hidden = nn.Linear(asked.context * asked.size, asked.hidden_size)
        self.output = nn.Linear(asked.hidden_size, num_ids)

    def forward(self, contexts: Tensor) -> Tensor:
        """Scores of all words."""
        scores: Tensor = self.output(torch.tanh(self.hidden(self.vectors(contexts).flatten(1))))
        return scores


def make_store(folder: Path, num_words: int) -> TokenStore:
    """Sentences of 20 words drawn by Zipf's law: what a step costs depends on no more than that."""
    rng = np.random.default_rng(1)
    shares = 1 / np.arange(1, num_words + 1)
    ids = FIRST_WORD + rng.choice(num_words, NUM_TOKENS, p=shares / shares.sum())
    with TokenStoreWriter(folder, id_dtype(num_words + FIRST_WORD)) as writer:
        for start in range(0, NUM_TOKENS, 2000):
            writer.add(ids[start : start + 2000].astype(np.uint16), np.full(100, 20), 0)
    return TokenStore.open(folder)


def symbols_of(num_words: int) -> Symbols:
    """What stands beside the words."""
    return Symbols(size=num_words + FIRST_WORD, begin=5, end=6, unknown=1, silent=(0, 2, 3, 4, 5))


def our_side(store: TokenStore, symbols: Symbols, asked: NnlmSettings) -> Callable[[], float]:
    """Our loop, going on for some steps a call."""
    predictions = Predictions(store, symbols, context=asked.context, batch_size=asked.batch_size, seed=1)
    network = build_network(asked, symbols, seed=1)
    training = our_training(network, asked)

    def batch_at(step: int) -> Batch:
        name, windows = predictions.at(step)
        return Batch(name=name, passes=[{"windows": torch.from_numpy(windows)}], num_tokens=len(windows))

    return our_loop(training, asked.threads, batch_at, objective, steps=STEPS)


def their_side(tokens: Path, symbols: Symbols, asked: NnlmSettings, ready: bool) -> Callable[[], float]:
    """A plain loop; with `ready`, its batches are made before the clock runs."""
    store = TokenStore.open(tokens)
    windows = torch.from_numpy(np.concatenate([part[:] for part in read_windows(store, symbols, asked.context)]))
    network = Plain(asked, symbols.size)
    optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=asked.weight_decay)
    data = TensorDataset(windows[:, :-1].contiguous(), windows[:, -1].contiguous())
    batches: Iterator[Any] = cycle_of(DataLoader(data, asked.batch_size, shuffle=True))

    def run() -> float:
        torch.set_num_threads(asked.threads)
        torch.use_deterministic_algorithms(False)
        made = [next(batches) for _ in range(STEPS)] if ready else None
        begun, count = time.perf_counter(), 0
        for _ in range(STEPS):
            contexts, words = made.pop() if made else next(batches)
            loss = nn.functional.cross_entropy(network(contexts), words)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            loss.item()
            count += len(words)
        return count / (time.perf_counter() - begun)

    return run


def check(store: TokenStore, symbols: Symbols, asked: NnlmSettings) -> None:
    """Equal weights must give an equal loss; the words that text can't hold are never asked for, and left out of ours."""
    ours, theirs = build_network(asked, symbols, seed=1), Plain(asked, symbols.size)
    copy_weights(ours, theirs, symbols)
    windows = torch.from_numpy(next(iter(read_windows(store, symbols, asked.context)))[: asked.batch_size])
    mine = ours.loss(windows, 1 / len(windows))
    other = nn.functional.cross_entropy(theirs(windows[:, :-1]), windows[:, -1])
    torch.testing.assert_close(mine, other)


def copy_weights(ours: NeuralModel, theirs: Plain, symbols: Symbols) -> None:
    """Give the plain network our weights, and to what can't be predicted a probability of 0."""
    assert isinstance(ours.output, Full)
    events = torch.from_numpy(np.flatnonzero(symbols.events))
    with torch.no_grad():
        theirs.vectors.weight.copy_(ours.vectors)
        theirs.hidden.load_state_dict(ours.hidden.state_dict())
        theirs.output.bias.fill_(-1e9)
        theirs.output.weight[events], theirs.output.bias[events] = ours.output.weight[:, :-1], ours.output.weight[:, -1]


def bench(
    num_words: int, hidden_size: int, floor: float, aim: float, *, ready: bool = False, adaptive: bool = False
) -> Comparison:
    """One row of the table."""
    asked = settings(hidden_size, CUTOFFS[num_words] if adaptive else None)
    symbols = symbols_of(num_words)
    with tempfile.TemporaryDirectory() as folder:
        tokens = Path(folder) / "tokens"
        store = make_store(tokens, num_words)
        if not adaptive:
            check(store, symbols, asked)
        return compare(
            f"nnlm-{num_words // 1000}k-{hidden_size}" + ("-ready" if ready else "-adaptive" if adaptive else ""),
            our_side(store, symbols, asked),
            apart(their_side, tokens, symbols, asked, ready),
            work=f"NNLM training, {asked.softmax} softmax, vocabulary {num_words:,}, hidden {hidden_size}",
            against="plain PyTorch loop, full softmax"
            + (", its batches ready-made" if ready else ", with a DataLoader"),
            unit="predictions/s",
            floor=floor,
            aim=aim,
        )


def main() -> None:
    """Measure and keep."""
    for result in (
        bench(10_000, 100, 1.5, 2.0),
        bench(30_000, 100, 1.5, 2.0),
        bench(10_000, 200, 1.5, 2.0),
        bench(10_000, 100, 0, 0, ready=True),
        bench(30_000, 100, 0, 0, ready=True),
        bench(10_000, 200, 1.5, 2.0, adaptive=True),
        bench(30_000, 100, 1.5, 2.0, adaptive=True),
    ):
        write_result(result.name, result)


if __name__ == "__main__":
    main()
