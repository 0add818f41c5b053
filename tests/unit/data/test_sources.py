import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stemma.config import FilesSource
from stemma.data import sources
from stemma.data.documents import Document
from stemma.data.input_files import InputFile
from stemma.data.source_files import PairedFiles
from stemma.data.sources import read_file, read_paired_files
from stemma.errors import InputError


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))


def read(path: Path, layout: str, **settings: Any) -> list[Document]:
    values = {"kind": "files", "paths": ["x"], "format": layout, "licence": "CC0", **settings}
    return list(read_file(InputFile(path, path.name), FilesSource.model_validate(values), str.upper))


def write(path: Path, data: str) -> Path:
    path.write_text(data, encoding="utf-8")
    return path


def test_a_text_file_is_a_document(tmp_path: Path) -> None:
    path = write(tmp_path / "Old Book.txt", "Line one.\r\n\r\nLine two.\n")
    assert read(path, "text") == [Document("Old Book.txt", "Old Book", "Line one.\n\nLine two.")]


def test_blank_lines_part_blocks(tmp_path: Path) -> None:
    path = write(tmp_path / "file.txt", "\n\na\nb\n \n\nc\n")
    assert read(path, "blocks") == [Document("file.txt:3", "", "a\nb"), Document("file.txt:7", "", "c")]


def test_json_lines(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"text": "a", "title": "T", "n": 7}, {"text": None, "title": 3, "n": "x"}]
    path = write(tmp_path / "f.jsonl", "\n".join(map(json.dumps, rows)))
    assert read(path, "jsonl") == [Document("f.jsonl:1", "T", "a"), Document("f.jsonl:2", "", "")]
    assert [document.key for document in read(path, "jsonl", id_column="n")] == ["7", "x"]


def test_packed_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"body": "a"}\n'))
    assert read(path, "jsonl", text_column="body") == [Document("f.jsonl.gz:1", "", "a")]


@pytest.mark.parametrize("packed", [False, True])
def test_parquet(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"text": [f"t{n}" for n in range(200)], "n": list(range(200)), "other": [[1]] * 200}), path)
    if packed:
        packed_path = tmp_path / "f.parquet.gz"
        packed_path.write_bytes(gzip.compress(path.read_bytes()))
        path = packed_path
    documents = read(path, "parquet", id_column="n")
    assert [document.text for document in documents] == [f"t{n}" for n in range(200)]
    assert [document.key for document in documents] == [str(n) for n in range(200)]


def test_a_dump_is_converted_and_holds_articles_only(tmp_path: Path) -> None:
    page = "<page><title>{}</title><ns>{}</ns><id>{}</id>{}<revision><text>body</text></revision></page>"
    pages = page.format("A", 0, 1, ""), page.format("B", 4, 2, ""), page.format("C", 0, 3, '<redirect title="A"/>')
    path = write(tmp_path / "d.xml", f"<mediawiki>{''.join(pages)}</mediawiki>")
    assert read(path, "mediawiki") == [Document("1", "A", "BODY")]


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        ('{"body": "a"}', {}, r"f.jsonl:1: no column 'text'; there are 'body'"),
        ('{"text": "a"}\n{"text": ["a"]}', {}, r"f.jsonl:2: 'text': expected text, found list"),
        ('{"text": "a"}\n{"text": 5}', {}, r"f.jsonl:2: 'text': expected text, found int"),
        ('{"text": "a"}', {"id_column": "id"}, r"f.jsonl:1: no column 'id'"),
        ('{"text": "a", "id": null}', {"id_column": "id"}, r"f.jsonl:1: 'id' must be text or a whole number"),
        ('{"text": "a", "id": true}', {"id_column": "id"}, r"f.jsonl:1: 'id' must be text or a whole number"),
    ],
)
def test_json_of_another_shape_is_named(tmp_path: Path, data: str, settings: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(write(tmp_path / "f.jsonl", data), "jsonl", **settings)


def test_parquet_of_another_shape_is_named(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"text": [1], "body": ["x"]}), path)
    with pytest.raises(InputError, match=r"f.parquet: column 'text' must be text, found int64"):
        read(path, "parquet")
    with pytest.raises(InputError, match=r"f.parquet: no column 'words'; there are 'body', 'text'"):
        read(path, "parquet", text_column="words")
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match=r"f.parquet: can't be read as parquet"):
        read(path, "parquet")


def test_invalid_utf8_in_parquet_is_named(tmp_path: Path) -> None:
    array = pa.array([b"good", b"b\xffd"], type=pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": array}), tmp_path / "f.parquet")
    with pytest.raises(InputError, match=r"f.parquet: row \d: not valid UTF-8"):
        read(tmp_path / "f.parquet", "parquet")


def test_an_absurdly_long_document_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_DOCUMENT_CHARACTERS", 100)
    path = write(tmp_path / "f.txt", "some words\n" * 20)
    for layout in ("text", "blocks"):
        with pytest.raises(InputError, match=r"f.txt: a document longer than 100 characters"):
            read(path, layout)


def paired(source: Path, target: Path, split: Any = None) -> list[Document]:
    return list(read_paired_files(PairedFiles(InputFile(source, source.name), InputFile(target, target.name), split)))


def test_aligned_files_are_pairs_line_by_line(tmp_path: Path) -> None:
    source = write(tmp_path / "x.en", "A dog.\r\n\nTwo. Cats.\n")
    target = tmp_path / "x.de.gz"
    target.write_bytes(gzip.compress(b"Ein Hund.\nLeer\nZwei Katzen."))
    assert paired(source, target, "test") == [
        Document("x.en:1", "", "A dog.\nEin Hund.", "test"),
        Document("x.en:2", "", "\nLeer", "test"),
        Document("x.en:3", "", "Two. Cats.\nZwei Katzen.", "test"),
    ]
    assert paired(source, target)[0].split is None


@pytest.mark.parametrize("swap", [False, True])
def test_files_that_are_not_aligned_are_named_with_their_counts(tmp_path: Path, swap: bool) -> None:
    longer = write(tmp_path / "longer", "a\n" * 1005)
    shorter = write(tmp_path / "shorter", "b\n" * 3)
    first, second = (shorter, longer) if swap else (longer, shorter)
    counts = {"longer": "1,005", "shorter": "3"}
    message = f"{first.name} has {counts[first.name]} lines and {second.name} has {counts[second.name]}; aligned files"
    with pytest.raises(InputError, match=message):
        paired(first, second)
