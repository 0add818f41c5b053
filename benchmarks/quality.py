"""What our engine's speed costs in quality: held-out loss after equal tokens, five seeds of each side.

One side is ours: packed rows, our dropout. The other goes through `BertForPreTraining`'s own forward with torch's dropout, on
the same examples one a row. Same batches, optimizer and schedule; the corpus is the project's stories.
"""

import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from torch import Tensor, nn

from benchmarks.corpora import tokenized_stories
from benchmarks.harness import write_result
from benchmarks.pretraining import SETTINGS
from benchmarks.unpacking import unpacked
from stemma.families.base import Pretraining
from stemma.families.bert import family as bert
from stemma.families.bert.family import BertSettings
from stemma.progress import NullProgress
from stemma.training.tracker import NullTracker

SEEDS = (1, 2, 3, 4, 5)
CHANGES: dict[str, Any] = {
    "layers": 2,
    "hidden_size": 128,
    "heads": 2,
    "intermediate_size": 512,
    "max_length": 64,
    "steps": 1000,
}
CHANGES |= {"learning_rate": 2e-3, "threads": 1}


def main(folder: Path) -> None:
    """Train both sides with every seed, and keep the held-out losses."""
    project = tokenized_stories(folder)
    losses: dict[str, list[float]] = {"ours": [], "theirs": []}
    for seed in SEEDS:
        losses["ours"].append(held_out_loss(project, seed))
        with mock.patch.object(bert, "pretraining_loss", stock_loss):
            losses["theirs"].append(held_out_loss(project, seed))
        print(f"  quality: seed {seed}: {losses['ours'][-1]:.4f} against {losses['theirs'][-1]:.4f}", flush=True)
    record: dict[str, object] = {"name": "quality", "seeds": list(SEEDS), "steps": CHANGES["steps"]}
    for side, values in losses.items():
        half = 2.776 * statistics.stdev(values) / len(values) ** 0.5  # Student's t, 4 degrees of freedom, 95 %
        record[side] = {"losses": values, "mean": statistics.mean(values), "half_width": half}
    write_result("quality", record)


def held_out_loss(project: Path, seed: int) -> float:
    """Masked-LM loss on validation documents after pretraining."""
    settings = BertSettings(**SETTINGS | CHANGES)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        out.mkdir()
        job = Pretraining(
            tokens=project / "tokens",
            tokenizer=project / "tokenizer",
            settings=settings,
            seed=seed,
            scratch=Path(folder) / "scratch",
            out=out,
            tracker=NullTracker(),
            progress=NullProgress(),
        )
        return bert.FAMILY.pretrain(job)["validation_mlm_loss"]


def stock_loss(model: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The loss of `BertForPreTraining` itself on the same examples, one a row."""
    network: Any = model
    rows = unpacked([tensors])
    words = int((rows["labels"] >= 0).sum())
    output = network(**rows)
    mlm = nn.functional.cross_entropy(
        output.prediction_logits.flatten(0, 1), rows["labels"].flatten(), reduction="sum", ignore_index=-100
    )
    nsp = nn.functional.cross_entropy(output.seq_relationship_logits, rows["next_sentence_label"], reduction="sum")
    assert words == len(tensors["labels"])
    mlm, nsp = mlm / tensors["all_words"], nsp / tensors["all_pairs"]
    right = output.seq_relationship_logits.detach().argmax(1) == rows["next_sentence_label"]
    return {"loss": mlm + nsp, "mlm": mlm, "nsp": nsp, "nsp_accuracy": right.sum() / tensors["all_pairs"]}


if __name__ == "__main__":
    main(Path(tempfile.gettempdir()) / "stemma-bench")
