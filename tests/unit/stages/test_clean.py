from pathlib import Path

import pyarrow as pa
import pytest

from stemma.config import Splits
from stemma.data.clean_documents import read_clean
from stemma.data.documents import DOCUMENT_SCHEMA, Document, RowGroupWriter, document_row
from stemma.data.splits import SPLITS, Split, split_of
from stemma.errors import InputError
from stemma.files import digest_tree, read_json, write_json
from stemma.progress import NullProgress
from stemma.stages import clean
from tests.toy_corpora import params, texts, write_documents

FILLER = "These words only make the document long enough to be kept by the stage that cleans it up here and now."


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))


def run(tmp_path: Path, documents: list[str], out: str = "clean", keys: list[str] | None = None) -> Path:
    write_documents(tmp_path / "valid" / "toy", documents, keys)
    settings = params(splits={"validation": 0.2, "test": 0.2})
    clean.run(settings, NullProgress(), corpora=tmp_path / "valid", out=tmp_path / out)
    return tmp_path / out


def rows(folder: Path) -> dict[str, list[str]]:
    tables = [table for split in SPLITS for table in read_clean(folder / "toy", split)]
    return {row["id"]: row["sentences"] for row in pa.concat_tables(tables).to_pylist()}


def test_documents_become_normal_sentences(tmp_path: Path) -> None:
    text = f"<b>Cafe\u0301</b> &amp; bar.\u00a0It\u200b is open.\r\n\r\n# A heading\r\n\r\n{FILLER}"
    found = list(rows(run(tmp_path, [text, *texts(20)])).values())
    assert found.count(["Caf\u00e9 & bar.", "It is open.", "A heading", FILLER]) == 1


def test_every_document_is_in_the_split_of_its_id(tmp_path: Path) -> None:
    out = run(tmp_path, list(texts(40)))
    splits = Splits(validation=0.2, test=0.2)
    for split in SPLITS:
        for table in read_clean(out / "toy", split):
            assert {split_of(key, splits) for key in table["id"].to_pylist()} == {split}


def test_the_report_counts_every_step(tmp_path: Path) -> None:
    documents = list(texts(30))
    out = run(tmp_path, [*documents, documents[0], documents[1] + " End.", "Too short."])
    report = read_json(out / "toy" / "report.json")
    assert report["read"]["documents"] == 33
    assert report["read"]["too_short"] == 1
    assert sum(report["duplicates"]["exact"].values()) == 1
    assert sum(report["duplicates"]["near"].values()) == 1
    assert sum(split["documents"] for split in report["written"].values()) == 30
    assert sum(split["sentences"] for split in report["written"].values()) == sum(map(len, rows(out).values()))


def test_order_of_documents_changes_nothing(tmp_path: Path) -> None:
    documents = list(texts(30))
    keys = [str(number) for number in range(30)]
    first = digest_tree([run(tmp_path, documents, "one", keys)])
    assert digest_tree([run(tmp_path, documents[::-1], "two", keys[::-1])]) == first


def test_nothing_to_train_on_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no document is left to train on"):
        run(tmp_path, ["Too short."])


def test_no_corpora_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no corpora there"):
        clean.run(params(), NullProgress(), corpora=tmp_path / "nowhere", out=tmp_path / "clean")


def test_scratch_files_go_away(tmp_path: Path) -> None:
    run(tmp_path, list(texts(20)))
    assert list((tmp_path / "scratch").iterdir()) == []


def run_pairs(tmp_path: Path, pairs: list[str], splits: list[Split]) -> Path:
    """The stage on a parallel corpus as `ingest` and `validate` leave it."""
    folder = tmp_path / "valid" / "toy"
    with RowGroupWriter(folder, "documents", DOCUMENT_SCHEMA) as writer:
        for number, (pair, split) in enumerate(zip(pairs, splits, strict=True)):
            writer.write(document_row(Document(str(number), "", pair, split), "toy", "CC0"), len(pair))
    write_json(folder / "manifest.json", {"kind": "parallel", "sources": {}})
    clean.run(params(), NullProgress(), corpora=tmp_path / "valid", out=tmp_path / "clean")
    return tmp_path / "clean"


def test_a_pair_keeps_its_two_sides(tmp_path: Path) -> None:
    pairs = ["One. Two.\nEins. Zwei.", "A\u00a0 <b>cafe\u0301</b>\rthere\n# Ein Caf\u00e9", "x\ny"]
    found = rows(run_pairs(tmp_path, pairs, ["train"] * 3))
    assert sorted(found.values()) == [
        ["A <b>caf\u00e9</b> there", "# Ein Caf\u00e9"],
        ["One. Two.", "Eins. Zwei."],
        ["x", "y"],
    ], "normal, but neither cut into sentences nor too short"


def test_a_pair_with_an_empty_side_is_left_out(tmp_path: Path) -> None:
    out = run_pairs(tmp_path, ["a\nb", "a\n", "\nb", " \n\u200b", "no other side"], ["train"] * 5)
    assert list(rows(out).values()) == [["a", "b"]]
    assert read_json(out / "toy" / "report.json")["read"]["too_short"] == 4


def test_pairs_stay_in_the_split_that_their_source_says(tmp_path: Path) -> None:
    pairs = [f"number {n}\nNummer {n}" for n in range(30)]
    splits: list[Split] = [split for split in SPLITS for _ in range(10)]
    out = run_pairs(tmp_path, [*pairs, pairs[25]], [*splits, "train"])
    for begin, split in enumerate(SPLITS):
        found = [row for table in read_clean(out / "toy", split) for row in table["sentences"].to_pylist()]
        assert sorted(found) == sorted(pair.split("\n") for pair in pairs[10 * begin : 10 * begin + 10])
    assert read_json(out / "toy" / "report.json")["duplicates"]["exact"]["train"] == 1, "a test pair is not trained on"
