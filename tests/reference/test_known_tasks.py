"""The known tasks' loaders on copies of the original files: every row that was published, and nothing left to warn of."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import models

from stemma.config import Splits, Task
from stemma.data.input_files import InputFile
from stemma.tasks.blimp import NUM_PAIRS, NUM_PARADIGMS, PairCount, read_blimp
from stemma.tasks.features import encode_rows
from stemma.tasks.known import KNOWN, known_layout
from stemma.tasks.loaders import FileCount, read_file, read_split
from stemma.tasks.submission import GLUE
from tests.unit.tasks.test_features import inputs, make_rows, make_task

DATA = Path(os.environ.get("STEMMA_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.skipif(
        not DATA.is_dir(), reason="no copies of the original data sets; set STEMMA_DATA to their folder"
    ),
]
SPLITS = Splits(validation=0.1, test=0.1)


def read(name: str, *files: str, split: Any = "train", **source: Any) -> tuple[list[dict[str, Any]], list[FileCount]]:
    known = KNOWN[name]
    task = Task.model_validate(
        {
            "kind": known.kind,
            "source": {"kind": "files", "format": name, "files": {}, **source},
            "labels": list(known.labels),
            "metric": known.metrics[0],
            "max_length": 64,
            **({"score_range": [0, 5]} if known.kind == "regression" else {}),
        }
    )
    counts: list[FileCount] = []
    named: Any = {"train": [], "validation": [], "test": [], split: [InputFile(DATA / file, file) for file in files]}
    return list(read_split(task, split, named, SPLITS, counts)), counts


FILES = [
    ("cola", "glue/CoLA/train.tsv.gz"),
    ("cola", "glue/CoLA/dev.tsv.gz"),
    ("sst-2", "glue/SST-2/dev.tsv.gz"),
    ("mrpc", "glue/MRPC/train.tsv.gz"),
    ("mrpc", "glue/MRPC/dev.tsv.gz"),
    ("mrpc", "glue/MRPC/msr_paraphrase_train.txt.gz"),
    ("mrpc", "glue/MRPC/msr_paraphrase_test.txt.gz"),
    ("sts-b", "glue/STS-B/train.tsv.gz"),
    ("sts-b", "glue/STS-B/dev.tsv.gz"),
    ("sts-b", "glue/STS-B/original/sts-test.tsv.gz"),
    ("rte", "glue/RTE/train.tsv.gz"),
    ("rte", "glue/RTE/dev.tsv.gz"),
    ("wnli", "glue/WNLI/train.tsv.gz"),
    ("wnli", "glue/WNLI/dev.tsv.gz"),
    ("qnli", "glue/QNLI/dev.tsv.gz"),
    ("sst-5", "sst5/train.txt.gz"),
    ("sst-5", "sst5/dev.txt.gz"),
    ("sst-5", "sst5/test.txt.gz"),
    ("squad-1.1", "squad/dev-v1.1.json.gz"),
    ("squad-2.0", "squad/dev-v2.0.json.gz"),
    ("conll-2003", "conll2003/eng.testa.gz"),
    ("hellaswag", "hellaswag/hellaswag_val.jsonl.gz"),
]


@pytest.mark.parametrize(("name", "file"), FILES)
def test_a_file_has_its_official_rows_and_labels(name: str, file: str) -> None:
    rows, counts = read(name, file)
    assert counts[0].official == len(rows) > 0
    assert counts[0].warnings() == []
    if KNOWN[name].kind in ("classification", "choice"):
        assert {row["label"] for row in rows} == set(KNOWN[name].labels)
    assert all(row["where"].startswith(f"{file}:") for row in rows)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("CoLA", "CoLA/test"),
        ("SST-2", "SST-2/test"),
        ("MRPC", "MRPC/test"),
        ("STS-B", "STS-B/test"),
        ("QNLI", "QNLI/test"),
        ("RTE", "RTE/test"),
        ("WNLI", "WNLI/test"),
        ("AX", "diagnostic/diagnostic"),
    ],
)
def test_an_unlabelled_file_has_the_rows_that_the_server_wants(name: str, file: str) -> None:
    glue, path = GLUE[name], DATA / f"glue/{file}.tsv.gz"
    layout = known_layout(glue.known, path.name, answers=False)
    rows = list(read_file(InputFile(path, path.name), layout, glue.known.kind, lambda *_: None))
    assert [row["id"] for row in rows] == [str(number) for number in range(glue.rows)]


def test_mnli_from_another_table_with_its_columns() -> None:
    rows, _ = read("mnli", "glue/MNLI/hans_mnli_dev_matched_with_labels.txt.gz")
    counts = Counter(row["label"] for row in rows)
    assert counts == {"entailment": 3_479, "neutral": 3_123, "contradiction": 3_213}


def test_mrpc_divided_by_its_list_is_glues() -> None:
    files = ("glue/MRPC/msr_paraphrase_train.txt.gz", "glue/MRPC/dev_ids.tsv.gz")
    for split, file, rows in (("train", "train", 3_668), ("validation", "dev", 408)):
        divided, _ = read("mrpc", *files, split=split)
        glue, _ = read("mrpc", f"glue/MRPC/{file}.tsv.gz")
        assert len(divided) == rows
        assert {(row["text"], row["text_pair"], row["label"]) for row in divided} == {
            (row["text"], row["text_pair"], row["label"]) for row in glue
        }


def test_half_of_squad_2_has_no_answer() -> None:
    rows, _ = read("squad-2.0", "squad/dev-v2.0.json.gz")
    assert sum(not row["answers"] for row in rows) == 5_945


def test_conll_has_its_documents() -> None:
    rows, _ = read("conll-2003", "conll2003/eng.testb.gz")
    assert len({row["document"] for row in rows}) == 231


def test_quora_pairs_need_no_known_format() -> None:
    source = {"kind": "files", "format": "tsv", "header": False, "columns": {"text": 0, "text_pair": 1, "label": 2}}
    task = Task.model_validate(
        {
            "kind": "classification",
            "source": {**source, "files": {}},
            "labels": ["0", "1"],
            "metric": "f1",
            "max_length": 64,
        }
    )
    file = InputFile(DATA / "quora-bimpm/dev.txt.gz", "dev.txt.gz")
    rows = list(read_split(task, "train", {"train": [file], "validation": [], "test": []}, SPLITS))
    assert Counter(row["label"] for row in rows) == {"0": 5_000, "1": 5_000}


def test_blimp_has_its_paradigms_with_a_thousand_pairs_each() -> None:
    paths = sorted(path for path in (DATA / "blimp").glob("*.jsonl.gz") if path.name != "published_summary.jsonl.gz")
    count = PairCount()
    pairs = Counter(pair.paradigm for pair in read_blimp((InputFile(path, path.name) for path in paths), count))
    assert count.paradigms == pairs, "every line is known for BLiMP's own"
    assert count.warnings() == []
    assert len(pairs) == NUM_PARADIGMS
    assert set(pairs.values()) == {NUM_PAIRS}


def test_conlls_sentences_are_read_in_their_documents():
    """Every input is a piece of its document with the sentence in the middle, and as long as it may be, if the document is."""
    rows = read("conll-2003", "conll2003/eng.testb.gz", split="test")[0]
    words = sorted({word for row in rows for word in row["tokens"]})
    ids = {word: number for number, word in enumerate(["[CLS]", "[SEP]", *words])}
    task = make_task("tagging", document_context=True)
    features = encode_rows(make_rows("tagging", rows), task, tokenizers.Tokenizer(models.WordLevel(ids, "[SEP]")), 128)
    assert features.words is not None
    texts: dict[str, list[int]] = {}
    for row in rows:
        texts.setdefault(row["document"], []).extend(ids[word] for word in row["tokens"])
    assert len(texts) == 231
    asked, before = 0, Counter[str]()
    for number, (row, whole) in enumerate(zip(rows, inputs(features), strict=True)):
        own = features.words.values[features.words.offsets[number] : features.words.offsets[number + 1]]
        first, last = np.flatnonzero(own >= 0)[[0, -1]]
        assert own[first : last + 1].tolist() == list(range(asked, asked + len(row["tokens"])))
        text, begin = texts[row["document"]], before[row["document"]] - (first - 1)
        assert whole[1:-1] == text[begin : begin + len(whole) - 2]
        assert len(whole) == min(128, len(text) + 2)
        behind = len(whole) - 2 - last
        assert begin == 0 or begin + len(whole) - 2 == len(text) or first - 1 in (behind, behind - 1)
        asked += len(row["tokens"])
        before[row["document"]] += len(row["tokens"])
