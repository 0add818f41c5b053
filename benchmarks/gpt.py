"""GPT pretraining, tokens per second with data loading: ours against the Hugging Face Trainer with `OpenAIGPTLMHeadModel`.

Both sides: the same network (4 × 256, 4 heads, length 128), rows without padding, the same batch size, AdamW, two threads,
dropout 0.1, and equal loss on equal weights, which is checked first. Products in 32-bit floats and, where the processor has
them, in bfloat16, on both sides. Theirs gets its rows ready-made. A token is one that goes in.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.corpora import tokenized_sample
from benchmarks.harness import Comparison, apart, compare, write_result
from benchmarks.trainers import our_loop, our_training, their_trainer
from stemma.data.token_store import TokenStore
from stemma.errors import SettingsError
from stemma.families.gpt.family import GptExamples, GptSettings
from stemma.families.gpt.network import build_network, text_loss
from stemma.text.symbols import read_symbols
from stemma.training.precision import Precision, check_precision

SETTINGS: dict[str, Any] = {
    "block": "transformer",
    "layers": 4,
    "hidden_size": 256,
    "heads": 4,
    "dropout": 0.1,
    "max_length": 128,
    "steps": 1_000_000,
    "batch_size": 32,
    "tokens_per_pass": 4096,
    "learning_rate": 1e-4,
    "weight_decay": 0.01,
    "warmup_share": 0.1,
    "max_gradient_norm": 1.0,
    "auxiliary_weight": 0.5,
    "checkpoint_every": 1_000_000,
    "precision": "float32",
    "threads": 2,
    "processes": 1,
}


def bench(folder: Path, vocabulary_size: int, precision: Precision) -> Comparison:
    """One row of the table."""
    project = tokenized_sample(folder, vocabulary_size)
    settings = GptSettings(**{**SETTINGS, "precision": precision})
    check(project, settings)
    lowered = precision != "float32"
    return compare(
        f"gpt-{vocabulary_size // 1000}k" + (f"-{precision}" if lowered else ""),
        our_side(project, settings),
        apart(their_side, project, settings),
        work=f"GPT pretraining, vocabulary {vocabulary_size:,}" + (f", {precision} on both sides" if lowered else ""),
        against="Hugging Face Trainer",
        unit="tokens/s",
        floor=1.6,
        aim=2.0,
    )


def our_side(project: Path, settings: GptSettings) -> Callable[[], float]:
    """Our loop, going on for some steps a call."""
    examples, network = _examples(project, settings), _network(project, settings)
    return our_loop(our_training(network, settings, settings.precision), settings.threads, examples.batch_at, text_loss)


def their_side(project: Path, settings: GptSettings) -> Callable[[], float]:
    """A Trainer on the rows of one epoch, as its user would have stored them."""
    import datasets
    import transformers

    examples = _examples(project, settings)
    rows = [row[:-1] for row in examples.rows.build(np.arange(len(examples.rows)), 0)]
    full = [{"input_ids": row.tolist()} for row in rows if len(row) == settings.max_length]

    def collate(some: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        ids = torch.tensor([row["input_ids"] for row in some])
        return {"input_ids": ids, "labels": ids}

    network: Any = _network(project, settings)
    assert isinstance(network, transformers.OpenAIGPTLMHeadModel)
    return their_trainer(network, settings, datasets.Dataset.from_list(full), collate, settings.precision)


def check(project: Path, settings: GptSettings) -> None:
    """Equal weights must give an equal loss."""
    network: Any = _network(project, settings).eval()
    tensors = _examples(project, settings).batch_at(0).passes[0]
    ids = tensors["input_ids"]
    words = {"words": tensors["words"][: ids.numel()], "all_words": torch.tensor(ids.numel())}
    with torch.no_grad():
        ours = text_loss(network, {"input_ids": ids, **words})["loss"]
        theirs = network(ids, labels=ids, shift_labels=words["words"].view_as(ids)).loss
    torch.testing.assert_close(ours, theirs)


def _examples(project: Path, settings: GptSettings) -> GptExamples:
    store = TokenStore.open(project / "tokens/train")
    return GptExamples(store, read_symbols(project / "tokenizer"), settings, seed=1)


def _network(project: Path, settings: GptSettings) -> torch.nn.Module:
    return build_network(settings, read_symbols(project / "tokenizer"), seed=1)


def main(folder: Path) -> None:
    """Measure and keep."""
    for vocabulary_size, precision in product((8000, 30000), _precisions()):
        result = bench(folder, vocabulary_size, precision)
        write_result(result.name, result)


def _precisions() -> Iterator[Precision]:
    """Those that this processor computes with."""
    yield "float32"
    with suppress(SettingsError):
        check_precision("bfloat16")
        yield "bfloat16"


if __name__ == "__main__":
    main(Path(tempfile.gettempdir()) / "stemma-bench")
