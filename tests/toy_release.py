"""A project with toy models of three kinds of task, fine-tuned and evaluated by the real stages, ready to be released."""

from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from stemma.config import Finetuning, Params, load_params
from stemma.progress import NullProgress
from stemma.stages import evaluate, finetune
from stemma.tasks.base import ROW_SCHEMAS
from stemma.training.tracker import NullTracker, Tracker
from tests import toy_bert, toy_tasks

CORPORA, TASKS, PRETRAINED = Path("data/clean"), Path("data/valid/tasks"), Path("models/pretrained")
FINETUNED, REPORT, PREDICTIONS = Path("models/finetuned"), Path("reports/evaluation"), Path("reports/predictions")
FINETUNING: Final = Finetuning(
    seeds=[1, 2, 3],
    epochs=4,
    batch_size=16,
    learning_rate=0.01,
    grid=None,
    weight_decay=0.01,
    warmup_share=0.1,
    max_gradient_norm=1.0,
    threads=1,
)


def make_project(folder: Path, tasks: tuple[str, ...] = ("first",)) -> Params:
    """Settings, rows and a pretrained toy BERT; nothing fine-tuned yet."""
    values = toy_tasks.params(FINETUNING).model_dump()
    values["variants"] = {"bert": values["variants"]["bert"]}
    values["probes"] = {}
    values["tasks"] = {task: values["tasks"][task] for task in tasks}
    values["pairs"] = {f"bert-{task}": values["pairs"][f"bert-{task}"] for task in tasks}
    values["evaluation"] |= {"bootstrap_draws": 400, "pseudo_perplexity_sentences": 4}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    toy_tasks.write_pretrained(folder / "toy").rename(folder / "bert")
    (folder / PRETRAINED).mkdir(parents=True)
    (folder / "bert").rename(folder / PRETRAINED / "bert")
    _write_corpus(folder / CORPORA / values["variants"]["bert"]["corpus"])
    for task in tasks:
        write_rows(folder, task)
    return load_params(folder / "params.yaml")


def write_rows(folder: Path, task: str, wrong: str = "") -> None:
    """Save a task's splits; training and choosing go wrong on texts with one of these letters in front."""
    rng = np.random.default_rng(7)
    out = folder / TASKS / task
    out.mkdir(parents=True, exist_ok=True)
    for split, count in (("train", 400), ("validation", 60), ("test", 200)):
        rows = [toy_tasks.make_row(task, number, rng) for number in range(count)]
        for row in rows:
            if split != "test" and wrong and row["text"][0] in wrong:
                row["label"] = {"yes": "no", "no": "yes"}[row["label"]]
        schema = ROW_SCHEMAS[toy_tasks.TASKS[task].kind]
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), out / f"{split}.parquet")


def tune(folder: Path, params: Params, task: str, tracker: Tracker | None = None) -> None:
    """Run the stage `finetune` in the present folder's scratch."""
    finetune.run(
        f"bert-{task}",
        params,
        tracker or NullTracker(),
        NullProgress(),
        pretrained=folder / PRETRAINED / "bert",
        task=folder / TASKS / task,
        out=folder / FINETUNED / f"bert-{task}",
    )


def measure(folder: Path, params: Params) -> None:
    """Run the stage `evaluate`."""
    evaluate.run(
        params,
        NullProgress(),
        corpora=folder / CORPORA,
        tasks=folder / TASKS,
        probes=folder / "probes",
        pretrained=folder / PRETRAINED,
        finetuned=folder / FINETUNED,
        out=folder / REPORT,
        predictions=folder / PREDICTIONS,
        leaderboard=folder / "reports" / "leaderboard.json",
    )


def _write_corpus(folder: Path) -> None:
    rng = np.random.default_rng(3)
    schema = pa.schema([("id", pa.string()), ("source", pa.string()), ("sentences", pa.list_(pa.string()))])
    for split in ("train", "validation", "test"):
        path = folder / split / "part-00000.parquet"
        path.parent.mkdir(parents=True)
        sentences = [toy_bert.sentence(rng, 4) for _ in range(4)]
        row = {"id": split, "source": "toy", "sentences": sentences}
        pq.write_table(pa.Table.from_pylist([row], schema=schema), path)
