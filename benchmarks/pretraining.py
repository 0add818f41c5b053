"""BERT pretraining, tokens per second with data loading: ours against the Hugging Face Trainer with its defaults.

Both sides: the same network (4 × 256, 4 heads, length 128) in 32-bit floats, the same pairs and batch size, AdamW, two
threads, dropout 0.1. Theirs gets its sentence pairs ready-made. A rate counts the pairs' real tokens, on both sides.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.corpora import fast_tokenizer, tokenized_sample
from benchmarks.harness import Comparison, compare, write_result
from stemma.data.token_store import TokenStore
from stemma.families.bert.family import BertExamples, BertSettings
from stemma.families.bert.network import build_network, pretraining_loss, read_tokenizer
from stemma.progress import NullProgress
from stemma.training.checkpoint import Checkpoints
from stemma.training.loop import Optimisation, Training, deterministic
from stemma.training.tracker import NullTracker

THREADS = 2
STEPS = 8
SETTINGS: dict[str, Any] = {
    "layers": 4,
    "hidden_size": 256,
    "heads": 4,
    "intermediate_size": 1024,
    "dropout": 0.1,
    "max_length": 128,
    "steps": 1_000_000,
    "batch_size": 32,
    "tokens_per_pass": 4096,
    "learning_rate": 1e-4,
    "weight_decay": 0.01,
    "warmup_share": 0.1,
    "max_gradient_norm": 1.0,
    "mask_probability": 0.15,
    "mask_token_share": 0.8,
    "random_token_share": 0.1,
    "masking": "dynamic",
    "whole_word": False,
    "checkpoint_every": 1_000_000,
    "threads": THREADS,
    "processes": 1,
}


def bench(folder: Path, vocabulary_size: int, floor: float, aim: float, **changes: Any) -> Comparison:
    """One row of the table."""
    project = tokenized_sample(folder, vocabulary_size)
    settings = BertSettings(**SETTINGS | changes)
    return compare(
        f"pretraining-{vocabulary_size // 1000}k" + "".join(f"-{key}-{value}" for key, value in changes.items()),
        our_side(project, settings),
        their_side(project, settings),
        work=f"BERT pretraining, vocabulary {vocabulary_size:,}",
        against="Hugging Face Trainer",
        unit="tokens/s",
        floor=floor,
        aim=aim,
    )


def our_side(project: Path, settings: BertSettings) -> Callable[[], float]:
    """Our loop, going on for some steps a call."""
    tokenizer = read_tokenizer(project / "tokenizer")
    examples = BertExamples(TokenStore.open(project / "tokens/train"), tokenizer, settings, seed=1)
    network = build_network(settings, tokenizer, seed=1)
    optimisation = Optimisation(
        steps=settings.steps,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        warmup_share=settings.warmup_share,
        max_gradient_norm=settings.max_gradient_norm,
        seed=1,
        record_every=100,
        checkpoint_every=settings.checkpoint_every,
    )
    scratch = Checkpoints(Path(tempfile.mkdtemp()))
    training = Training(network, optimisation, scratch, tracker=NullTracker(), progress=NullProgress())

    def run() -> float:
        with deterministic(settings.threads):
            before, begun = training.num_tokens, time.perf_counter()
            training.advance(training.step + STEPS, examples.batch_at, pretraining_loss)
            return (training.num_tokens - before) / (time.perf_counter() - begun)

    return run


def their_side(project: Path, settings: BertSettings) -> Callable[[], float]:
    """A Trainer, for some steps a call; its set-up is not timed."""
    import datasets
    import transformers

    tokenizer = fast_tokenizer(project / "tokenizer")
    pairs = ready_pairs(project, settings)
    network = build_network(settings, read_tokenizer(project / "tokenizer"), seed=1)
    collator = transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=settings.mask_probability)
    clock: dict[str, float] = {}

    class Clock(transformers.TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            clock.setdefault("begun", time.perf_counter())

        def on_step_end(self, *_: Any, **__: Any) -> None:
            clock["ended"] = time.perf_counter()

    data = datasets.Dataset.from_list(pairs)

    def run() -> float:
        torch.set_num_threads(settings.threads)
        torch.use_deterministic_algorithms(False)
        clock.clear()
        with tempfile.TemporaryDirectory() as out:
            arguments = transformers.TrainingArguments(
                out,
                per_device_train_batch_size=settings.batch_size,
                max_steps=STEPS + 1,
                learning_rate=settings.learning_rate,
                weight_decay=settings.weight_decay,
                save_strategy="no",
                report_to=[],
                use_cpu=True,
                disable_tqdm=True,
                logging_strategy="no",
                seed=1,
            )
            seen: list[int] = []

            def collate(rows: list[dict[str, Any]]) -> Any:
                seen.append(sum(len(row["input_ids"]) for row in rows))
                return collator(rows)

            trainer = transformers.Trainer(
                model=network, args=arguments, train_dataset=data, data_collator=collate, callbacks=[Clock()]
            )
            trainer.train()
        return sum(seen[: STEPS + 1]) / (clock["ended"] - clock["begun"])

    return run


def ready_pairs(project: Path, settings: BertSettings) -> list[dict[str, Any]]:
    """Our own pairs of one epoch, as a Trainer's user would have stored them."""
    tokenizer = read_tokenizer(project / "tokenizer")
    examples = BertExamples(TokenStore.open(project / "tokens/train"), tokenizer, settings, seed=1)
    pairs = examples.pairs.build(np.arange(len(examples)), 0)
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
    for vocabulary_size, floor, aim in ((8000, 1.8, 2.2), (30000, 2.7, 3.3)):
        result = bench(folder, vocabulary_size, floor, aim)
        write_result(result.name, result)


if __name__ == "__main__":
    main(Path(tempfile.gettempdir()) / "stemma-bench")
