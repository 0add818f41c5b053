"""The loaders on copies of the official files: the published numbers of rows, and what the files are known to hold."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stemma.config import Splits, Task
from stemma.data.input_files import InputFile
from stemma.tasks.conll import illegal_tag
from stemma.tasks.loaders import read_split
from tests import toy_inputs

DATA = Path(os.environ.get("STEMMA_DATA") or Path(__file__).resolve().parents[4] / "shared" / "data")
pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.skipif(
        not DATA.is_dir(), reason="no copies of the original data sets; set STEMMA_DATA to their folder"
    ),
]


def load(kind: str, layout: str, name: str, **source: Any) -> list[dict[str, Any]]:
    task = Task.model_validate(toy_inputs.task(kind, layout=layout, **source))
    return list(
        read_split(task, "train", {"train": [InputFile(DATA / name, name)], "validation": [], "test": []}, SPLITS)
    )


SPLITS = Splits(validation=0.1, test=0.1)


@pytest.mark.parametrize(("split", "rows"), [("train", 67_349), ("dev", 872)])
def test_sst2_has_its_published_rows(split: str, rows: int) -> None:
    found = load(
        "classification",
        "tsv",
        f"glue/SST-2/{split}.tsv.gz",
        columns={"text": "sentence"},
        label_names={"0": "negative", "1": "positive"},
    )
    assert len(found) == rows
    assert {row["label"] for row in found} == {"negative", "positive"}


def test_cola_without_a_header_has_its_published_rows() -> None:
    found = load("classification", "tsv", "glue/CoLA/dev.tsv.gz", header=False, columns={"label": 1, "text": 3})
    assert len(found) == 1_043
    assert {row["label"] for row in found} == {"0", "1"}


def test_mrpc_with_quotes_in_its_text_has_its_published_rows() -> None:
    columns = {"text": "#1 String", "text_pair": "#2 String", "label": "Quality"}
    assert len(load("classification", "tsv", "glue/MRPC/dev.tsv.gz", columns=columns)) == 408


def test_hellaswag_has_its_published_rows_with_four_choices_each() -> None:
    columns: dict[str, Any] = {"id": "ind", "context": "ctx", "choices": "endings"}
    found = load("choice", "jsonl", "hellaswag/hellaswag_val.jsonl.gz", columns=columns)
    assert len(found) == 10_042
    assert {len(row["choices"]) for row in found} == {4}
    assert {row["label"] for row in found} == {"0", "1", "2", "3"}


@pytest.mark.parametrize(
    ("split", "sentences", "tokens", "entities"),
    [("train", 14_041, 203_621, 23_499), ("testa", 3_250, 51_362, 5_942), ("testb", 3_453, 46_435, 5_648)],
)
def test_conll_has_its_published_sentences_tokens_and_entities(
    split: str, sentences: int, tokens: int, entities: int
) -> None:
    found = load("tagging", "conll", f"conll2003/eng.{split}.gz")
    assert len(found) == sentences
    assert sum(len(row["tokens"]) for row in found) == tokens
    tags = Counter(tag for row in found for tag in row["tags"])
    assert sum(count for tag, count in tags.items() if tag.startswith("B-")) == entities
    assert all(illegal_tag(row["tags"]) is None for row in found)


@pytest.mark.parametrize(
    ("name", "questions"),
    [
        ("squadshifts/new_wiki_v1.0.json.gz", 7_938),
        ("squadshifts/amazon_reviews_v1.0.json.gz", 9_885),
        ("squadshifts/reddit_v1.0.json.gz", 9_803),
        ("squad/dev-v1.1.json.gz", 10_570),
    ],
)
def test_squad_has_its_published_questions_with_answers_in_their_places(name: str, questions: int) -> None:
    found = load("span", "squad", name)
    assert len(found) == questions
    for row in found:
        assert row["answers"]
        for answer in row["answers"]:
            assert row["context"][answer["start"] :].startswith(answer["text"])
