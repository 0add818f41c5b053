"""BERT pretraining, tokens per second with data loading: ours against the Hugging Face Trainer with its defaults.

Both sides: the same network (4 × 256, 4 heads, length 128) in 32-bit floats, the same pairs and batch size, AdamW, two
threads, dropout 0.1. Theirs gets its sentence pairs ready-made. A rate counts the pairs' real tokens, on both sides.
"""

import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.corpora import fast_tokenizer, tokenized_sample
from benchmarks.harness import ROUNDS, Comparison, apart, compare, timed, write_result
from benchmarks.trainers import STEPS, our_loop, our_training, their_trainer
from stemma.data.token_store import TokenStore
from stemma.families.bert.family import BertExamples, BertSettings
from stemma.families.bert.network import build_network, pretraining_loss, read_tokenizer
from stemma.layers.dropout import Masks

THREADS = 2
SETTINGS: dict[str, Any] = {
    "layers": 4,
    "hidden_size": 256,
    "heads": 4,
    "intermediate_size": 1024,
    "dropout": 0.1,
    "max_length": 128,
    "steps": 1_000_000,
    "batch_size": 32,
    "tokens_per_pass": 2048,
    "learning_rate": 1e-4,
    "weight_decay": 0.01,
    "warmup_share": 0.1,
    "max_gradient_norm": 1.0,
    "mask_probability": 0.15,
    "mask_token_share": 0.8,
    "random_token_share": 0.1,
    "masking": "dynamic",
    "whole_word": False,
    "next_sentence": True,
    "direction": "both",
    "bilstm": False,
    "features": "last",
    "tune": "whole",
    "task_learning_rate": 0.005,
    "checkpoint_every": 1_000_000,
    "precision": "float32",
    "threads": THREADS,
    "processes": 1,
}


def bench(folder: Path, vocabulary_size: int, floor: float, aim: float, *, stock: bool = False) -> Comparison:
    """One row of the table; with `stock`, our side draws its dropout masks as torch does."""
    project = tokenized_sample(folder, vocabulary_size)
    settings = BertSettings(**SETTINGS)
    ours = our_side(project, settings)
    return compare(
        f"pretraining-{vocabulary_size // 1000}k" + ("-stock-dropout" if stock else ""),
        (lambda: with_stock_dropout(ours)) if stock else ours,
        apart(their_side, project, settings),
        work=f"BERT pretraining, vocabulary {vocabulary_size:,}" + (", torch's dropout on both sides" if stock else ""),
        against="Hugging Face Trainer",
        unit="tokens/s",
        floor=floor,
        aim=aim,
    )


def with_stock_dropout(run: Callable[[], float]) -> float:
    """Run with masks that torch's own generator draws, one number a value."""

    def draw(_: Masks, shape: Sequence[int]) -> torch.Tensor:
        kept = 1 - SETTINGS["dropout"]
        return torch.empty(*shape).bernoulli_(kept).div_(kept)

    with mock.patch.object(Masks, "draw", draw):
        return run()


def our_side(project: Path, settings: BertSettings) -> Callable[[], float]:
    """Our loop, going on for some steps a call."""
    tokenizer = read_tokenizer(project / "tokenizer")
    examples = BertExamples(TokenStore.open(project / "tokens/train"), tokenizer, settings, seed=1)
    network = build_network(settings, tokenizer, seed=1)
    return our_loop(our_training(network, settings), settings.threads, examples.batch_at, pretraining_loss)


def their_side(project: Path, settings: BertSettings) -> Callable[[], float]:
    """A Trainer, for some steps a call; its set-up is not timed."""
    import datasets
    import transformers

    tokenizer = fast_tokenizer(project / "tokenizer")
    pairs = ready_pairs(project, settings)
    network = build_network(settings, read_tokenizer(project / "tokenizer"), seed=1)
    collator = transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=settings.mask_probability)
    return their_trainer(network, settings, datasets.Dataset.from_list(pairs), collator)


def matrix_share(project: Path, run: Callable[[], float], *, name: str, work: str) -> dict[str, object]:
    """The useful operations of `run`, which gives its tokens per second, as a share of what products of large matrices reach.

    Useful is what the loss depends on: the products that our step makes, less the share of them that is padding. What products
    reach is told in two ways: over as long a time as `run` takes, with all that disturbs both on a shared machine, and at best.
    """
    settings = BertSettings(**SETTINGS)
    tokenizer = read_tokenizer(project / "tokenizer")
    examples = BertExamples(TokenStore.open(project / "tokens/train"), tokenizer, settings, seed=1)
    network = build_network(settings, tokenizer, seed=1)
    operations, places, tokens = 0, 0, 0
    for step in range(STEPS):
        batch = examples.batch_at(step)
        tokens += batch.num_tokens
        for tensors in batch.passes:
            places += tensors["input_ids"].numel()
            with FlopCounterMode(display=False) as counter:
                torch.autograd.backward(pretraining_loss(network, tensors)["loss"])
            operations += counter.get_total_flops()
    useful = operations / places  # a token: padding costs what a token does, and is left out here
    run()
    shares, of_best = [], []
    for _ in range(ROUNDS):
        torch.set_num_threads(THREADS)
        before = sustained_rate()
        rate = run() * useful
        after = sustained_rate()
        shares.append(2 * rate / (before.mean + after.mean))
        of_best.append(rate / max(before.best, after.best))
        print(
            f"  {name}: {shares[-1]:.1%} of {before.mean / 1e9:.0f} GFLOP/s, {of_best[-1]:.1%} of the best", flush=True
        )
    return {
        "name": name,
        "work": work,
        "share": statistics.median(shares),
        "share_of_best": statistics.median(of_best),
        "lowest": min(shares),
        "highest": max(shares),
        "rounds": ROUNDS,
        "useful_operations_per_token": useful,
        "padding": 1 - tokens / places,
        "floor": 0.5,
        "aim": 0.65,
    }


class Rate(NamedTuple):
    """Floating-point operations a second."""

    mean: float
    best: float


def sustained_rate(size: int = 1024, rounds: int = 200) -> Rate:
    """What products of two square matrices reach over a second or two, and the fastest of them."""
    left, right = torch.randn(2, size, size)
    times = [timed(lambda: torch.mm(left, right)) for _ in range(rounds)]
    return Rate(mean=2 * size**3 * rounds / sum(times), best=2 * size**3 / min(times))


def ready_pairs(project: Path, settings: BertSettings) -> list[dict[str, Any]]:
    """Our own pairs of one epoch, as a Trainer's user would have stored them."""
    tokenizer = read_tokenizer(project / "tokenizer")
    examples = BertExamples(TokenStore.open(project / "tokens/train"), tokenizer, settings, seed=1)
    pairs = examples.texts.build(np.arange(len(examples)), 0)
    return [
        {
            "input_ids": ids[:length].tolist(),
            "token_type_ids": types[:length].tolist(),
            "next_sentence_label": int(label),
        }
        for ids, types, length, label in zip(pairs.ids, pairs.types, pairs.lengths, pairs.is_random, strict=True)
    ]


def main(folder: Path) -> None:
    """Measure and keep."""
    for vocabulary_size, floor, aim, stock in ((8000, 1.8, 2.2, False), (30000, 2.7, 3.3, False), (8000, 0, 0, True)):
        result = bench(folder, vocabulary_size, floor, aim, stock=stock)
        write_result(result.name, result)
    project = tokenized_sample(folder, 8000)
    run = our_side(project, BertSettings(**SETTINGS))
    share = matrix_share(project, run, name="matrix-share-8k", work="BERT pretraining, vocabulary 8,000, 2 threads")
    write_result("matrix-share-8k", share)


if __name__ == "__main__":
    main(Path(tempfile.gettempdir()) / "stemma-bench")
