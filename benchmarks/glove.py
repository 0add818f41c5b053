"""Training GloVe, pairs per second: ours, in batches of the pairs that were seen, against all pairs in plain PyTorch.

The other side is what the formula reads like: the whole matrix of weights and logarithms, one product of all words with
all contexts an epoch, `torch.optim.Adagrad`. Both have the same counts, loss, vectors, learning rate and first values; a rate
is the pairs that were seen per second of an epoch. Ours computes with one thread; the other side with one, and in a row of its
own with two.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from benchmarks.corpora import tokenized_sample
from benchmarks.harness import compare, write_result
from stemma.data.cooccurrences import Cooccurrences, count_stored
from stemma.families.glove.objective import Objective
from stemma.families.glove.training import Plan, Training, draw_factors
from stemma.progress import NullProgress
from stemma.text.vocabulary import load_words
from stemma.training.checkpoint import Checkpoints
from stemma.training.tracker import NullTracker

VOCABULARY = 8000
SIZE = 50
WINDOW = 5
EPOCHS = 3  # of a round
OBJECTIVE = Objective(full_weight_count=100.0, weight_exponent=0.75)
LEARNING_RATE = 0.05
SEED = 1


def main(folder: Path) -> None:
    """Measure and keep."""
    project = tokenized_sample(folder, VOCABULARY)
    first_word, words = load_words(project / "tokenizer")
    with tempfile.TemporaryDirectory() as scratch:
        counts = count_stored(
            project / "tokens/train",
            Path(scratch) / "counts",
            first_word=first_word,
            num_words=len(words),
            window=WINDOW,
            weighting="harmonic",
            progress=NullProgress(),
        )
        matrix = DenseGlove(counts)
        check(counts, matrix)
        for name, threads, floor in (("glove", 1, 5.0), ("glove-2-threads", 2, 0.0)):
            result = compare(
                name,
                our_side(counts, Path(scratch)),
                their_side(counts, matrix, threads),
                work=f"GloVe, an epoch over {counts.num_entries:,} pairs of {counts.num_words:,} words, vectors of {SIZE}",
                against=f"all pairs at once in PyTorch with Adagrad, threads: {threads}",
                unit="pairs/s",
                floor=floor,
                aim=floor,
            )
            write_result(result.name, result)


def our_side(counts: Cooccurrences, scratch: Path) -> Callable[[], float]:
    """The family's own training, with its checkpoint at the end."""
    plan = Plan(
        size=SIZE,
        epochs=EPOCHS,
        batch_size=1 << 16,
        learning_rate=LEARNING_RATE,
        seed=SEED,
        checkpoint_every=EPOCHS,
    )

    def run() -> float:
        checkpoints = Checkpoints(Path(tempfile.mkdtemp(dir=scratch)))
        begun = time.perf_counter()
        training = Training(counts, OBJECTIVE, plan, checkpoints, tracker=NullTracker(), progress=NullProgress())
        training.run()
        elapsed = time.perf_counter() - begun
        print(f"  loss a pair {training.curve[-1]:.4f} after {EPOCHS} epochs", flush=True)
        return EPOCHS * counts.num_entries / elapsed

    return run


def their_side(counts: Cooccurrences, matrix: "DenseGlove", threads: int) -> Callable[[], float]:
    """The plain loop."""

    def run() -> float:
        torch.set_num_threads(threads)
        matrix.begin()
        optimizer = torch.optim.Adagrad(matrix.parameters(), lr=LEARNING_RATE, initial_accumulator_value=1.0)
        begun = time.perf_counter()
        for _ in range(EPOCHS):
            optimizer.zero_grad()
            loss = matrix()
            loss.backward()
            optimizer.step()
        elapsed = time.perf_counter() - begun
        print(f"  loss a pair {loss.item() / counts.num_entries:.4f} in epoch {EPOCHS} of the other side", flush=True)
        return EPOCHS * counts.num_entries / elapsed

    return run


class DenseGlove(torch.nn.Module):
    """GloVe's formula over all pairs, those that were never seen with the weight 0."""

    def __init__(self, counts: Cooccurrences) -> None:
        super().__init__()
        values = torch.zeros(counts.num_words, counts.num_words)
        rows = np.repeat(np.arange(counts.num_words), np.diff(counts.offsets))
        values[rows, np.array(counts.columns)] = torch.from_numpy(counts.values.astype(np.float32))
        self.weights = (values / OBJECTIVE.full_weight_count).pow_(OBJECTIVE.weight_exponent).clamp_(max=1)
        self.logarithms = torch.where(values > 0, values.log(), 0.0)
        self.begin()

    def begin(self) -> None:
        """The first values that our side draws."""
        first = draw_factors(len(self.weights), SIZE, SEED)
        self.words, self.contexts = (torch.nn.Parameter(torch.from_numpy(of)) for of in (first.words, first.contexts))
        biases = first.word_biases, first.context_biases
        self.word_biases, self.context_biases = (torch.nn.Parameter(torch.from_numpy(of)) for of in biases)

    def forward(self) -> torch.Tensor:
        """The loss."""
        products = self.words @ self.contexts.T + self.word_biases[:, None] + self.context_biases[None, :]
        return torch.sum(self.weights * (products - self.logarithms) ** 2)


def check(counts: Cooccurrences, matrix: DenseGlove) -> None:
    """Both sides must begin with the same loss."""
    ours, _ = OBJECTIVE.loss_and_gradients(draw_factors(counts.num_words, SIZE, SEED), counts)
    with torch.no_grad():
        theirs = float(matrix())
    assert abs(ours - theirs) < 1e-4 * ours, (ours, theirs)


if __name__ == "__main__":
    main(Path(tempfile.gettempdir()) / "stemma-bench")
