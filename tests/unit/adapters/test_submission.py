"""Submissions: written from a tuned model and an unlabelled file, and refused by line when they would not be accepted."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from stemma.adapters.submission import check_submission, make_submission
from stemma.cli import app
from stemma.config import Task
from stemma.errors import InputError, SettingsError
from stemma.families.bert.network import load_encoder
from stemma.files import write_json, write_manifest
from stemma.tasks import submission
from stemma.tasks.known import KNOWN
from stemma.tasks.submission import GLUE, check_glue, spell, write_glue
from tests import hub_sets, toy_tasks

# The names that the server knows, with their numbers of rows.
SERVER = {
    "CoLA": 1_063,
    "SST-2": 1_821,
    "MRPC": 1_725,
    "STS-B": 1_379,
    "QQP": 390_965,
    "MNLI-m": 9_796,
    "MNLI-mm": 9_847,
    "QNLI": 5_463,
    "RTE": 3_000,
    "WNLI": 146,
    "AX": 1_104,
}
SPELLED = {
    **{name: {"0", "1"} for name in ("CoLA", "SST-2", "MRPC", "QQP", "WNLI")},
    **{name: {"entailment", "neutral", "contradiction"} for name in ("MNLI-m", "MNLI-mm", "AX")},
    **{name: {"entailment", "not_entailment"} for name in ("QNLI", "RTE")},
    "STS-B": set(),
}


def test_files_are_those_of_the_server() -> None:
    assert {name: glue.rows for name, glue in GLUE.items()} == SERVER
    for name, glue in GLUE.items():
        assert set(glue.labels().values()) == SPELLED[name]
        assert set(glue.labels()) == set(glue.known.labels)
    assert GLUE["CoLA"].labels()["acceptable"] == "1"
    assert GLUE["WNLI"].labels()["not_entailment"] == "0"


def test_predictions_are_spelled_by_index() -> None:
    labels = pa.table({"id": ["10", "9"], "label": ["acceptable", "unacceptable"]})
    assert spell("CoLA", labels) == {"10": "1", "9": "0"}
    scores = pa.table({"id": ["0", "1"], "score": [-0.2, 2.5]})
    assert spell("STS-B", scores) == {"0": "0.000000", "1": "2.500000"}


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's tasks, with test sets of three rows."""
    small = {name: replace(glue, rows=3) for name, glue in GLUE.items()}
    monkeypatch.setattr(submission, "GLUE", small)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("CoLA", ["index,prediction"], r":1: the first line is 'index,prediction'"),
        ("CoLA", ["index\tprediction", "0"], r":2: 1 columns, expected 2"),
        ("CoLA", ["index\tprediction", "0\tacceptable"], r":2: prediction 'acceptable', expected one of 0, 1"),
        ("CoLA", ["index\tprediction", "3\t1"], r":2: index '3' is none of 0 to 2"),
        ("CoLA", ["index\tprediction", "a\t1"], r":2: index 'a' is none of 0 to 2"),
        ("CoLA", ["index\tprediction", "0\t1", "0\t1"], r":3: index '0' stands there twice"),
        (
            "AX",
            ["index\tprediction", "0\t1"],
            r":2: prediction '1', expected one of contradiction, entailment, neutral",
        ),
        ("STS-B", ["index\tprediction", "0\t5.1"], r":2: prediction '5.1', expected a number from 0 to 5"),
        ("STS-B", ["index\tprediction", "0\tnan"], r":2: prediction 'nan', expected a number"),
        ("RTE", ["index\tprediction", "0\tentailment"], r"1 predictions, expected 3; the first missing index is 1"),
        ("ReTE", ["index\tprediction"], r"GLUE has no such file"),
    ],
)
def test_what_the_server_refuses_is_named(tmp_path: Path, name: str, lines: list[str], message: str) -> None:
    path = tmp_path / f"{name}.tsv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=message):
        check_glue(path)


@pytest.mark.usefixtures("_small")
def test_what_is_no_submission_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected 3"):
        write_glue("CoLA", {"0": "1"}, tmp_path)
    assert not list(tmp_path.iterdir())
    path = write_glue("CoLA", {"2": "1", "0": "0", "1": "1"}, tmp_path)
    assert path.read_text() == "index\tprediction\n0\t0\n1\t1\n2\t1\n"


def tuned(folder: Path, format_name: str, encoder: Any, null_threshold: float | None = None, **changes: Any) -> str:
    """A model that was tuned for a known task, as far as anyone can tell."""
    known = KNOWN[format_name]
    task = Task.model_validate(
        {
            "kind": known.kind,
            "source": toy_tasks.SOURCE,
            "labels": list(known.labels),
            "metric": known.metrics[0],
            "max_length": 24,
            **({"score_range": [0, 5]} if known.kind == "regression" else {}),
            **changes,
        }
    )
    folder.mkdir()
    encoder.save(encoder.with_head(task.kind, task.labels, seed=1), folder)
    about = {"task": format_name, "family": "bert", "variant": "bert", "seed": 1, "null_threshold": null_threshold}
    write_json(folder / "task.json", {**about, **task.model_dump(mode="json")})
    write_manifest(folder)
    return str(folder)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_encoder(toy_tasks.write_pretrained(tmp_path_factory.mktemp("pretrained")))


PAIRS = "index\tsentence1\tsentence2\n0\ta\tb\n1\tc\td\n2\te\tf\n"
MNLI = "index\tpromptID\tsentence1\tsentence2\n" + "".join(f"{n}\tp\ta\tb\n" for n in range(3))
TESTS = {
    "CoLA": ("cola", "index\tsentence\n0\ta b\n1\tc\n2\td e\n"),
    "SST-2": ("sst-2", "index\tsentence\n0\ta b\n1\tc\n2\td e\n"),
    "MRPC": ("mrpc", "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n" + "".join(f"{n}\t1\t2\ta\tb\n" for n in range(3))),
    "STS-B": (
        "sts-b",
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\n"
        + "".join(f"{n}\tg\tf\ty\to\ts\ts\ta\tb\n" for n in range(3)),
    ),
    "QQP": ("qqp", "id\tquestion1\tquestion2\n0\ta?\tb?\n1\tc?\td?\n2\te?\tf?\n"),
    "MNLI-m": ("mnli", MNLI),
    "MNLI-mm": ("mnli", MNLI),
    "QNLI": ("qnli", "index\tquestion\tsentence\n0\ta?\tb\n1\tc?\td\n2\te?\tf\n"),
    "RTE": ("rte", PAIRS),
    "WNLI": ("wnli", PAIRS),
    "AX": ("mnli", PAIRS),
}


def test_every_file_of_the_server_is_tried() -> None:
    assert TESTS.keys() == SERVER.keys()


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("name", TESTS)
def test_a_test_file_becomes_a_file_that_the_server_takes(tmp_path: Path, encoder: Any, name: str) -> None:
    format_name, text = TESTS[name]
    (tmp_path / "test.tsv").write_text(text)
    model = tuned(tmp_path / "model", format_name, encoder)
    path = make_submission(name, model, tmp_path / "test.tsv", tmp_path / "out")
    assert path.name == f"{name}.tsv"
    assert check_submission(path, None) == 3
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    assert [index for index, _ in lines] == ["index", "0", "1", "2"]
    assert name == "STS-B" or {prediction for _, prediction in lines[1:]} <= SPELLED[name]


@pytest.mark.usefixtures("_small")
def test_the_hubs_file_of_ax_becomes_one_too(tmp_path: Path, encoder: Any) -> None:
    file = hub_sets.write(hub_sets.AX, tmp_path / "test-00000-of-00001.parquet")
    path = make_submission("AX", tuned(tmp_path / "model", "mnli", encoder), file, tmp_path / "out")
    assert check_submission(path, None) == 3
    assert [line.split("\t")[0] for line in path.read_text().splitlines()] == ["index", "0", "1", "2"]


def test_a_bad_line_of_a_test_file_is_not_left_out(tmp_path: Path, encoder: Any) -> None:
    (tmp_path / "test.tsv").write_text("id\tquestion1\tquestion2\n0\ta?\tb?\n1\tc?\n")
    with pytest.raises(
        InputError, match=r"test.tsv:3: 2 columns, expected 3 .* every row of a test file must be answered"
    ):
        make_submission("QQP", tuned(tmp_path / "model", "qqp", encoder), tmp_path / "test.tsv", tmp_path)


def test_a_model_of_another_task_is_refused(tmp_path: Path, encoder: Any) -> None:
    (tmp_path / "test.tsv").write_text(TESTS["CoLA"][1])
    with pytest.raises(InputError, match="tuned for 'rte', but CoLA needs classification with the labels unacceptable"):
        make_submission("CoLA", tuned(tmp_path / "model", "rte", encoder), tmp_path / "test.tsv", tmp_path)
    with pytest.raises(SettingsError, match="cola: no such file of a submission; there are CoLA"):
        make_submission("cola", "model", tmp_path / "test.tsv", tmp_path)


SQUAD = {
    "data": [
        {
            "title": "T",
            "paragraphs": [
                {
                    "context": "a b c",
                    "qas": [
                        {"id": "one", "question": "d?", "answers": [{"text": "a", "answer_start": 0}]},
                        {"id": "two", "question": "e?", "answers": [{"text": "b", "answer_start": 2}]},
                    ],
                }
            ],
        }
    ]
}


def test_answers_to_squad(tmp_path: Path, encoder: Any) -> None:
    questions = tmp_path / "dev-v1.1.json"
    questions.write_text(json.dumps(SQUAD))
    path = make_submission("squad-1.1", tuned(tmp_path / "model", "squad-1.1", encoder), questions, tmp_path / "out")
    assert json.loads(path.read_text()).keys() == {"one", "two"}
    result = CliRunner().invoke(app, ["submission", "check", str(path), "--questions", str(questions)])
    assert (result.exit_code, "2 predictions" in result.output) == (0, True), result.output
    for answers, message in (
        ({"one": "a"}, "1 answers to 2 questions; 'two' has none"),
        ({"one": "a", "two": "x"}, "the answer to 'two', 'x', does not stand in its context"),
        ({"one": "a", "two": ""}, "the answer to 'two' is empty"),
        ({"one": "a", "two": "b", "three": "c"}, "'three' is no question's id"),
        ({"one": 1}, "expected one object from ids to texts"),
    ):
        path.write_text(json.dumps(answers))
        with pytest.raises(InputError, match=message):
            check_submission(path, questions)
    with pytest.raises(InputError, match="name the file of questions"):
        check_submission(path, None)


@pytest.mark.parametrize(("threshold", "empty"), [(-1e9, True), (1e9, False)])
def test_questions_of_squad_2_may_stay_without_an_answer(
    tmp_path: Path, encoder: Any, threshold: float, empty: bool
) -> None:
    questions = tmp_path / "dev-v2.0.json"
    squad = json.loads(json.dumps(SQUAD))
    squad["data"][0]["paragraphs"][0]["qas"][1]["answers"] = []
    questions.write_text(json.dumps(squad))
    model = tuned(tmp_path / "model", "squad-2.0", encoder, threshold, unanswerable=True)
    path = make_submission("squad-2.0", model, questions, tmp_path / "out")
    answers = json.loads(path.read_text())
    assert [not answers[key] for key in ("one", "two")] == [empty, empty]
    assert check_submission(path, questions) == 2


def test_answers_that_would_not_be_scored_are_not_written(tmp_path: Path, encoder: Any) -> None:
    questions = tmp_path / "dev-v1.1.json"
    questions.write_text(json.dumps(SQUAD))
    model = tuned(tmp_path / "model", "squad-2.0", encoder, -1e9, unanswerable=True)
    with pytest.raises(InputError, match="the answer to 'one' is empty, but every question has one"):
        make_submission("squad-1.1", model, questions, tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())
