"""The profile of a user's own tasks: its files are read, with no code for them, and break no rule of validation."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stemma.config import Task, TaskFiles, load_params
from stemma.data.input_files import InputFile
from stemma.data.splits import SPLITS
from stemma.tasks.conll import illegal_tag
from stemma.tasks.loaders import read_split

DATA = Path(os.environ.get("STEMMA_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.skipif(
        not DATA.is_dir(), reason="no copies of the original data sets; set STEMMA_DATA to their folder"
    ),
]
PARAMS = load_params(Path(__file__).resolve().parents[2] / "profiles" / "own-tasks.yaml")


def rows_of(task: Task) -> dict[str, list[dict[str, Any]]]:
    source = task.source
    assert isinstance(source, TaskFiles)
    files = {
        split: [InputFile(DATA / name.removeprefix("$STEMMA_DATA/"), name) for name in source.files[split]]
        for split in SPLITS
    }
    return {split: list(read_split(task, split, files, PARAMS.splits)) for split in SPLITS}


@pytest.mark.parametrize("name", ["chnsenticorp", "quora"])
def test_texts_have_every_label_in_every_split(name: str) -> None:
    task = PARAMS.tasks[name]
    for rows in rows_of(task).values():
        labels = Counter(row["label"] for row in rows)
        assert set(labels) == set(task.labels)
        assert max(labels.values()) < 0.6 * len(rows)
        assert all(row["text"].strip() for row in rows)


def test_entities_of_another_scheme_become_legal_tags() -> None:
    task = PARAMS.tasks["msra-ner"]
    splits = rows_of(task)
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 4000, "validation": 500, "test": 1500}
    for rows in splits.values():
        assert {tag for row in rows for tag in row["tags"]} == set(task.labels)
        assert sum(illegal_tag(row["tags"]) is not None for row in rows) <= 0.01 * len(rows)


def test_answers_are_in_their_places_and_no_article_in_two_splits() -> None:
    splits = rows_of(PARAMS.tasks["cmrc2018"])
    assert len(splits["train"]) + len(splits["validation"]) == 3_219
    assert len(splits["test"]) == 1_002
    for rows in splits.values():
        wrong = [
            row["id"]
            for row in rows
            if any(row["context"][one["start"] :][: len(one["text"])] != one["text"] for one in row["answers"])
        ]
        assert len(wrong) <= 0.01 * len(rows), wrong[:5]
    articles = [{row["document"] for row in splits[split]} for split in ("train", "validation")]
    assert not articles[0] & articles[1]
