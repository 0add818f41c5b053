"""Stage `validate`: whole-input rules, the report, and that no run differs from another."""

import json
from pathlib import Path
from typing import Any

import pytest

from stemma.adapters.data_docs import build_data_docs
from stemma.data.splits import split_of
from stemma.errors import InputError, ValidationError
from stemma.files import digest_tree
from stemma.progress import NullProgress
from stemma.stages import validate
from stemma.tasks.base import SPLITS
from tests import toy_inputs

pytestmark = pytest.mark.xdist_group("great-expectations")  # one process pays for the import

KINDS = ("classification", "span", "tagging", "choice")


def run(root: Path, params: Any, out: str = "out") -> dict[str, Any]:
    validate.run(
        params,
        NullProgress(),
        corpora=root / "raw/corpora",
        tasks=root / "raw/tasks",
        out=root / out / "valid",
        quarantine=root / out / "quarantine",
        report=root / out / "validation.json",
    )
    report: dict[str, Any] = json.loads((root / out / "validation.json").read_text())["inputs"]
    return report


@pytest.fixture(autouse=True)
def _scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A corpus, nothing wrong with it."""
    toy_inputs.write_corpus(tmp_path / "raw/corpora/toy", [toy_inputs.document(number) for number in range(50)])
    return tmp_path


def make_task(root: Path, kind: str, **splits: list[dict[str, Any]]) -> dict[str, Any]:
    """A task with nothing wrong but what `splits` bring; its settings."""
    rows = {split: toy_inputs.rows(kind, split, 50) for split in SPLITS}
    toy_inputs.write_task(root / "raw/tasks" / kind, kind, rows | splits)
    return {kind: toy_inputs.task(kind)}


def test_good_inputs_pass_whole_and_every_rule_is_in_the_report(root: Path) -> None:
    tasks = {name: task for kind in KINDS for name, task in make_task(root, kind).items()}
    report = run(root, toy_inputs.params(tasks))
    assert sorted(report) == ["corpora/toy", *sorted(f"tasks/{kind}/{split}" for kind in KINDS for split in SPLITS)]
    for entry in report.values():
        assert (entry["rows"], entry["quarantined"], entry["problems"], entry["failures"]) == (50, 0, [], {})
        assert [result for result in entry["results"] if not result["success"]] == []
    rules = {name: {result["rule"] for result in entry["results"]} for name, entry in report.items()}
    everywhere = {"columns", "id null", "id empty", "length", "encoding", "replacement", "control", "repeated id"}
    everywhere |= {"passed", "quarantined share"}
    assert all(everywhere <= found for found in rules.values())
    assert {"label", "label share"} <= rules["tasks/classification/train"]
    assert {"answers", "span"} <= rules["tasks/span/train"]
    assert {"choices", "choice", "label", "label share"} <= rules["tasks/choice/train"]
    assert {"tags", "label", "bio", "entity tags"} <= rules["tasks/tagging/train"]
    overlap = "overlap share with toy"
    assert all((overlap in found) == name.endswith(("/validation", "/test")) for name, found in rules.items())
    counted = next(result for result in report["corpora/toy"]["results"] if result["rule"] == "length")
    assert counted == {
        "rule": "length",
        "type": "expect_column_values_to_be_between",
        "kwargs": {"column": "characters", "min_value": 20, "max_value": 2000000},
        "success": True,
        "result": {"element_count": 50, "missing_count": 0, "unexpected_count": 0},
    }


def test_two_runs_leave_the_same_bytes_whatever_the_memory(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    params = toy_inputs.params(make_task(root, "span"))
    run(root, params, "first")
    monkeypatch.setenv("STEMMA_MEMORY_LIMIT", "2000")
    run(root, params, "second")
    assert digest_tree([root / "first"]) == digest_tree([root / "second"])


def test_without_tasks_there_is_still_a_folder_for_them(root: Path) -> None:
    run(root, toy_inputs.params({}))
    assert json.loads((root / "out/valid/tasks/names.json").read_text()) == []


def test_text_that_repeats_is_counted_and_left_for_clean(root: Path) -> None:
    documents = [toy_inputs.document(number) for number in range(50)]
    documents[7]["text"] = documents[8]["text"] = documents[3]["text"]
    toy_inputs.write_corpus(root / "raw/corpora/toy", documents)
    entry = run(root, toy_inputs.params({}))["corpora/toy"]
    assert entry["facts"]["repeated_texts"] == 2
    assert entry["quarantined"] == 0


def test_splits_with_one_label_or_no_rows_are_refused(root: Path) -> None:
    rows = toy_inputs.rows("classification", "validation", 40)
    for row in rows:
        row["label"] = "good"
    tasks = make_task(root, "classification", validation=rows, test=[])
    with pytest.raises(ValidationError) as raised:
        run(root, toy_inputs.params(tasks))
    assert str(raised.value).startswith("tasks/classification/validation: one label has 100.00% of the rows, more than")
    assert "tasks/classification/test: no row is left" in str(raised.value)
    assert not (root / "out/valid").exists()
    assert json.loads((root / "out/validation.json").read_text())["inputs"]["tasks/classification/test"]["problems"]


def test_a_split_with_no_entity_is_refused(root: Path) -> None:
    rows = toy_inputs.rows("tagging", "train", 40)
    for row in rows:
        row["tags"] = ["O"] * 6
    with pytest.raises(ValidationError, match=r"^tasks/tagging/train: no entity is tagged; mend the input"):
        run(root, toy_inputs.params(make_task(root, "tagging", train=rows)))


def test_evaluation_rows_that_training_documents_hold_are_measured_and_refused(root: Path) -> None:
    splits = toy_inputs.params({}).splits
    documents = [toy_inputs.document(number) for number in range(50)]
    train = [one for one in documents if split_of(one["id"], splits) == "train"]
    test = [one for one in documents if split_of(one["id"], splits) == "test"]
    rows = toy_inputs.rows("classification", "test", 40)
    for row, one in zip(rows, [*train[:4], *test[:4]], strict=False):
        row["text"] = "It was said: " + one["text"].upper()
    rows[20]["text"] = "short"
    tasks = make_task(root, "classification", test=rows)
    params = toy_inputs.params(tasks, overlap_ngram=6, max_overlap_share=0.1)
    facts = run(root, params)["tasks/classification/test"]["facts"]
    assert facts["overlap"]["toy"] == {"rows": 40, "measured": 39, "found": 4, "share": 0.1}, (
        "test documents do not count"
    )
    rows[30]["text_pair"] = train[5]["text"]
    make_task(root, "classification", test=rows)
    with pytest.raises(
        ValidationError, match=r"^tasks/classification/test: 12\.50% of its rows share 6 words in a row"
    ):
        run(root, params)


def test_missing_and_wrong_files_are_named(root: Path) -> None:
    params = toy_inputs.params(make_task(root, "span"))
    toy_inputs.write_task(root / "raw/tasks/span", "tagging", {"test": toy_inputs.rows("tagging", "test", 3)})
    with pytest.raises(
        InputError, match=r"raw/tasks/span/test\.parquet: columns are id string, document string, tokens"
    ):
        run(root, params)
    (root / "raw/tasks/span/test.parquet").unlink()
    with pytest.raises(InputError, match=r"raw/tasks/span/test\.parquet: no such file"):
        run(root, params)


def test_data_docs_need_no_network_and_show_no_more_than_the_report(root: Path) -> None:
    rows = toy_inputs.rows("classification", "train", 50)
    rows[4]["label"] = "<b>secret</b>"
    run(root, toy_inputs.params(make_task(root, "classification", train=rows)))
    index = build_data_docs(root / "out/validation.json", root / "docs")
    assert index == root / "docs/index.html"
    pages = {path.name: path.read_text() for path in (root / "docs").iterdir()}
    assert len(pages) == 1 + 1 + 3
    for name, page in pages.items():
        assert "http://" not in page, name
        assert "https://" not in page, name
        assert "<script" not in page, name
        assert "secret" not in page, name
    assert 'href="tasks-classification-train.html"' in pages["index.html"]
    shown = pages["tasks-classification-train.html"]
    assert "values must belong to this set" in shown
    assert "1 unexpected values found" in shown
    again = build_data_docs(root / "out/validation.json", root / "again")
    assert digest_tree([again.parent]) == digest_tree([index.parent]), "no times in the pages"
