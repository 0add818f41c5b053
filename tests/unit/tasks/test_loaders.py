"""A task's rows from its original files: what is read, what is divided, what is chosen."""

import bz2
import csv
import gzip
import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from stemma.config import Splits, Task
from stemma.data.input_files import InputFile
from stemma.data.splits import Split
from stemma.errors import InputError, SettingsError
from stemma.tasks.loaders import check_splits, read_split
from tests import toy_inputs

SPLITS = Splits(validation=0.25, test=0.25)
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


def load(
    data: str | bytes | Path, kind: str, layout: str, *, suffix: str = "", where: Path | None = None, **source: Any
) -> list[dict[str, Any]]:
    """Read one file as a train split."""
    path = data if isinstance(data, Path) else (where or Path()) / f"file.{layout}{suffix}"
    if not isinstance(data, Path):
        path.write_bytes(COMPRESS[suffix](data.encode() if isinstance(data, str) else data))
    return load_split({"train": [path]}, "train", kind, layout, **source)


def load_split(
    files: dict[Split, list[Path]], split: Split, kind: str, layout: str, **source: Any
) -> list[dict[str, Any]]:
    task = Task.model_validate(toy_inputs.task(kind, layout=layout, **source))
    named = {name: [InputFile(path, path.name) for path in paths] for name, paths in files.items()}
    rows = list(read_split(task, split, {"train": [], "validation": [], "test": [], **named}, SPLITS))
    assert all(row.pop("where") for row in rows), "every row knows where it stood"
    return rows


@pytest.fixture(autouse=True)
def _in_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_tsv_with_header_names_labels_and_keeps_quotes(suffix: str) -> None:
    rows = load(
        'sentence\tlabel\nso "good\t1\nbad\t0\n',
        "classification",
        "tsv",
        suffix=suffix,
        columns={"text": "sentence"},
        label_names={"0": "bad", "1": "good"},
    )
    assert rows == [
        {"id": "train-0", "document": "", "text": 'so "good', "label": "good"},
        {"id": "train-1", "document": "", "text": "bad", "label": "bad"},
    ]


def test_tsv_without_header_takes_columns_by_number() -> None:
    rows = load(
        "gj04\t1\t\tIt is.\ngj04\t0\t*\tIs it\r\n",
        "classification",
        "tsv",
        header=False,
        columns={"id": 0, "label": 1, "text": 3},
    )
    assert [(row["id"], row["text"], row["label"]) for row in rows] == [("gj04", "It is.", "1"), ("gj04", "Is it", "0")]


def test_a_line_is_what_a_line_feed_ends() -> None:
    assert len(load("text\tlabel\none\u2028two\x85three\tgood\n", "classification", "tsv")) == 1


def test_a_byte_order_mark_is_no_part_of_the_header() -> None:
    assert load("\ufefftext\tlabel\na\tgood\n", "classification", "tsv")[0]["text"] == "a"


def test_csv_reads_quoted_commas_and_line_feeds() -> None:
    rows = load('text,label,text_pair\n"a, b\nc",good,"say ""no"""\n', "classification", "csv")
    assert rows == [{"id": "train-0", "document": "", "text": "a, b\nc", "label": "good", "text_pair": 'say "no"'}]


def test_jsonl_of_every_kind_translates_columns_and_labels() -> None:
    text = load(
        '{"sentence": "a", "y": 1}\n\n{"sentence": "b", "y": 0}\n',
        "classification",
        "jsonl",
        columns={"text": "sentence", "label": "y"},
        label_names={"1": "good", "0": "bad"},
    )
    assert [(row["text"], row["label"]) for row in text] == [("a", "good"), ("b", "bad")]
    tags = load('{"id": 7, "tokens": ["A"], "tags": [3]}\n', "tagging", "jsonl", label_names={"3": "B-PER"})
    assert tags == [{"id": "7", "document": "", "tokens": ["A"], "tags": ["B-PER"]}]
    answers = {"text": ["b"], "answer_start": [1]}  # as the Hub has SQuAD
    span = load(json.dumps({"context": "ab", "question": "?", "answers": answers}), "span", "jsonl")
    assert span[0]["answers"] == [{"text": "b", "start": 1}]


def test_parquet_reads_as_jsonl_does(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": ["a", "b"], "label": [1, 0], "other": [None, None]}), path)
    rows = load(path, "classification", "parquet", label_names={"1": "good", "0": "bad"})
    assert [(row["id"], row["text"], row["label"]) for row in rows] == [
        ("train-0", "a", "good"),
        ("train-1", "b", "bad"),
    ]


def test_null_and_lone_surrogates_are_left_for_validation() -> None:
    rows = load('{"text": null, "label": "good"}\n{"text": "a\\ud800b", "label": "bad"}\n', "classification", "jsonl")
    assert [row["text"] for row in rows] == ["", "a\ufffdb"]


def test_squad_gives_a_row_a_question_with_its_article() -> None:
    answers = [{"text": "Denver", "answer_start": 0}, {"text": "Den", "answer_start": 0}]
    questions = [{"id": "q1", "question": "Who?", "answers": answers}]
    data = {"version": "1.1", "data": [{"title": "Bowl", "paragraphs": [{"context": "Denver won", "qas": questions}]}]}
    assert load(json.dumps(data), "span", "squad") == [
        {
            "id": "q1",
            "document": "Bowl",
            "context": "Denver won",
            "question": "Who?",
            "answers": [{"text": "Denver", "start": 0}, {"text": "Den", "start": 0}],
        }
    ]


CONLL = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
German JJ I-NP I-MISC
Dutch JJ I-NP B-MISC

Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER
"""


def test_conll_becomes_iob2() -> None:
    rows = load(CONLL, "tagging", "conll")
    assert [row["tokens"] for row in rows] == [["EU", "rejects", "German", "Dutch"], ["Peter", "Blackburn"]]
    assert [row["tags"] for row in rows] == [["B-ORG", "O", "B-MISC", "B-MISC"], ["B-PER", "I-PER"]]


def test_conll_in_iob2_keeps_its_mistakes() -> None:
    data = "A\tB-PER\nB\tI-PER\n\nC\tB-PER\n\nD\tO\nE\tI-PER\n"
    assert [row["tags"] for row in load(data, "tagging", "conll")] == [["B-PER", "I-PER"], ["B-PER"], ["O", "I-PER"]]


def test_conll_takes_columns_by_number() -> None:
    rows = load(CONLL, "tagging", "conll", columns={"tokens": 1, "tags": 2})
    document = "file.conll document 1"
    assert rows[1] == {"id": "train-1", "document": document, "tokens": ["NNP", "NNP"], "tags": ["B-NP", "I-NP"]}


def test_max_examples_chooses_by_hash_and_grows_by_adding(tmp_path: Path) -> None:
    data = "text\tlabel\n" + "".join(f"text {number}\tgood\n" for number in range(200))

    def chosen(most: int) -> list[str]:
        return [row["id"] for row in load(data, "classification", "tsv", max_examples={"train": most})]

    few, more = chosen(10), chosen(20)
    assert (len(few), len(more)) == (10, 20)
    assert set(few) < set(more)
    assert few == sorted(few, key=lambda key: int(key.split("-")[1])), "in the file's order"
    assert few != [f"train-{number}" for number in range(10)], "not simply the first"
    assert len(chosen(500)) == 200


def test_a_file_of_two_splits_is_divided_between_them(tmp_path: Path) -> None:
    path = tmp_path / "all.tsv"
    path.write_text("text\tlabel\n" + "".join(f"text {number}\tgood\n" for number in range(400)))
    files: dict[Split, list[Path]] = {"train": [path], "validation": [path]}
    train = {row["text"] for row in load_split(files, "train", "classification", "tsv")}
    validation = {row["text"] for row in load_split(files, "validation", "classification", "tsv")}
    assert not train & validation
    assert len(train | validation) == 400
    assert 60 < len(validation) < 140  # a quarter, by hash


def test_a_divided_file_keeps_documents_together(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    toy_inputs.write_jsonl(path, [{"document": f"d{number // 5}", **_span(number)} for number in range(200)])
    files: dict[Split, list[Path]] = {"train": [path], "test": [path]}
    documents = [{row["document"] for row in load_split(files, split, "span", "jsonl")} for split in files]
    assert documents[0]
    assert documents[1]
    assert not documents[0] & documents[1]


def _span(number: int) -> dict[str, Any]:
    return {"context": f"a{number}", "question": "?", "answers": [{"text": "a", "start": 0}]}


BAD = [
    ("tsv", b"", "file.tsv: the file is empty"),
    ("tsv", b"text\tlabel\n", "file.tsv: no rows in the file"),
    ("tsv", b"text\tlabel\na\tgood\nb\n", "file.tsv:3: 1 columns, expected 2 as in the first line"),
    ("tsv", b"text\tlabel\na\tgood\tx\n", "file.tsv:2: 3 columns, expected 2"),
    ("tsv", b"text\tgrade\na\tgood\n", "file.tsv:1: no column 'label' for 'label'; the columns are 'text', 'grade'"),
    ("csv", b'"text\nand",label\na,good\n', "file.csv:2: no column 'text' for 'text'; the columns are 'text\\nand'"),
    ("tsv", b"text\tlabel\na\tgood\n\xff\tbad\n", "file.tsv:3: not valid UTF-8 at byte 1"),
    ("csv", b'text,label\n"a,good\n', "file.csv:2: not valid CSV: unexpected end of data"),
    ("jsonl", b'{"text": "a", "label": "good"}\n{"text": "b",\n', "file.jsonl:2: not valid JSON"),
    ("jsonl", b'["a", "good"]\n', "file.jsonl:1: expected a JSON object, found list"),
    ("jsonl", b'{"text": "a"}\n', "file.jsonl:1: no 'label' for 'label'; there are 'text'"),
    ("jsonl", b'{"text": 3, "label": "good"}\n', "file.jsonl:1: 'text': expected text, found int"),
    ("parquet", b"PAR1 is how it begins", "file.parquet: can't be read as parquet"),
]


@pytest.mark.parametrize(("layout", "data", "message"), BAD, ids=[message for _, _, message in BAD])
def test_broken_files_are_named_with_the_line(layout: str, data: bytes, message: str) -> None:
    with pytest.raises(InputError) as raised:
        load(data, "classification", layout)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


BAD_START = (
    b'{"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [{"id": "q", "question": "?",'
    b' "answers": [{"text": "c", "answer_start": "0"}]}]}]}]}'
)
BAD_SQUAD = [
    (b"", "file.squad: the file is empty"),
    (b'{"data":\n[}', "file.squad:2: not valid JSON"),
    (b'{"data": [{"title": "\xff"}]}', "file.squad:1: not valid UTF-8"),
    (b'{"rows": []}', "file.squad: no 'data'; expected the layout of SQuAD"),
    (b'{"data": []}', "file.squad: no rows in the file"),
    (b'{"data": [{"title": "t", "paragraphs": [{"qas": []}]}]}', "file.squad: article 0 paragraph 0: no 'context'"),
    (
        BAD_START,
        "file.squad: article 0 paragraph 0 question 'q': 'answer_start' is '0', expected a character offset",
    ),
]


@pytest.mark.parametrize(("data", "message"), BAD_SQUAD, ids=[message for _, message in BAD_SQUAD])
def test_broken_squad_files_are_named_with_the_place(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as raised:
        load(data, "span", "squad")
    assert str(raised.value).startswith(message)


def test_conll_with_a_missing_column_is_named_with_the_line() -> None:
    with pytest.raises(InputError, match=r"^file.conll:2: 1 columns, expected 2 as in the first line$"):
        load("A O\nB\n", "tagging", "conll")
    with pytest.raises(InputError, match=r"^file.conll:1: 1 columns, expected a token and a tag at least$"):
        load("A\nB\n", "tagging", "conll")


def test_a_truncated_archive_is_named() -> None:
    Path("file.tsv.gz").write_bytes(gzip.compress(b"text\tlabel\na\tgood\n" * 100)[:40])
    with pytest.raises(InputError, match=r"^file.tsv.gz: can't be read"):
        load(Path("file.tsv.gz"), "classification", "tsv")


def test_a_format_that_cannot_hold_the_kind_is_refused() -> None:
    with pytest.raises(SettingsError, match="format 'squad' does not hold tagging tasks"):
        load("{}", "tagging", "squad")


SWAG = 'id,sent1,sent2,ending0,ending1,ending2,label\n7,Ann sits down.,Then she,stands up.,flies.,"sings, loud.",2\n'
COLUMNS = {"context": "sent1", "question": "sent2", "choices": ["ending0", "ending1", "ending2"]}


@pytest.mark.parametrize("layout", ["csv", "tsv", "jsonl", "parquet"])
def test_choices_are_read_from_a_column_each(layout: str) -> None:
    """As SWAG has them."""
    names, values = (next(csv.reader([line])) for line in SWAG.splitlines())
    record: dict[str, Any] = {**dict(zip(names, values, strict=True)), "label": 2}
    if layout == "parquet":
        pq.write_table(pa.Table.from_pylist([record]), "file.parquet")
    data: dict[str, str | Path] = {
        "csv": SWAG,
        "tsv": "\t".join(names) + "\n" + "\t".join(values) + "\n",
        "jsonl": json.dumps(record),
        "parquet": Path("file.parquet"),
    }
    assert load(data[layout], "choice", layout, columns=COLUMNS) == [
        {
            "id": "7",
            "document": "",
            "context": "Ann sits down.",
            "question": "Then she",
            "choices": ["stands up.", "flies.", "sings, loud."],
            "label": "2",
        }
    ]


def test_choices_are_read_from_one_column_of_lists() -> None:
    """As HellaSwag has them."""
    record = {"ctx": "Ann sits", "question": None, "endings": ["up", "down", "in"], "label": "B"}
    columns = {"context": "ctx", "choices": "endings"}
    (row,) = load(json.dumps(record), "choice", "jsonl", columns=columns, label_names={"B": "1"})
    assert (row["question"], row["choices"], row["label"]) == (None, ["up", "down", "in"], "1")


def test_columns_that_can_not_be_are_refused() -> None:
    missing = {**COLUMNS, "choices": ["ending0", "ending9"]}
    with pytest.raises(InputError, match=r"^file.csv:1: no column 'ending9' for 'choices'"):
        load(SWAG, "choice", "csv", columns=missing)
    with pytest.raises(InputError, match=r"^file.jsonl:1: no 'ending9' for 'choices'"):
        load('{"sent1": "a", "sent2": "b", "ending0": "c", "label": 0}', "choice", "jsonl", columns=missing)
    with pytest.raises(SettingsError, match="columns: 'choices' must be a list of columns, one a choice"):
        load(SWAG, "choice", "csv", columns={**COLUMNS, "choices": "ending0"})
    with pytest.raises(SettingsError, match="columns: 'text' is one column, not 2"):
        load("text\tlabel\na\tgood\n", "classification", "tsv", columns={"text": ["a", "b"]})


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(SettingsError, match="columns: no 'sentence' among text, label"):
        load("text\tlabel\na\tgood\n", "classification", "tsv", columns={"sentence": "text"})


def test_a_missing_split_is_named() -> None:
    with pytest.raises(SettingsError, match=r"tasks\.sst2\.source: no validation and no test split"):
        check_splits("sst2", ["train"])


def test_a_split_that_gets_no_row_names_its_files_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    toy_inputs.write_jsonl(path, [{"document": "one", **_span(number)} for number in range(20)])
    files: dict[Split, list[Path]] = {"train": [path], "validation": [path], "test": [path]}
    found = {split: _rows_or_refusal(files, split) for split in files}
    refused = [said for said in found.values() if isinstance(said, str)]
    assert len(refused) == 2, "the only document goes to one split"
    for said in refused:
        assert re.fullmatch(
            r"all\.jsonl: no rows for the (train|validation|test) split; others get them all, "
            r"so give it a larger share \(`shares`\) or a file of its own",
            said,
        )


def test_a_split_of_rows_without_labels_names_its_file_and_a_row(tmp_path: Path) -> None:
    path = tmp_path / "dev.txt"
    path.write_text("gold_label\tsentence1\tsentence2\n-\ta\tb\n-\tc\td\n")
    labels = {"entailment": "good", "neutral": "bad", "contradiction": "bad"}
    with pytest.raises(InputError) as raised:
        load_split({"validation": [path]}, "validation", "classification", "snli", label_names=labels)
    assert str(raised.value) == (
        "dev.txt: no rows for the validation split; all are left out, such as dev.txt:2: label '-' says that there is "
        "none, so name a file that has labels"
    )


def test_a_split_without_files_is_said() -> None:
    with pytest.raises(InputError, match=r"^no files: no rows for the validation split; name a file that has some$"):
        load_split({}, "validation", "classification", "tsv")


def _rows_or_refusal(files: dict[Split, list[Path]], split: Split) -> list[dict[str, Any]] | str:
    try:
        return load_split(files, split, "span", "jsonl")
    except InputError as error:
        return str(error)
