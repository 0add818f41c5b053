"""Bad input through the command line: one clear line, exit code 2, and what was there before is still there."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from stemma import cli
from stemma.tasks.base import SPLITS
from tests import toy_inputs

pytestmark = pytest.mark.xdist_group("great-expectations")  # one process pays for the import

Run = Callable[..., tuple[int, list[str]]]
INGEST = ("ingest", "--external", "data/external", "--out", "data/raw/corpora")
PREPARE = (
    "prepare", "--corpora", "data/raw/corpora", "--external", "data/external",
    "--out", "data/raw/tasks", "--probes", "data/raw/probes",
)  # fmt: skip
VALIDATE = (
    "validate", "--corpora", "data/raw/corpora", "--tasks", "data/raw/tasks",
    "--out", "data/valid", "--quarantine", "data/quarantine", "--report", "reports/validation.json",
)  # fmt: skip


@pytest.fixture
def stemma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command of the project in `tmp_path` and return its exit code and what it says on stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("stemma.fence.die_with_parent", lambda: None)  # this process is not a stage's
    Path("data/external").mkdir(parents=True)

    def run(*arguments: str) -> tuple[int, list[str]]:
        monkeypatch.setattr(sys, "argv", ["stemma", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.run()
        code = ended.value.code or 0
        assert isinstance(code, int)
        return code, capfd.readouterr().err.splitlines()

    return run


def write_settings(settings: dict[str, Any]) -> None:
    Path("params.yaml").write_text(yaml.safe_dump(settings, allow_unicode=True))


def file_task(kind: str = "classification", layout: str = "jsonl", **source: Any) -> dict[str, Any]:
    """A task whose train file is `data/external/train`, with good files for the other splits."""
    for split in SPLITS:
        toy_inputs.write_jsonl(Path(f"data/external/{split}.jsonl"), toy_inputs.rows(kind, split, 20))
    files = {split: [f"data/external/{split}.jsonl"] for split in SPLITS}
    return {"toy": toy_inputs.task(kind, files, layout, **source)}


def refusal(result: tuple[int, list[str]]) -> str:
    """The one line that says what is wrong."""
    code, said = result
    assert code == 2
    lines = [line for line in said if line.startswith("stemma: ")]
    assert len(lines) == 1, said
    assert lines[0] == said[-1]
    assert "Traceback" not in "\n".join(said)
    return lines[0].removeprefix("stemma: ")


BAD_FILES: dict[str, tuple[bytes | None, str]] = {
    "missing": (None, "data/external/train.jsonl: no such file"),
    "empty": (b"", "data/external/train.jsonl: the file is empty"),
    "not UTF-8": (b'{"text": "a\xff", "label": "good"}\n', "data/external/train.jsonl:1: not valid UTF-8 at byte 12"),
    "malformed": (
        b'{"text": "a", "label": "good"}\n{"text": "b" "label"}\n',
        "data/external/train.jsonl:2: not valid JSON: Expecting ',' delimiter at column 14",
    ),
    "wrong columns": (b'{"sentence": "a", "label": "good"}\n', "data/external/train.jsonl:1: no 'text' for 'text'"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_prepare_names_the_file_and_the_line(stemma: Run, name: str) -> None:
    write_settings(toy_inputs.settings(file_task()))
    kept = Path("data/raw/tasks/toy/kept")
    kept.parent.mkdir(parents=True)
    kept.write_text("as it was")
    data, message = BAD_FILES[name]
    path = Path("data/external/train.jsonl")
    path.unlink() if data is None else path.write_bytes(data)
    assert refusal(stemma(*PREPARE)).startswith(message)
    assert kept.read_text() == "as it was"
    assert not list(Path("data/raw").glob(".tasks*")), "no half-written folder is left"


def test_prepare_names_a_checksum_that_differs(stemma: Run) -> None:
    name = "data/external/train.jsonl"
    write_settings(toy_inputs.settings(file_task(sha256={name: "0" * 64})))
    assert refusal(stemma(*PREPARE)).startswith(f"{name}: its sha256 is ")


BAD_CORPUS_FILES: dict[str, tuple[bytes | None, str]] = {
    "missing": (None, "data/external/own.jsonl: no such file"),
    "empty": (b"", "data/external/own.jsonl: the file is empty"),
    "not UTF-8": (b'{"text": "a"}\n{"text": "\xff"}\n', "data/external/own.jsonl:2: not valid UTF-8"),
    "malformed": (b'{"text": "a"}\n{"text": "b"\n', "data/external/own.jsonl:2: not valid JSON"),
    "wrong columns": (b'{"body": "a"}\n', "data/external/own.jsonl:1: no column 'text'"),
}


@pytest.mark.parametrize("name", BAD_CORPUS_FILES)
def test_ingest_names_the_file_and_the_line(stemma: Run, name: str) -> None:
    settings = toy_inputs.settings({})
    source = {"kind": "files", "paths": ["data/external/own.jsonl"], "format": "jsonl", "licence": "CC0"}
    settings["corpora"]["stories"]["sources"] = {"own": source}
    write_settings(settings)
    data, message = BAD_CORPUS_FILES[name]
    if data is not None:
        Path("data/external/own.jsonl").write_bytes(data)
    assert refusal(stemma(*INGEST)).startswith(message)
    assert not Path("data/raw").exists() or not list(Path("data/raw").iterdir()), "no half-written folder is left"


BAD_ROWS: dict[str, tuple[str, dict[str, Any], str]] = {
    "unknown label": ("classification", {"label": "ugly"}, "unknown label 'ugly'"),
    "span outside its context": (
        "span",
        {"answers": [{"text": "no", "start": 3}]},
        "answer 'no' is not at character 3 of its context",
    ),
    "illegal tags": (
        "tagging",
        {"tags": ["O", "I-PER", "O", "O", "O", "O"]},
        "tag 'I-PER' of token 1 goes on with no entity",
    ),
}


def make_bad_row(name: str) -> dict[str, Any]:
    """Files with one bad row, in line 8 of the training file, and a corpus; that row."""
    kind, change, _ = BAD_ROWS[name]
    write_settings(toy_inputs.settings(file_task(kind)))
    rows = toy_inputs.rows(kind, "train", 20)
    rows[7] |= change
    toy_inputs.write_jsonl(Path("data/external/train.jsonl"), rows)
    toy_inputs.write_corpus(Path("data/raw/corpora/toy"), [toy_inputs.document(number) for number in range(5)])
    return rows[7]


@pytest.mark.parametrize("name", BAD_ROWS)
def test_validate_shows_the_rows_and_loses_none(stemma: Run, name: str, caplog: pytest.LogCaptureFixture) -> None:
    row, reason = make_bad_row(name), BAD_ROWS[name][2]
    assert stemma(*PREPARE)[0] == 0, "a row is no reason to stop before all rows are checked"
    assert refusal(stemma(*VALIDATE)).startswith("tasks/toy/train: 5.00% of its rows fail, more than the 2.00% of")
    assert f"tasks/toy/train: data/external/train.jsonl:8 id '{row['id']}': {reason}" in caplog.messages
    refused = pq.read_table("data/quarantine/tasks/toy.parquet").to_pylist()
    assert [(row["row"], row["where"], row["reason"]) for row in refused] == [
        (7, "data/external/train.jsonl:8", reason)
    ]
    assert json.loads(refused[0]["content"]) == row
    assert not Path("data/valid").exists()


BAD_SETTINGS: dict[str, tuple[str, object, str]] = {
    "unknown key": ("colour", "red", "params.yaml: colour: unknown key"),
    "out of range": ("seed", 1.5, "params.yaml: seed: Input should be a valid integer"),
    "a pair that can't be": (
        "pairs",
        {"ngram-toy": {"variant": "ngram", "family": "ngram", "task": "toy"}},
        "params.yaml: pairs.ngram-toy: family 'ngram' can't do a span task",
    ),
    "shell characters": (
        "tasks",
        {"toy; touch pwned": toy_inputs.task("span")},
        "params.yaml: tasks.toy; touch pwned: 'toy; touch pwned' is not a name",
    ),
}


@pytest.mark.parametrize("name", BAD_SETTINGS)
@pytest.mark.parametrize("command", [INGEST, PREPARE, VALIDATE], ids=lambda command: str(command[0]))
def test_every_stage_refuses_bad_settings_first(stemma: Run, name: str, command: tuple[str, ...]) -> None:
    key, value, message = BAD_SETTINGS[name]
    write_settings({**toy_inputs.settings({"toy": toy_inputs.task("span")}), key: value})
    assert refusal(stemma(*command)).startswith(message)
    assert not Path("data/raw").exists()
    assert not Path("pwned").exists()


def test_a_missing_split_is_named(stemma: Run) -> None:
    write_settings(toy_inputs.settings({"toy": toy_inputs.task("span", {"train": ["data/external/train.jsonl"]})}))
    assert refusal(stemma(*PREPARE)).startswith("params.yaml: tasks.toy.source: no validation and no test split")


def test_validate_names_a_stage_that_has_not_run(stemma: Run) -> None:
    write_settings(toy_inputs.settings({}))
    assert refusal(stemma(*VALIDATE)).startswith("data/raw/corpora: no corpora there; run the stage that writes them")


def test_a_process_of_its_own_shows_the_rows_and_then_one_line(stemma: Run) -> None:
    """The same through `python -m stemma`, as DVC starts it."""
    make_bad_row("unknown label")
    assert stemma(*PREPARE)[0] == 0
    command = [sys.executable, "-m", "stemma", *VALIDATE]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    *before, row, last = result.stderr.splitlines()
    assert result.returncode == 2
    assert last.startswith("stemma: tasks/toy/train: 5.00% of its rows fail")
    assert row == "tasks/toy/train: data/external/train.jsonl:8 id 'row-100007': unknown label 'ugly'"
    assert all(line.startswith("validate: ") for line in before), "nothing but progress"
    assert result.stdout == ""
