"""N bad rows of any kind put into any kind of input are N rows in quarantine, with reasons; nothing is lost.

One above the limit, and the stage fails.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stemma.data.documents import DOCUMENT_SCHEMA
from stemma.errors import ValidationError
from stemma.progress import NullProgress
from stemma.stages import validate
from stemma.tasks.base import SPLITS
from tests import toy_inputs

pytestmark = pytest.mark.xdist_group("great-expectations")  # one process pays for the import

Row = dict[str, Any]
N = 2  # bad rows of each sort, a split
GOOD = 60
OTHER_SPLIT = {"train": "validation", "validation": "test"}
SURROGATE = b"long enough to pass, but \xed\xa0\x80 is half of a pair"


def short(row: Row, _: list[Row]) -> Row:
    return {**row, "text": "short"}


def long(row: Row, _: list[Row]) -> Row:
    return {**row, "text": row["text"] + "x" * 5000}


def repeat_id(row: Row, good: list[Row]) -> Row:
    return {**row, "id": good[0]["id"]}


BAD_DOCUMENTS: dict[str, Callable[[Row, list[Row]], Row]] = {
    "5 characters, expected 20 to 5000": short,
    "characters, expected 20 to 5000": long,
    "licence is empty": lambda row, _: {**row, "licence": ""},
    "replacement characters (U+FFFD)": lambda row, _: {**row, "text": row["text"] + "\ufffd"},
    "of the text are control characters": lambda row, _: {**row, "text": row["text"] + "\x00"},
    "not valid UTF-8": lambda row, _: {**row, "text": SURROGATE},
    "its id is that of documents-00000.parquet row 0": repeat_id,
}

BAD_ROWS: dict[str, dict[str, Callable[[Row, list[Row]], Row]]] = {
    "classification": {
        "id is empty": lambda row, _: {**row, "id": ""},
        "text is empty": lambda row, _: {**row, "text": " \n"},
        "text_pair is empty": lambda row, _: {**row, "text_pair": ""},
        "expected 1 to 5000": long,
        "unknown label 'ugly'": lambda row, _: {**row, "label": "ugly"},
        "unknown label ''": lambda row, _: {**row, "label": ""},
        "replacement characters": lambda row, _: {**row, "text_pair": "a\ufffd"},
        "control characters": lambda row, _: {**row, "text": row["text"] + "\x9b"},
        "its id is that of {split}.parquet row 0": repeat_id,
        "its content is that of {split}.parquet row 0": lambda row, good: {**good[0], "id": row["id"]},
    },
    "regression": {
        "text is empty": lambda row, _: {**row, "text": " "},
        "score inf is no finite number": lambda row, _: {**row, "score": math.inf},
        "score 5.5, expected 0 to 5": lambda row, _: {**row, "score": 5.5},
        "its content is that of {split}.parquet row 0": lambda row, good: {**good[0], "id": row["id"]},
    },
    "span": {
        "context is empty": lambda row, _: {**row, "context": "", "answers": [{"text": "a", "start": 0}]},
        "question is empty": lambda row, _: {**row, "question": ""},
        "no answers": lambda row, _: {**row, "answers": []},
        "an answer is empty": lambda row, _: {**row, "answers": [{"text": "", "start": 0}]},
        "is not at character 1 of its context": lambda row, _: _move(row, 1),
        "is not at character -1 of its context": lambda row, _: _move(row, -1),
        "is not at character 9999 of its context": lambda row, _: _move(row, 9999),
        "its content is that of {split}.parquet row 0": lambda row, good: {**good[0], "id": row["id"]},
    },
    "tagging": {
        "0 characters, expected 1": lambda row, _: {**row, "tokens": [], "tags": []},
        "6 tokens but 5 tags": lambda row, _: {**row, "tags": row["tags"][:5]},
        "token 3 is empty": lambda row, _: {**row, "tokens": [*row["tokens"][:3], " ", *row["tokens"][4:]]},
        "unknown tag 'B-LOC'": lambda row, _: {**row, "tags": ["B-LOC", "O", "O", "O", "O", "O"]},
        "tag 'I-PER' of token 2 goes on with no entity": lambda row, _: {**row, "tags": ["O", "O", "I-PER", *"OOO"]},
        "its content is that of {split}.parquet row 0": lambda row, good: {**good[0], "id": row["id"]},
    },
    "choice": {
        "context is empty": lambda row, _: {**row, "context": " "},
        "question is empty": lambda row, _: {**row, "question": ""},
        "2 choices, expected 3": lambda row, _: {**row, "choices": row["choices"][:2]},
        "choice 1 is empty": lambda row, _: {**row, "choices": [row["choices"][0], "", row["choices"][2]]},
        "unknown label '3'": lambda row, _: {**row, "label": "3"},
        "replacement characters": lambda row, _: {**row, "choices": [*row["choices"][:2], "a\ufffd"]},
        "its content is that of {split}.parquet row 0": lambda row, good: {**good[0], "id": row["id"]},
    },
}


def _move(row: Row, start: int) -> Row:
    return {**row, "answers": [{**row["answers"][0], "start": start}]}


def run(root: Path, params: Any) -> None:
    validate.run(
        params,
        NullProgress(),
        corpora=root / "raw/corpora",
        tasks=root / "raw/tasks",
        out=root / "valid",
        quarantine=root / "quarantine",
        report=root / "validation.json",
    )


def write_documents(folder: Path, documents: list[Row]) -> None:
    """As `ingest` leaves them; a text may also be bytes that are no UTF-8, as parquet does not look."""
    toy_inputs.write_corpus(folder, [])
    columns = {
        name: pa.array([_bytes(row[name]) for row in documents], pa.binary()).view(pa.string())
        for name in DOCUMENT_SCHEMA.names
    }
    table = pa.Table.from_arrays(list(columns.values()), schema=DOCUMENT_SCHEMA)
    pq.write_table(table, folder / "documents-00000.parquet", row_group_size=25)


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


@pytest.fixture(autouse=True)
def _scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))


def spread(good: list[Row], bad: list[Row]) -> list[Row]:
    """Bad rows between the good ones, over all row groups; the first row stays good."""
    mixed = list(good)
    for position, row in enumerate(bad):
        mixed.insert(1 + (position * 7) % len(mixed), row)
    return mixed


def test_every_bad_document_is_in_quarantine_with_its_reason(tmp_path: Path) -> None:
    good: list[Row] = [dict(toy_inputs.document(number)) for number in range(GOOD)]
    reasons = [reason for reason in BAD_DOCUMENTS for _ in range(N)]
    bad = [
        BAD_DOCUMENTS[reason](dict(toy_inputs.document(1000 + number)), good) for number, reason in enumerate(reasons)
    ]
    rows = spread(good, bad)
    write_documents(tmp_path / "raw/corpora/toy", rows)
    (tmp_path / "raw/tasks").mkdir()
    run(tmp_path, toy_inputs.params({}, max_characters=5000, max_quarantined_share=0.5))

    quarantine = pq.read_table(tmp_path / "quarantine/corpora/toy.parquet").to_pylist()
    found = {row["row"]: row for row in quarantine}
    assert len(quarantine) == len(found) == N * len(BAD_DOCUMENTS)
    for row, reason in zip(bad, reasons, strict=True):
        position = next(place for place, other in enumerate(rows) if other is row)
        assert reason in found[position]["reason"]
        assert found[position]["input"] == "documents-00000.parquet"
        assert found[position]["id"] == row["id"]
        assert json.loads(found[position]["content"])["title"] == row["title"]
    passed = pq.read_table(tmp_path / "valid/corpora/toy/documents-00000.parquet").to_pylist()
    assert sorted(row["id"] for row in passed) == sorted(row["id"] for row in good)
    manifest = json.loads((tmp_path / "valid/corpora/toy/manifest.json").read_text())
    assert manifest["sources"]["toy"]["documents"] == GOOD
    assert manifest["sources"]["toy"]["characters"] == sum(len(row["text"]) for row in good)


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_every_bad_row_of_a_task_is_in_quarantine_with_its_reason(tmp_path: Path, kind: str) -> None:
    """Each split gets N bad rows of each sort, and train and validation rows that a later split asks too."""
    good = {split: toy_inputs.rows(kind, split, GOOD) for split in SPLITS}
    bad: dict[str, list[tuple[str, Row]]] = {}
    for split in SPLITS:
        made = toy_inputs.rows(kind, split, 1000)[500:]
        bad[split] = [
            (reason.format(split=split), make(made.pop(), good[split]))
            for reason, make in BAD_ROWS[kind].items()
            for _ in range(N)
        ]
        if split in OTHER_SPLIT:
            leaks = good[OTHER_SPLIT[split]][1 : 1 + N]
            reason = f"what it asks is that of {OTHER_SPLIT[split]}.parquet row"
            bad[split] += [(reason, {**leak, "id": made.pop()["id"]}) for leak in leaks]
    rows = {split: spread(good[split], [row for _, row in bad[split]]) for split in SPLITS}
    toy_inputs.write_task(tmp_path / "raw/tasks/toy", kind, rows)
    write_documents(tmp_path / "raw/corpora/toy", [dict(toy_inputs.document(number)) for number in range(3)])
    run(tmp_path, toy_inputs.params({"toy": toy_inputs.task(kind)}, max_characters=5000, max_quarantined_share=0.5))

    quarantine = pq.read_table(tmp_path / "quarantine/tasks/toy.parquet").to_pylist()
    found = {(row["input"], row["row"]): row for row in quarantine}
    assert len(quarantine) == len(found) == sum(len(bad[split]) for split in SPLITS)
    for split in SPLITS:
        for reason, row in bad[split]:
            position = next(place for place, other in enumerate(rows[split]) if other is row)
            assert reason in found[f"{split}.parquet", position]["reason"]
            assert found[f"{split}.parquet", position]["id"] == row["id"]
            assert json.loads(found[f"{split}.parquet", position]["content"]) == row
        assert pq.read_table(tmp_path / f"valid/tasks/toy/{split}.parquet").to_pylist() == good[split]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def test_published_sets_may_keep_their_duplicates(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = {split: toy_inputs.rows("tagging", split, 20) for split in SPLITS}
    rows["train"] += [
        {**rows["train"][0], "id": "again"},
        {**rows["test"][0], "id": "leak"},
        {**toy_inputs.row("tagging", 77), "id": rows["train"][3]["id"]},
    ]
    toy_inputs.write_task(tmp_path / "raw/tasks/toy", "tagging", rows)
    write_documents(tmp_path / "raw/corpora/toy", [dict(toy_inputs.document(0))])
    run(tmp_path, toy_inputs.params({"toy": toy_inputs.task("tagging", duplicates="keep")}, max_quarantined_share=0.1))
    refused = pq.read_table(tmp_path / "quarantine/tasks/toy.parquet").to_pylist()
    assert [row["reason"] for row in refused] == ["its id is that of train.parquet row 3"], "predictions go by id"
    facts = json.loads((tmp_path / "validation.json").read_text())["inputs"]["tasks/toy/train"]["facts"]
    assert (facts["repeated_rows"], facts["leaked_rows"]) == (1, 1)
    kept = "1 rows ask what another split asks, and are kept: train.parquet row 21 as test.parquet row 0"
    assert warnings(caplog) == [f"tasks/toy/train: {kept}"]


def test_kept_rows_that_two_splits_share_are_named_by_file_and_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = {split: toy_inputs.rows("tagging", split, 20) for split in SPLITS}
    rows["train"] += [{**rows["test"][number], "id": f"leak-{number}"} for number in range(7)]
    folder = tmp_path / "raw/tasks/toy"
    toy_inputs.write_task(folder, "tagging", rows)
    for split in SPLITS:
        places = [f"{split}.conll:{9 * number + 1}" for number in range(len(rows[split]))]
        pq.write_table(pa.table({"where": places}), folder / f"{split}.where.parquet")
    write_documents(tmp_path / "raw/corpora/toy", [dict(toy_inputs.document(0))])
    run(tmp_path, toy_inputs.params({"toy": toy_inputs.task("tagging", duplicates="keep")}))
    (warning,) = warnings(caplog)
    assert warning.startswith("tasks/toy/train: 7 rows ask what another split asks, and are kept: ")
    assert warning.count(" as ") == 5
    assert "train.parquet row 20 (train.conll:181) as test.parquet row 0 (test.conll:1); " in warning
    assert warning.endswith("as test.parquet row 4 (test.conll:37); …")


@pytest.mark.parametrize("where", ["corpus", "task"])
def test_one_row_above_the_limit_fails_the_stage(tmp_path: Path, where: str, caplog: pytest.LogCaptureFixture) -> None:
    limit = 3

    def attempt(num_bad: int) -> None:
        documents = [dict(toy_inputs.document(number)) for number in range(100)]
        rows = {split: toy_inputs.rows("classification", split, 100) for split in SPLITS}
        for number in range(num_bad):
            if where == "corpus":
                documents[10 * number]["text"] = "short"
            else:
                rows["test"][10 * number]["label"] = "ugly"
        toy_inputs.write_corpus(tmp_path / "raw/corpora/toy", documents)
        toy_inputs.write_task(tmp_path / "raw/tasks/toy", "classification", rows)
        settings = toy_inputs.params({"toy": toy_inputs.task("classification")}, max_quarantined_share=limit / 100)
        run(tmp_path, settings)

    attempt(limit)
    assert (tmp_path / "valid").is_dir()
    name, reason = {
        "corpus": ("corpora/toy", "5 characters, expected 20"),
        "task": ("tasks/toy/test", "unknown label 'ugly'"),
    }[where]
    with pytest.raises(ValidationError) as raised:
        attempt(limit + 1)
    assert str(raised.value).startswith(f"{name}: 4.00% of its rows fail, more than the 3.00%")
    assert "\n" not in str(raised.value)
    shown = [record.getMessage() for record in caplog.records if record.name == "stemma.stages.validate"]
    assert len(shown) == limit + 1
    assert shown[1].startswith(f"{name}: ")
    assert "row 10 id " in shown[1]
    assert reason in shown[1]
    folder = "corpora" if where == "corpus" else "tasks"
    assert pq.read_metadata(tmp_path / f"quarantine/{folder}/toy.parquet").num_rows == limit + 1, "nothing is lost"
