"""The known tasks, in their original layouts and in the Hub's: small files with the quirks of the real ones."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from stemma.config import KnownFormat, Splits, Task
from stemma.data.input_files import InputFile
from stemma.data.splits import Split
from stemma.errors import InputError, SettingsError
from stemma.tasks.known import KNOWN, official_rows
from stemma.tasks.loaders import FileCount, read_split
from stemma.tasks.metrics import METRICS
from tests import hub_sets

SPLITS = Splits(validation=0.1, test=0.1)


def task(name: str, **source: Any) -> Task:
    known = KNOWN[name]
    files: dict[str, list[str]] = {split: [] for split in ("train", "validation", "test")}
    return Task.model_validate(
        {
            "kind": known.kind,
            "source": {"kind": "files", "format": name, "files": files, **source},
            "labels": list(known.labels),
            "metric": known.metrics[0],
            "max_length": 64,
            **({"score_range": [0, 5]} if known.kind == "regression" else {}),
        }
    )


def read(
    name: str, path: Path, counts: list[FileCount] | None = None, split: Split = "train", **source: Any
) -> list[dict[str, Any]]:
    files: dict[Split, list[InputFile]] = {"train": [], "validation": [], "test": []}
    files[split] = [InputFile(path, path.name)]
    return list(read_split(task(name, **source), split, files, SPLITS, counts))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def short(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def test_settings_and_table_know_the_same_tasks() -> None:
    assert set(get_args(KnownFormat)) == set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_every_known_task_is_one_that_settings_allow(name: str) -> None:
    known = KNOWN[name]
    assert task(name).metric == known.metrics[0]
    assert set(known.metrics) <= set(METRICS[known.kind])
    assert set(known.label_names.values()) <= set(known.labels)
    assert known.where
    assert known.hub
    assert known.licence


PAIRS = [("a", "b", "entailment"), ('say "no', "d", "contradiction")]

# Each known table of texts: what its labelled file looks like, and what the rows should be.
TABLES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "cola": (
        'gj04\t1\t\tIt is "so.\ngj04\t0\t*\tIs it so is\n',
        [('It is "so.', "acceptable"), ("Is it so is", "unacceptable")],
    ),
    "sst-2": ("sentence\tlabel\nfine \t1\ndull \t0\n", [("fine ", "positive"), ("dull ", "negative")]),
    "mrpc": (
        '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t7\t8\t" a "\tb\r\n0\t9\t10\tc\td\r\n',
        [('" a "', "b", "equivalent"), ("c", "d", "not_equivalent")],
    ),
    "qqp": (
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n5\t1\t2\ta?\tb?\t1\n6\t3\t4\tc?\td?\t0\n",
        [("a?", "b?", "duplicate"), ("c?", "d?", "not_duplicate")],
    ),
    "mnli": (
        "index\tpromptID\tpairID\tgenre\tsentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n"  # noqa: ISC004
        '0\t1\t1n\tfiction\t(\t(\ta\tb\tneutral\tentailment\n1\t2\t2n\tfiction\t(\t(\tsay "no\td\tx\tcontradiction\n',
        PAIRS,
    ),
    "qnli": (
        "index\tquestion\tsentence\tlabel\n0\ta?\tb\tentailment\n1\tc?\td\tnot_entailment\n",
        [("a?", "b", "entailment"), ("c?", "d", "not_entailment")],
    ),
    "rte": (
        "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tentailment\n1\tc\td\tnot_entailment\n",
        [("a", "b", "entailment"), ("c", "d", "not_entailment")],
    ),
    "wnli": (
        "index\tsentence1\tsentence2\tlabel\n0\ta\tb\t1\n1\tc\td\t0\n",
        [("a", "b", "entailment"), ("c", "d", "not_entailment")],
    ),
    "ax": (
        "Premise\tHypothesis\tLabel\na\tb\tentailment\nc\td\tneutral\n",
        [("a", "b", "entailment"), ("c", "d", "neutral")],
    ),
    "snli": (
        'gold_label\tsentence1_parse\tsentence1\tsentence2\nentailment\t(\ta\tb\n-\t(\tx\ty\ncontradiction\t(\tsay "no\td\n',
        PAIRS,
    ),
    "sst-5": (
        "(3 (2 A) (3 (2 fine) (2 -LRB-)))\n(0 (2 either\\/or) (1 dull))\n",
        [("A fine (", "positive"), ("either/or dull", "very negative")],
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_original_tables_of_texts(tmp_path: Path, name: str) -> None:
    text, expected = TABLES[name]
    rows = read(name, write(tmp_path / "train.tsv", text))
    columns = ("text", "text_pair", "label") if len(expected[0]) == 3 else ("text", "label")
    assert short(rows, *columns) == expected


STS = (
    "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
    '0\tmain-captions\tMSRvid\t2012test\t0001\tnone\tnone\tA "plane\tAn air plane\t5.000\n'
)
ORIGINAL_STS = (
    "main-captions\tMSRvid\t2012test\t0024\t2.500\tA girl.\tA woman.\n"
    "main-news\theadlines\t2013\t7\t0.0\tA.\tB.\thttp://a\thttp://b\n"
)


def test_sts_b_in_glues_and_its_original_table(tmp_path: Path) -> None:
    columns = ("text", "text_pair", "score")
    rows = read("sts-b", write(tmp_path / "train.tsv", STS))
    assert short(rows, *columns) == [('A "plane', "An air plane", 5.0)]
    rows = read("sts-b", write(tmp_path / "sts-train.tsv", ORIGINAL_STS))
    assert short(rows, *columns) == [("A girl.", "A woman.", 2.5), ("A.", "B.", 0.0)]
    with pytest.raises(InputError, match=r"own.tsv:2: score 'high' is no number"):
        read("sts-b", write(tmp_path / "own.tsv", STS.replace("5.000", "high")))


def test_the_hub_has_a_set_of_every_known_task() -> None:
    assert {*hub_sets.SETS, "ax"} == set(KNOWN)


@pytest.mark.parametrize("name", hub_sets.SETS)
def test_parquet_of_the_hub(tmp_path: Path, name: str) -> None:
    one = hub_sets.SETS[name]
    path = hub_sets.write(one, tmp_path / "train-00000-of-00001.parquet")
    assert short(read(name, path), *one.names) == one.expected


def test_rows_without_a_label_are_left_out_and_said(tmp_path: Path) -> None:
    counts: list[FileCount] = []
    rows = read("snli", write(tmp_path / "snli_1.0_dev.txt", TABLES["snli"][0]), counts)
    assert len(rows) == 2
    assert counts[0].warnings() == [
        "snli_1.0_dev.txt: 3 rows, but 10,000 were published",
        "snli_1.0_dev.txt: 1 rows left out, such as snli_1.0_dev.txt:3: label '-' says that there is none",
    ]


def test_bad_lines_of_qqp_are_left_out_and_named(tmp_path: Path) -> None:
    text = TABLES["qqp"][0].replace("6\t3\t4\tc?\td?\t0\n", "7\t8\t9\tonly one?\n6\t3\t4\tc?\td?\t0\n")
    counts: list[FileCount] = []
    rows = read("qqp", write(tmp_path / "own.tsv", text), counts)
    assert short(rows, "text", "text_pair", "label") == TABLES["qqp"][1]
    assert counts[0].warnings() == [
        "own.tsv: 1 rows left out, such as own.tsv:3: 4 columns, expected 6 as in the first line"
    ]


@pytest.mark.parametrize("name", ["rte", "cola", "sst-2", "mnli"])
def test_other_tables_refuse_a_line_of_another_width(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "train.tsv", TABLES[name][0] + "one alone\n")
    line = TABLES[name][0].count("\n") + 1
    with pytest.raises(InputError, match=rf"train.tsv:{line}: 1 columns, expected \d+ as in the first line"):
        read(name, path)


def test_mrpc_is_divided_by_its_list_of_ids(tmp_path: Path) -> None:
    rows = write(tmp_path / "msr_paraphrase_train.txt", TABLES["mrpc"][0])
    ids = write(tmp_path / "dev_ids.tsv", "9\t10\n")
    both = [InputFile(path, path.name) for path in (rows, ids)]
    files: dict[Split, list[InputFile]] = {"train": both, "validation": both, "test": []}
    found = {split: list(read_split(task("mrpc"), split, files, SPLITS)) for split in ("train", "validation")}
    assert short(found["train"], "id", "text") == [("train-0", '" a "')]
    assert short(found["validation"], "id", "text") == [("validation-1", "c")]


def test_conll_keeps_documents_and_reads_every_scheme(tmp_path: Path) -> None:
    text = (
        "-DOCSTART- -X- -X- O\n\nEU NNP B-NP I-ORG\nsaid VBD B-VP O\n\n-DOCSTART- -X- -X- O\n\nPeter NNP B-NP I-PER\n"
    )
    rows = read("conll-2003", write(tmp_path / "eng.train", text))
    assert short(rows, "document", "tags", "where") == [
        ("eng.train document 1", ["B-ORG", "O"], "eng.train:3"),
        ("eng.train document 2", ["B-PER"], "eng.train:8"),
    ]
    bmes = write(tmp_path / "msra.txt", "中 B-LOC\r\n华 M-LOC\r\n国 E-LOC\r\n人 O\r\n\r\n日 S-LOC\r\n")
    assert short(read("conll-2003", bmes), "document", "tags") == [
        ("", ["B-LOC", "I-LOC", "I-LOC", "O"]),
        ("", ["B-LOC"]),
    ]


def test_swag_in_its_original_table(tmp_path: Path) -> None:
    head = ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n"
    line = '0,v,1,"A, b. He","A, b.",He,gold,"says ""no""",e1,e2,e3,0\n'
    rows = read("swag", write(tmp_path / "train.csv", head + line))
    assert short(rows, "context", "question", "choices", "label") == [
        ("A, b.", "He", ['says "no"', "e1", "e2", "e3"], "first")
    ]


def test_hellaswag_is_divided_by_its_source(tmp_path: Path) -> None:
    lines = [
        json.dumps({"ind": n // 2, "ctx": f"c{n}", "endings": list("abcd"), "source_id": f"s{n % 200}", "label": "0"})
        for n in range(600)
    ]
    path = write(tmp_path / "hellaswag_val.jsonl", "\n".join(lines))
    file = InputFile(path, path.name)
    files: dict[Split, list[InputFile]] = {"train": [file], "validation": [file], "test": [file]}
    shares = {"validation": 0.1, "test": 0.1}
    settings = task("hellaswag", shares=shares)
    found = {s: list(read_split(settings, s, files, Splits(validation=0.4, test=0.4))) for s in files}
    sources = {split: {row["document"] for row in rows} for split, rows in found.items()}
    assert sum(map(len, found.values())) == 600
    assert sum(map(len, sources.values())) == 200, "no source in two splits"
    assert len({row["id"] for rows in found.values() for row in rows}) == 600, "numbers stand twice, of other sources"
    assert 0.7 < len(found["train"]) / 600 < 0.9


def test_answers_are_moved_to_where_they_stand(tmp_path: Path) -> None:
    answers = [{"text": "b", "answer_start": 5}, {"text": "absent", "answer_start": 0}]
    question = {"id": "q", "question": "?", "answers": answers}
    data = {"data": [{"title": "T", "paragraphs": [{"context": "b a b c", "qas": [question]}]}]}
    path = write(tmp_path / "own.json", json.dumps(data))
    assert read("squad-1.1", path, misplaced="move")[0]["answers"] == [{"text": "b", "start": 4}]
    assert len(read("squad-1.1", path)[0]["answers"]) == 2


def test_labels_of_a_known_task_are_its_own(tmp_path: Path) -> None:
    path = write(tmp_path / "train.tsv", TABLES["rte"][0])
    other = task("rte").model_copy(update={"labels": ["yes", "no"]})
    files: dict[Split, list[InputFile]] = {"train": [InputFile(path, "train.tsv")], "validation": [], "test": []}
    with pytest.raises(SettingsError, match="format 'rte' has the labels entailment, not_entailment"):
        list(read_split(other, "train", files, SPLITS))
    renamed = task("rte", label_names={"entailment": "yes", "not_entailment": "no"})
    rows = list(read_split(renamed.model_copy(update={"labels": ["yes", "no"]}), "train", files, SPLITS))
    assert [row["label"] for row in rows] == ["yes", "no"]


@pytest.mark.parametrize("line", ["(3 (2 a)", "(3 a) (2 b)", "(9 a)", "word", "(3 )", "(3 (2 a) b)"])
def test_a_broken_tree_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"train.txt:2: not one tree"):
        read("sst-5", write(tmp_path / "train.txt", f"(3 a)\n{line}\n"))


@pytest.mark.parametrize(
    ("name", "file", "rows"),
    [
        ("cola", "data/glue/CoLA/train.tsv.gz", 8_551),
        ("cola", "validation-00000-of-00001.parquet", 1_043),
        ("mnli", "validation_mismatched", 9_832),
        ("qqp", "train-00000-of-00002.parquet", None),  # one of two shards
        ("conll-2003", "eng.testb.gz", 3_453),
        ("squad-2.0", "dev-v2.0.json", 11_873),
        ("cola", "own.tsv", None),
        ("tsv", "train.tsv", None),
        (None, "train", None),
    ],
)
def test_official_rows_are_found_by_the_name(name: str | None, file: str, rows: int | None) -> None:
    assert official_rows(name, file) == rows
