"""Small corpora and tasks, and settings that name them, for tests of the stages that read them."""

import copy
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from stemma.config import Params
from stemma.data.documents import DOCUMENT_SCHEMA, RowGroupWriter, document_id
from stemma.files import write_json
from stemma.tasks.base import ROW_SCHEMAS, SPLITS

PROJECT = Path(__file__).parent.parent
WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll", "ledge"]
LABELS = ["O", "B-PER", "I-PER"]
CHOICES = ["0", "1", "2"]


def settings(tasks: dict[str, Any], **validation: float) -> dict[str, Any]:
    """The project's own settings with other tasks, and nothing that builds on those tasks."""
    values: dict[str, Any] = yaml.safe_load((PROJECT / "params.yaml").read_text())
    values["tasks"] = tasks
    values["pairs"] = {}
    values["release"]["floors"] = {}
    values["validation"].update(validation)
    return values


def params(tasks: dict[str, Any], **validation: float) -> Params:
    """Those settings, checked."""
    return Params.model_validate(settings(tasks, **validation))


def task(kind: str, files: dict[str, list[str]] | None = None, layout: str = "jsonl", **source: Any) -> dict[str, Any]:
    """A task's settings, with a source of files."""
    labels = {"classification": ["good", "bad"], "regression": [], "span": [], "tagging": LABELS, "choice": CHOICES}
    metric = {
        "classification": "accuracy",
        "regression": "spearman",
        "span": "f1",
        "tagging": "entity_f1",
        "choice": "accuracy",
    }
    named = files or {split: [f"data/external/{split}"] for split in SPLITS}
    return {
        "kind": kind,
        "source": {"kind": "files", "format": layout, "files": named, **source},
        "labels": labels[kind],
        "metric": metric[kind],
        "max_length": 64,
        **({"score_range": [0, 5]} if kind == "regression" else {}),
    }


def text(number: int, words: int = 20) -> str:
    """A text that no other number has."""
    return " ".join(f"{WORDS[(number + position) % len(WORDS)]}{number}x{position}" for position in range(words))


def document(number: int) -> dict[str, str]:
    """A document that breaks no rule."""
    return {
        "id": document_id("toy", str(number)),
        "source": "toy",
        "licence": "CC0",
        "title": f"document {number}",
        "text": text(number),
    }


def row(kind: str, number: int) -> dict[str, Any]:
    """A row that breaks no rule."""
    base = {"id": f"row-{number}", "document": ""}
    words = text(number, 6).split()
    match kind:
        case "classification":
            return {**base, "text": " ".join(words), "text_pair": None, "label": ["good", "bad"][number % 2]}
        case "regression":
            return {**base, "text": " ".join(words), "text_pair": words[0], "score": number % 11 / 2}
        case "span":
            context = " ".join(words)
            answer = {"text": words[2], "start": context.index(words[2])}
            return {**base, "context": context, "question": f"which {number}?", "answers": [answer]}
        case "choice":
            asked = {"context": " ".join(words[:3]), "question": None, "choices": words[3:]}
            return {**base, **asked, "label": CHOICES[number % 3]}
    return {**base, "tokens": words, "tags": ["B-PER", "I-PER", "O", "O", "O", "O"]}


def rows(kind: str, split: str, count: int) -> list[dict[str, Any]]:
    """Rows of a split, which no other split has."""
    start = 100_000 * (1 + SPLITS.index(split))
    return [copy.deepcopy(row(kind, start + number)) for number in range(count)]


def write_corpus(folder: Path, documents: list[dict[str, str]]) -> None:
    """A corpus as `ingest` leaves it."""
    with RowGroupWriter(folder, "documents", DOCUMENT_SCHEMA) as writer:
        for one in documents:
            writer.write(dict(one), len(one["text"]))
    characters = sum(len(one["text"]) for one in documents)
    source = {"files": [], "documents": len(documents), "characters": characters, "licence": "CC0"}
    write_json(folder / "manifest.json", {"sources": {"toy": source}})


def write_task(folder: Path, kind: str, splits: dict[str, list[dict[str, Any]]]) -> None:
    """A task as `prepare` leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, one in splits.items():
        table = pa.Table.from_pylist(one, schema=ROW_SCHEMAS[kind])  # type: ignore[index]
        pq.write_table(table, folder / f"{split}.parquet", row_group_size=1000)


def write_jsonl(path: Path, records: list[dict[str, Any]]) -> None:
    """Records as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
