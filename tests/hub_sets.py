"""Rows of the known tasks as the Hub's pages document them: names of columns, types of features, names of labels."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from datasets import ClassLabel, Dataset, Features, Sequence, Value

NLI = ["entailment", "neutral", "contradiction"]
ENTAILMENT = ["entailment", "not_entailment"]
TAGS = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC"]
Columns = dict[str, list[Any]]
TEXT, INT = Value("string"), Value("int32")


class HubSet(NamedTuple):
    """A data set: its features, its columns, and what a task's rows should have in which of our columns."""

    features: dict[str, Any]
    columns: Columns
    names: tuple[str, ...]
    expected: list[tuple[Any, ...]]


def write(one: HubSet, path: Path) -> Path:
    """The data set as a parquet file that knows its features, as the Hub's do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Dataset.from_dict(one.columns, features=Features(one.features)).to_parquet(path)
    return path


def _texts(labels: list[str]) -> HubSet:
    features = {"sentence": TEXT, "label": ClassLabel(names=labels), "idx": INT}
    columns: Columns = {"sentence": ["a", "b"], "label": [1, 0], "idx": [0, 1]}
    return HubSet(features, columns, ("text", "label"), [("a", labels[1]), ("b", labels[0])])


def _pairs(first: str, second: str, labels: list[str], *, idx: bool = True) -> HubSet:
    features = {first: TEXT, second: TEXT, "label": ClassLabel(names=labels)}
    columns: Columns = {first: ["a", "c"], second: ["b", "d"], "label": [0, 1]}
    if idx:
        features["idx"], columns["idx"] = INT, [0, 1]
    expected = [("a", "b", labels[0]), ("c", "d", labels[1])]
    return HubSet(features, columns, ("text", "text_pair", "label"), expected)


def _squad(answers: dict[str, list[Any]], expected: list[dict[str, Any]]) -> HubSet:
    features = dict.fromkeys(("id", "title", "context", "question"), TEXT)
    columns: Columns = {"id": ["q"], "title": ["T"], "context": ["a b"], "question": ["what?"], "answers": [answers]}
    return HubSet(
        {**features, "answers": Sequence({"text": TEXT, "answer_start": INT})},
        columns,
        ("id", "document", "context", "question", "answers"),
        [("q", "T", "a b", "what?", expected)],
    )


def _one(features: dict[str, Any], row: dict[str, Any], ours: dict[str, Any]) -> HubSet:
    return HubSet(features, {name: [value] for name, value in row.items()}, tuple(ours), [tuple(ours.values())])


ENDINGS = [f"e{number}" for number in range(4)]

SETS: dict[str, HubSet] = {
    "cola": _texts(["unacceptable", "acceptable"]),
    "sst-2": _texts(["negative", "positive"]),
    "mrpc": _pairs("sentence1", "sentence2", ["not_equivalent", "equivalent"]),
    "qqp": _pairs("question1", "question2", ["not_duplicate", "duplicate"]),
    "mnli": _pairs("premise", "hypothesis", NLI),
    "qnli": _pairs("question", "sentence", ENTAILMENT),
    "rte": _pairs("sentence1", "sentence2", ENTAILMENT),
    "wnli": _pairs("sentence1", "sentence2", ENTAILMENT[::-1]),
    "snli": _pairs("premise", "hypothesis", NLI, idx=False),
    "sst-5": _one(
        {"text": TEXT, "label": Value("int64"), "label_text": TEXT},
        {"text": "a", "label": 4, "label_text": "very positive"},
        {"text": "a", "label": "very positive"},
    ),
    "sts-b": _one(
        {"sentence1": TEXT, "sentence2": TEXT, "label": Value("float32"), "idx": INT},
        {"sentence1": "a", "sentence2": "b", "label": 3.8, "idx": 0},
        {"text": "a", "text_pair": "b", "score": pytest.approx(3.8)},
    ),
    "squad-1.1": _squad({"text": ["b"], "answer_start": [2]}, [{"text": "b", "start": 2}]),
    "squad-2.0": _squad({"text": [], "answer_start": []}, []),
    "conll-2003": _one(
        {
            "id": TEXT,
            "tokens": Sequence(TEXT),
            "pos_tags": Sequence(ClassLabel(num_classes=47)),
            "chunk_tags": Sequence(ClassLabel(num_classes=23)),
            "ner_tags": Sequence(ClassLabel(names=TAGS)),
        },
        {"id": "0", "tokens": ["EU", "rejects"], "pos_tags": [22, 42], "chunk_tags": [11, 21], "ner_tags": [3, 0]},
        {"id": "0", "tokens": ["EU", "rejects"], "tags": ["B-ORG", "O"]},
    ),
    "swag": _one(
        {
            **dict.fromkeys(("video-id", "fold-ind", "startphrase", "sent1", "sent2", "gold-source"), TEXT),
            **{f"ending{number}": TEXT for number in range(4)},
            "label": ClassLabel(names=["0", "1", "2", "3"]),
        },
        {
            "video-id": "v",
            "fold-ind": "1",
            "startphrase": "A. He",
            "sent1": "A.",
            "sent2": "He",
            "gold-source": "gold",
            **{f"ending{number}": text for number, text in enumerate(ENDINGS)},
            "label": 2,
        },
        {"context": "A.", "question": "He", "choices": ENDINGS, "label": "third"},
    ),
    "hellaswag": _one(
        {
            "ind": INT,
            **dict.fromkeys(("activity_label", "ctx_a", "ctx_b", "ctx"), TEXT),
            "endings": Sequence(TEXT),
            **dict.fromkeys(("source_id", "split", "split_type", "label"), TEXT),
        },
        {
            "ind": 24,
            "activity_label": "Roof",
            "ctx_a": "A.",
            "ctx_b": "he",
            "ctx": "A. he",
            "endings": ENDINGS,
            "source_id": "activitynet~v",
            "split": "val",
            "split_type": "indomain",
            "label": "3",
        },
        {
            "id": "activitynet~v-24",
            "document": "activitynet~v",
            "context": "A. he",
            "choices": ENDINGS,
            "label": "fourth",
        },
    ),
}
# Its labels are not public: it is for a submission alone.
AX = HubSet(
    {"premise": TEXT, "hypothesis": TEXT, "label": ClassLabel(names=NLI), "idx": INT},
    {"premise": ["a", "c", "e"], "hypothesis": ["b", "d", "f"], "label": [-1] * 3, "idx": [0, 1, 2]},
    (),
    [],
)
