"""Runs a training stage in children that are killed at a chosen moment, and again to the end: `python -m tests.killing JSON`.

The libraries are imported once; every run is a fork, so that SIGKILL ends a process of its own. The parent never computes
with torch: its children start from a clean state.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gensim.models  # noqa: F401 - imported here, not in every child
import safetensors.torch
import torch
import torch._inductor  # which determinism asks for
import transformers

from stemma.code import code_digest
from stemma.config import Finetuning, Grid, Pair, Params
from stemma.data import word_lines
from stemma.files import digest_file
from stemma.progress import NullProgress
from stemma.stages import finetune, pretrain
from stemma.tasks import grid, tuning
from stemma.training import checkpoint, word_vectors
from stemma.training.tracker import NullTracker
from tests import toy_bert, toy_counts, toy_elmo, toy_gpt, toy_nnlm, toy_tasks, toy_transformer, toy_vectors


class Watch(NullProgress):
    """Notes which steps were taken, and kills its process at one of them."""

    def __init__(self, die_at: int | None = None, part: int = 1) -> None:
        self.steps: list[int] = []
        self._die_at, self._part, self._parts = die_at, part, 0

    def start(self, *_: object) -> None:
        self._parts += 1

    def update(self, done: int, *_: object) -> None:
        self.steps.append(done)
        if done == self._die_at and self._parts == self._part:
            die()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_in(module: Any, name: str, call: int, *, before: bool = False, half: bool = False) -> None:
    """Kill this process in the n-th call of a function: before it, half-way through its file, or after it."""
    original, calls = getattr(module, name), 0

    def deadly(*arguments: Any, **keywords: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call and half:
            data = safetensors.torch.save(arguments[0])
            arguments[1].write_bytes(data[: len(data) // 2])
            die()
        if calls == call and before:
            die()
        result = original(*arguments, **keywords)
        if calls == call:
            die()
        return result

    setattr(module, name, deadly)


# Pretraining takes 12 steps and saves after 4, 8 and 12; fine-tuning 8 steps an epoch, three epochs, two seeds.
PRETRAIN: dict[str, Callable[[], Watch | None]] = {
    "before the first checkpoint": lambda: Watch(3),
    "between two checkpoints": lambda: Watch(7),
    "while the tensors of the second are written": lambda: die_in(checkpoint, "save_file", 2, half=True),
    "before its manifest": lambda: die_in(checkpoint, "write_manifest", 2, before=True),
    "before the oldest is removed": lambda: die_in(checkpoint.Checkpoints, "_saved", 4, before=True),
    "and the newest checkpoint is truncated": lambda: Watch(11),
    "and the newest checkpoint has a flipped bit": lambda: Watch(11),
    "at the last step": lambda: Watch(12),
    "while the result is written": lambda: die_in(pretrain, "write_json", 1),
}
FINETUNE: dict[str, Callable[[], Watch | None]] = {
    "in the first epoch": lambda: Watch(5),
    "in the second epoch": lambda: Watch(11),
    "while validation rows are scored": lambda: die_in(tuning, "score", 2, before=True),
    "while the checkpoint of an epoch is written": lambda: die_in(checkpoint, "save_file", 2, half=True),
    "in the second seed": lambda: Watch(10, part=2),
    "while the result is written": lambda: die_in(finetune, "write_manifest", 2, before=True),
}
# With a grid of two points, of one epoch and of two, a part each for every seed.
GRID: dict[str, Callable[[], Watch | None]] = {
    "in the first point": lambda: Watch(5),
    "in the second point": lambda: Watch(11, part=2),
    "while the first point's result is kept": lambda: die_in(checkpoint, "save_file", 2, half=True),
    "before the second's is": lambda: die_in(grid, "_state", 2, before=True),
    "in the second seed": lambda: Watch(10, part=4),
    "while the result is written": lambda: die_in(finetune, "write_manifest", 2, before=True),
}
# NNLM, GPT, the Transformer and ELMo (whose second epoch begins with step 10) take 12 steps too, then validate.
LANGUAGE_MODEL: dict[str, Callable[[], Watch | None]] = {
    "between two checkpoints": lambda: Watch(7),
    "while the tensors of the second are written": lambda: die_in(checkpoint, "save_file", 2, half=True),
    "at the last step": lambda: Watch(12),
    "while the result is written": lambda: die_in(pretrain, "write_json", 1),
}

# GloVe has three batches an epoch (the corpus is counted first, which is a part of its own), saves after 2, 4 and 6 epochs.
GLOVE: dict[str, Callable[[], Watch | None]] = {
    "while pairs are counted": lambda: Watch(1500),
    "before the first checkpoint": lambda: Watch(5, part=2),
    "between two checkpoints": lambda: Watch(11, part=2),
    "while the tensors of the second are written": lambda: die_in(checkpoint, "save_file", 2, half=True),
    "while the result is written": lambda: die_in(pretrain, "write_json", 1),
}

# Word vectors take 3 epochs and save after each.
VECTORS: dict[str, Callable[[], Watch | None]] = {
    "while the text is written": lambda: die_in(word_lines, "_as_text", 2),
    "in the first epoch": lambda: die_in(word_vectors.VectorTraining, "_record", 1, before=True),
    "while the checkpoint of the second is written": lambda: die_in(checkpoint, "save_file", 2, half=True),
    "after the second": lambda: Watch(2),
    "and the newest checkpoint has a flipped bit": lambda: Watch(2),
    "while the result is written": lambda: die_in(pretrain, "write_json", 1),
}

NETWORKS = {"bert": ("BertForPreTraining", "BertForSequenceClassification"), "gpt": ("OpenAIGPTLMHeadModel",)}


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-100] ^= 4
    path.write_bytes(data)


DAMAGE = {
    "and the newest checkpoint is truncated": truncate,
    "and the newest checkpoint has a flipped bit": flip_a_bit,
}


def run_pretrain(family: str, asked: dict[str, Any], folder: Path, out: Path, watch: Watch, **overrides: Any) -> None:
    settings = toy_tasks.params().model_dump()
    settings["families"][family] = asked
    settings["variants"]["killed"] = settings["variants"]["bert"] | {"family": family, "overrides": overrides}
    data = {"tokens": folder / "tokens", "tokenizer": folder / "tokenizer"}
    pretrain.run("killed", Params(**settings), NullTracker(), watch, **data, out=out)


def run_vectors(family: str, folder: Path, out: Path, watch: Watch) -> None:
    data = {"tokens": folder / "tokens", "tokenizer": folder / "tokenizer"}
    pretrain.run(family, Params(**toy_vectors.params(family)), NullTracker(), watch, **data, out=out)


def run_finetune(
    family: str,
    folder: Path,
    out: Path,
    watch: Watch,
    *,
    task: str = "first",
    settings: Finetuning = toy_tasks.FINETUNING,
) -> None:
    data = {"pretrained": folder / "out", "task": folder / "task"}
    pairs = {"killed": Pair(variant=family, family=family, task=task)}
    params = toy_tasks.params(settings).model_copy(update={"pairs": pairs})
    finetune.run("killed", params, NullTracker(), watch, **data, out=out)


TWO_POINTS = toy_tasks.FINETUNING.model_copy(
    update={"epochs": 2, "grid": Grid(epochs=[1, 2], batch_size=[8], learning_rate=[0.01])}
)
STAGES: dict[str, tuple[Callable[..., None], dict[str, Callable[[], Watch | None]]]] = {
    "word2vec": (partial(run_vectors, "word2vec"), VECTORS),
    "fasttext": (partial(run_vectors, "fasttext"), VECTORS),
    "glove": (partial(run_pretrain, "glove", toy_counts.SETTINGS["glove"]), GLOVE),
    "nnlm": (partial(run_pretrain, "nnlm", toy_nnlm.SETTINGS), LANGUAGE_MODEL),
    "gpt": (partial(run_pretrain, "gpt", toy_gpt.SETTINGS), LANGUAGE_MODEL),
    "elmo": (partial(run_pretrain, "elmo", toy_elmo.SETTINGS), LANGUAGE_MODEL),
    "transformer": (partial(run_pretrain, "transformer", toy_transformer.SETTINGS), LANGUAGE_MODEL),
    "bert": (partial(run_pretrain, "bert", toy_bert.SETTINGS), PRETRAIN),
    "bert-finetune": (partial(run_finetune, "bert"), FINETUNE),
    "bert-finetune-grid": (partial(run_finetune, "bert", settings=TWO_POINTS), GRID),
    "gpt-finetune": (partial(run_finetune, "gpt"), FINETUNE),
    "elmo-finetune": (partial(run_finetune, "elmo"), FINETUNE),
    "word2vec-finetune": (partial(run_finetune, "word2vec"), FINETUNE),
    "fasttext-finetune": (partial(run_finetune, "fasttext", task="letters"), FINETUNE),
}


def in_child(work: Callable[[], object]) -> tuple[int, Any]:
    """Do something in a fork; returns its exit status, negative for a signal, and what it returned."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        torch.manual_seed(os.getpid())  # no two processes start with the same random state
        answer = work()
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        answer = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), json.loads(answer) if answer else None


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): digest_file(path) for path in sorted(folder.rglob("*")) if path.is_file()
    }


def main(stage: str, cases: dict[str, dict[str, Any]], chosen: list[str]) -> None:
    """Print, as JSON, what came of each folder with its overrides, at the moments that are chosen, or at all of them."""
    run, moments = STAGES[stage]
    moments = {moment: arm for moment, arm in moments.items() if moment in chosen or not chosen}
    family, _, tuned = stage.partition("-")
    for network in NETWORKS.get(family, ()):
        getattr(transformers, network)  # imported here, not in every child
    of_stage = tuned.partition("-")[0] or "pretrain"
    code_digest([f"stemma.stages.{of_stage}", f"stemma.families.{family}.family"])  # likewise the graph of imports
    report = {
        folder: kill(partial(run, Path(folder), **overrides), Path(folder), moments)
        for folder, overrides in cases.items()
    }
    json.dump(report, sys.stdout)


def kill(
    run: Callable[[Path, Watch], None], folder: Path, moments: dict[str, Callable[[], Watch | None]]
) -> dict[str, Any]:
    """For each moment: how the killed run ended, which steps the next one took, and what it wrote."""

    def attempt(number: int, arm: Callable[[], Watch | None]) -> tuple[int, Any]:
        os.environ["STEMMA_SCRATCH"] = str(folder / f"scratch-{number}")

        def work() -> object:
            watch = arm() or Watch()
            run(folder / f"result-{number}", watch)
            return {"steps": watch.steps, "files": digests(folder / f"result-{number}")}

        return in_child(work)

    report: dict[str, Any] = {"whole": attempt(0, Watch)}
    for number, (moment, arm) in enumerate(moments.items(), start=1):
        killed = attempt(number, arm)
        if moment in DAMAGE:
            newest = max(folder.glob(f"scratch-{number}/*/step-*/tensors.safetensors"))
            DAMAGE[moment](newest)
        report[moment] = [killed, attempt(number, Watch)]
    return report


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
