"""Each loader's bad rows are named by file and line, or by what a format has instead; one bad row costs no other row."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stemma.config import Params
from stemma.errors import InputError
from stemma.progress import NullProgress
from stemma.stages import prepare, validate
from tests import toy_inputs

pytestmark = pytest.mark.xdist_group("great-expectations")  # one process pays for the import

SPLITS = ("train", "validation", "test")
ROWS = 30
BAD = 7  # the position of the row that is bad


@pytest.fixture(autouse=True)
def _in_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))
    Path("data/external").mkdir(parents=True)
    toy_inputs.write_corpus(Path("raw/corpora/toy"), [toy_inputs.document(number) for number in range(5)])


def write_tsv(path: Path, rows: list[dict[str, Any]]) -> None:
    lines = [f"{row['text']}\t{row['label']}" for row in rows]
    path.write_text("\n".join(["text\tlabel", *lines]) + "\n")


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    lines = [",".join([row["context"], *row["choices"], row["label"]]) for row in rows]
    path.write_text("\n".join(["context,a,b,c,label", *lines]) + "\n")


def write_trees(path: Path, rows: list[dict[str, Any]]) -> None:
    def tree(row: dict[str, Any]) -> str:
        return f"({row['label']} " + " ".join(f"(2 {word})" for word in row["text"].split()) + ")"

    path.write_text("".join(f"{tree(row)}\n" for row in rows))


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows), path)


def write_squad(path: Path, rows: list[dict[str, Any]]) -> None:
    def article(row: dict[str, Any]) -> dict[str, Any]:
        answers = [{"text": answer["text"], "answer_start": answer["start"]} for answer in row["answers"]]
        question = {"id": row["id"], "question": row["question"], "answers": answers}
        return {"title": row["id"], "paragraphs": [{"context": row["context"], "qas": [question]}]}

    path.write_text(json.dumps({"data": [article(row) for row in rows]}))


def write_conll(path: Path, rows: list[dict[str, Any]]) -> None:
    sentences = ("\n".join(f"{a} {b}" for a, b in zip(row["tokens"], row["tags"], strict=True)) for row in rows)
    path.write_text("\n\n".join(sentences) + "\n")


MISPLACED = {"answers": [{"text": "no", "start": 3}]}
ILLEGAL = {"tags": ["O", "I-PER", "O", "O", "O", "O"]}
# kind, format, further settings, how it is written, what makes a row bad, what is said of it
CASES: dict[str, tuple[str, str, dict[str, Any], Any, dict[str, Any], str]] = {
    "tsv": ("classification", "tsv", {}, write_tsv, {"label": "ugly"}, "train:9 .*unknown label 'ugly'"),
    "csv": (
        "choice",
        "csv",
        {"columns": {"choices": ["a", "b", "c"]}},
        write_csv,
        {"label": "9"},
        "train:9 .*unknown label '9'",
    ),
    "jsonl": ("span", "jsonl", {}, toy_inputs.write_jsonl, MISPLACED, "train:8 .*'no' is not at character 3"),
    "parquet": (
        "tagging",
        "parquet",
        {},
        write_parquet,
        ILLEGAL,
        "train: row 7 .*tag 'I-PER' of token 1 goes on with no entity",
    ),
    "squad": (
        "span",
        "squad",
        {},
        write_squad,
        MISPLACED,
        "train: article 7 paragraph 0 question 'row-100007' .*'no' is not at character 3",
    ),
    "conll": ("tagging", "conll", {}, write_conll, ILLEGAL, "train:50 .*'I-PER' of token 1 goes on with no entity"),
    "trees": (
        "classification",
        "sst-5",
        {"label_names": {"0": "bad", "1": "good"}},
        write_trees,
        {"label": "4"},
        "train:8 .*unknown label 'very positive'",
    ),
}


def make(name: str, change: dict[str, Any], leak: bool = False) -> dict[str, Any]:
    """The files of a task, one row of the training file changed, and settings that let one bad row pass."""
    kind, layout, source, write, *_ = CASES[name]
    rows = {split: toy_inputs.rows(kind, split, ROWS) for split in SPLITS}
    if name == "trees":
        for row in (row for split in SPLITS for row in rows[split]):
            row["label"] = str(["bad", "good"].index(row["label"]))
    rows["train"][BAD] |= change
    if leak:
        rows["train"][BAD] = {**rows["test"][2], "id": "leak"}
    for split in SPLITS:
        write(Path(f"data/external/{split}"), rows[split])
    files = {split: [f"data/external/{split}"] for split in SPLITS}
    return toy_inputs.settings({"toy": toy_inputs.task(kind, files, layout, **source)}, max_quarantined_share=0.2)


def check(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Prepare and validate; the rows in quarantine."""
    params = Params.model_validate(settings)
    external = Path("data/external")
    prepare.run(
        params.model_copy(update={"probes": {}}),
        NullProgress(),
        corpora=Path("raw/corpora"),
        external=external,
        out=Path("raw/tasks"),
        probes=Path("raw/probes"),
    )
    paths = {"out": Path("valid"), "quarantine": Path("quarantine"), "report": Path("validation.json")}
    validate.run(params, NullProgress(), corpora=Path("raw/corpora"), tasks=Path("raw/tasks"), **paths)
    refused: list[dict[str, Any]] = pq.read_table("quarantine/tasks/toy.parquet").to_pylist()
    return refused


@pytest.mark.parametrize("name", CASES)
def test_a_bad_row_is_named_by_file_and_line(name: str) -> None:
    refused = check(make(name, CASES[name][4]))
    assert len(refused) == 1
    said = f"{refused[0]['where']} {refused[0]['reason']}"
    assert re.search(f"data/external/{CASES[name][5]}", said), said


@pytest.mark.parametrize("name", ["tsv", "squad", "conll"])
def test_a_leak_names_both_lines(name: str) -> None:
    refused = check(make(name, {}, leak=True))
    assert len(refused) == 1
    assert refused[0]["where"].startswith("data/external/train:")
    assert "what it asks is that of test.parquet row 2 (data/external/test:" in refused[0]["reason"]


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("tsv", "only one", "data/external/train:32: 1 columns, expected 2 as in the first line"),
        ("csv", "a,b", "data/external/train:32: 2 columns, expected 5 as in the first line"),
        ("conll", "\nword", "data/external/train:211: 1 columns, expected 2 as in the first line"),
        ("trees", "(2 word", "data/external/train:31: not one tree"),
        ("jsonl", '{"context": "a"}', "data/external/train:31: no 'question' for 'question'"),
    ],
)
def test_a_line_of_another_shape_stops_prepare(name: str, line: str, message: str) -> None:
    settings = make(name, {})
    with Path("data/external/train").open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(InputError) as refusal:
        check(settings)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize("name", ["tsv", "csv"])
def test_a_file_with_nothing_but_column_names_has_no_rows(name: str) -> None:
    settings = make(name, {})
    path = Path("data/external/train")
    path.write_text(path.read_text().splitlines()[0] + "\n")
    with pytest.raises(InputError, match="data/external/train: no rows in the file"):
        check(settings)


def test_rows_that_differ_from_the_published_number_are_a_warning_only(caplog: pytest.LogCaptureFixture) -> None:
    settings = make("trees", {})
    task = settings["tasks"]["toy"]
    for split in SPLITS:
        path = Path(f"data/external/{split}")
        path.rename(path.with_suffix(".txt"))
        task["source"]["files"][split] = [f"data/external/{split}.txt"]
    assert check(settings) == []
    warning = "data/external/train.txt: 30 rows, but 8,544 were published"
    assert f"tasks/toy/train: {warning}" in caplog.messages
    report = json.loads(Path("validation.json").read_text())["inputs"]["tasks/toy/train"]
    assert report["facts"]["files"][0]["warnings"] == [warning]
    assert report["problems"] == []
