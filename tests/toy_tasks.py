"""Tasks so small and plain that a toy BERT learns something of them in a second."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stemma.config import Finetuning, Params, Task, load_params
from stemma.families.bert.family import FAMILY as BERT
from stemma.files import write_json, write_manifest
from stemma.tasks.base import ROW_SCHEMAS
from tests import toy_bert

SOURCE: Final[Any] = {
    "kind": "offline",
    "recipe": "r",
    "corpus": "english",
    "sources": ["stories"],
    "examples": {"train": 1},
}
TASKS: Final = {
    "first": Task(
        kind="classification",
        source=SOURCE,
        labels=["no", "yes"],
        metric="accuracy",
        max_length=24,
    ),
    "how-many": Task(
        kind="regression", source=SOURCE, labels=[], metric="spearman", max_length=24, score_range=(0.0, 5.0)
    ),
    "where": Task(kind="span", source=SOURCE, labels=[], metric="f1", max_length=24, stride=4),
    "letters": Task(
        kind="tagging",
        source=SOURCE,
        labels=["O", "B-A", "I-A"],
        metric="entity_f1",
        max_length=24,
    ),
    "pick": Task(kind="choice", source=SOURCE, labels=["one", "two", "three"], metric="accuracy", max_length=24),
}
FINETUNING: Final = Finetuning(
    seeds=[1, 2],
    epochs=3,
    batch_size=8,
    learning_rate=0.01,
    grid=None,
    weight_decay=0.01,
    warmup_share=0.1,
    max_gradient_norm=1.0,
    threads=1,
)


def make_row(task: str, number: int, rng: np.random.Generator) -> dict[str, Any]:
    """Is there a `j`? How many words begin with `a`, and which? Which word is asked for? Which choice has a `j`?"""
    words = toy_bert.sentence(rng, int(rng.integers(2, 12))).split()
    row = {"id": f"{task}-{number}", "document": ""}
    if task == "first":
        return {**row, "text": " ".join(words), "text_pair": None, "label": "yes" if "j" in "".join(words) else "no"}
    if task == "how-many":
        score = float(min(5, sum(word[0] == "a" for word in words)))
        return {**row, "text": " ".join(words), "text_pair": None, "score": score}
    if task == "where":
        chosen = int(rng.integers(len(words)))
        start = sum(len(word) + 1 for word in words[:chosen])
        answers = [{"text": words[chosen], "start": start}]
        return {**row, "context": " ".join(words), "question": words[chosen], "answers": answers}
    if task == "pick":
        choices = [toy_bert.sentence(rng, 3).replace("j", "i") for _ in range(3)]
        right = int(rng.integers(3))
        choices[right] += " j"
        label = TASKS[task].labels[right]
        return {**row, "context": " ".join(words), "question": None, "choices": choices, "label": label}
    return {**row, "tokens": words, "tags": ["B-A" if word[0] == "a" else "O" for word in words]}


def write_task(folder: Path, task: str, *, train: int = 60, validation: int = 30) -> Path:
    """Save a toy task's training and validation rows; there is no test split to be read."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    for split, count in (("train", train), ("validation", validation)):
        rows = [make_row(task, number, rng) for number in range(count)]
        pq.write_table(pa.Table.from_pylist(rows, schema=ROW_SCHEMAS[TASKS[task].kind]), folder / f"{split}.parquet")
    return folder


def write_pretrained(folder: Path, **changes: Any) -> Path:
    """Save a toy BERT as the stage `pretrain` does."""
    job = toy_bert.pretraining(folder, steps=0, **changes)
    write_json(job.out / "metrics.json", BERT.pretrain(job))
    write_json(job.out / "family.json", {"family": "bert", "variant": "bert"})
    write_manifest(job.out)
    return job.out


def params(finetuning: Finetuning = FINETUNING) -> Params:
    """The project's settings with the toy tasks instead of its own."""
    default = load_params(Path(__file__).parent.parent / "params.yaml").model_dump()
    pairs = {f"bert-{task}": {"variant": "bert", "family": "bert", "task": task} for task in TASKS}
    corpus = {"corpus": default["variants"]["bert"]["corpus"]}  # one that is there, whatever the project calls its own
    tasks = {name: {**task.model_dump(), "source": task.source.model_dump() | corpus} for name, task in TASKS.items()}
    release = {**default["release"], "floors": {}}
    return Params(
        **{**default, "tasks": tasks, "pairs": pairs, "finetuning": finetuning.model_dump(), "release": release}
    )
