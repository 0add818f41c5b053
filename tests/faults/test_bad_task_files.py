"""Each loader's bad rows are named by file and line, or by what a format has instead; one bad row costs no other row."""

import json
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
FOREIGN = {"tags": ["B-LOC", "O", "O", "O", "O", "O"]}
NOT_THERE = "'no' is not at character 3"
GOES_ON = "tag 'I-PER' of token 1 goes on with no entity"
SQUAD_BAD = "train: article 7 paragraph 0 question 'row-100007'"
# For each format: how it is written, its name in the settings, and what else these need.
FORMATS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "tsv": (write_tsv, "tsv", {}),
    "csv": (write_csv, "csv", {"columns": {"choices": ["a", "b", "c"]}}),
    "jsonl": (toy_inputs.write_jsonl, "jsonl", {}),
    "parquet": (write_parquet, "parquet", {}),
    "squad": (write_squad, "squad", {}),
    "conll": (write_conll, "conll", {}),
    "trees": (write_trees, "sst-5", {"label_names": {"0": "bad", "1": "good"}}),
}
KINDS = {
    "tsv": "classification",
    "csv": "choice",
    "jsonl": "span",
    "parquet": "tagging",
    "squad": "span",
    "conll": "tagging",
    "trees": "classification",
}
# A format, a kind, what makes a row bad, where it stands and what is said of it.
CASES: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("tsv", "classification", {"label": "ugly"}, "train:9", "unknown label 'ugly'"),
    ("csv", "choice", {"label": "9"}, "train:9", "unknown label '9'"),
    ("jsonl", "classification", {"label": "ugly"}, "train:8", "unknown label 'ugly'"),
    ("parquet", "classification", {"label": "ugly"}, "train: row 7", "unknown label 'ugly'"),
    ("trees", "classification", {"label": "4"}, "train:8", "unknown label 'very positive'"),
    ("jsonl", "tagging", FOREIGN, "train:8", "unknown tag 'B-LOC'"),
    ("parquet", "tagging", FOREIGN, "train: row 7", "unknown tag 'B-LOC'"),
    ("conll", "tagging", FOREIGN, "train:50", "unknown tag 'B-LOC'"),
    ("jsonl", "tagging", ILLEGAL, "train:8", GOES_ON),
    ("parquet", "tagging", ILLEGAL, "train: row 7", GOES_ON),
    ("conll", "tagging", ILLEGAL, "train:50", GOES_ON),
    ("jsonl", "span", MISPLACED, "train:8", NOT_THERE),
    ("parquet", "span", MISPLACED, "train: row 7", NOT_THERE),
    ("squad", "span", MISPLACED, SQUAD_BAD, NOT_THERE),
]


def make(name: str, kind: str, change: dict[str, Any], leak: bool = False) -> dict[str, Any]:
    """The files of a task, one row of the training file changed, and settings that let one bad row pass."""
    write, layout, source = FORMATS[name]
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


@pytest.mark.parametrize(
    ("name", "kind", "change", "where", "said"), CASES, ids=[f"{case[0]}-{case[-1]}" for case in CASES]
)
def test_a_bad_row_is_named_by_file_and_line(
    name: str, kind: str, change: dict[str, Any], where: str, said: str
) -> None:
    (refused,) = check(make(name, kind, change))
    assert refused["where"] == f"data/external/{where}"
    assert said in refused["reason"]


@pytest.mark.parametrize(
    ("name", "train", "test"),
    [
        ("tsv", "train:9", "test:4"),
        ("csv", "train:9", "test:4"),
        ("jsonl", "train:8", "test:3"),
        ("parquet", "train: row 7", "test: row 2"),
        ("squad", "train: article 7 paragraph 0 question 'leak'", "test: article 2 paragraph 0 question 'row-300002'"),
        ("conll", "train:50", "test:15"),
        ("trees", "train:8", "test:3"),
    ],
)
def test_a_leak_names_both_lines(name: str, train: str, test: str) -> None:
    (refused,) = check(make(name, KINDS[name], {}, leak=True))
    assert refused["where"] == f"data/external/{train}"
    assert f"what it asks is that of test.parquet row 2 (data/external/{test})" in refused["reason"]


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("tsv", "only one", "data/external/train:32: 1 columns, expected 2 as in the first line"),
        ("csv", "a,b", "data/external/train:32: 2 columns, expected 5 as in the first line"),
        ("conll", "\nword", "data/external/train:211: 1 columns, expected 2 as in the first line"),
        ("trees", "(2 word", "data/external/train:31: not one tree"),
        ("jsonl", '{"context": "a"}', "data/external/train:31: no 'question' for 'question'"),
        ("squad", "}", "data/external/train:2: not valid JSON"),
    ],
)
def test_a_line_of_another_shape_stops_prepare(name: str, line: str, message: str) -> None:
    settings = make(name, KINDS[name], {})
    with Path("data/external/train").open("a") as file:
        file.write(f"\n{line}\n" if name == "squad" else f"{line}\n")
    with pytest.raises(InputError) as refusal:
        check(settings)
    assert str(refusal.value).startswith(message)


ARTICLE = {"title": "t", "paragraphs": [{"context": "c", "qas": [{"id": "q", "question": "?"}]}]}


@pytest.mark.parametrize(
    ("article", "message"),
    [
        ({"title": "t"}, "article 1: no 'paragraphs'"),
        ({"title": "t", "paragraphs": {}}, "article 1: 'paragraphs' is not a list"),
        (ARTICLE, "article 1 paragraph 0 question 'q': no 'answers'"),
    ],
)
def test_squad_of_another_shape_stops_prepare(article: dict[str, Any], message: str) -> None:
    settings = make("squad", "span", {})
    path = Path("data/external/train")
    path.write_text(json.dumps({"data": [json.loads(path.read_text())["data"][0], article]}))
    with pytest.raises(InputError) as refusal:
        check(settings)
    assert str(refusal.value) == f"data/external/train: {message}; expected the layout of SQuAD"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"tokens": [["a"], ["b"]]}, "row 0: no 'tags' for 'tags'; there are 'tokens'"),
        ({"tokens": ["a b", "c"], "tags": [["O"], ["O"]]}, "row 0: 'tokens': expected a list, found str"),
        ({"tokens": [["a"], ["b"]], "tags": [["O"], None]}, "row 1: 'tags': expected a list, found NoneType"),
    ],
)
def test_parquet_of_another_shape_stops_prepare(columns: dict[str, Any], message: str) -> None:
    settings = make("parquet", "tagging", {})
    pq.write_table(pa.table(columns), "data/external/train")
    with pytest.raises(InputError) as refusal:
        check(settings)
    assert str(refusal.value) == f"data/external/train: {message}"


EMPTY = {
    "tsv": "text\tlabel\n",
    "csv": "context,a,b,c,label\n",
    "jsonl": "\n",
    "squad": '{"data": []}',
    "conll": "-DOCSTART- O\n\n",
    "trees": "\n",
}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_without_rows_is_named(name: str, split: str) -> None:
    settings = make(name, KINDS[name], {})
    path = Path(f"data/external/{split}")
    if name == "parquet":
        pq.write_table(pq.read_table(path).slice(0, 0), path)
    else:
        path.write_text(EMPTY[name])
    with pytest.raises(InputError, match=f"^data/external/{split}: no rows in the file$"):
        check(settings)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_no_bytes_is_named(name: str) -> None:
    settings = make(name, KINDS[name], {})
    Path("data/external/test").write_bytes(b"")
    with pytest.raises(InputError, match=r"^data/external/test: the file is empty$"):
        check(settings)


@pytest.mark.parametrize("line", ["1", "1\t2\t3"])
def test_a_list_of_mrpcs_ids_of_another_width_is_named(line: str) -> None:
    rows = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\ta\tb\n0\t9\t10\tc\td\n"
    Path("data/external/msr_paraphrase_train.txt").write_text(rows)
    Path("data/external/dev_ids.tsv").write_text(f"7\t8\n{line}\n")
    both = ["data/external/msr_paraphrase_train.txt", "data/external/dev_ids.tsv"]
    files = {"train": both, "validation": both, "test": both[:1]}
    names = {"label_names": {"0": "bad", "1": "good"}}
    settings = toy_inputs.settings({"toy": toy_inputs.task("classification", files, "mrpc", **names)})
    message = rf"^data/external/dev_ids.tsv:2: {len(line.split())} columns, expected the ids of two sentences$"
    with pytest.raises(InputError, match=message):
        check(settings)


def test_rows_that_differ_from_the_published_number_are_a_warning_only(caplog: pytest.LogCaptureFixture) -> None:
    settings = make("trees", "classification", {})
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
