import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from stemma.data.documents import document_id, read_documents
from stemma.errors import InputError
from stemma.files import digest_file, digest_tree, read_json
from stemma.progress import NullProgress
from stemma.stages import ingest
from tests import toy_corpora


def params(**sources: dict[str, Any]) -> Any:
    return toy_corpora.params(
        corpora={"toy": {"kind": "documents", "sources": sources}}, tokenizers={}, variants={}, tasks={}, pairs={}
    )


def files(*paths: str, layout: str = "text", **settings: Any) -> dict[str, Any]:
    return {"kind": "files", "paths": list(paths), "format": layout, "licence": "CC0", **settings}


@pytest.fixture
def external(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = Path("data/external")
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("Text of a.")
    (folder / "b.jsonl").write_text('{"text": "Text of b."}\n{"text": ""}\n')
    return folder


def run(external: Path, settings: Any, out: str = "raw") -> Path:
    ingest.run(settings, NullProgress(), external=external, out=Path(out))
    return Path(out) / "toy"


def test_sources_become_documents_with_stable_ids(external: Path) -> None:
    settings = params(two=files("data/external/a.txt"), one=files("data/external/b.jsonl", layout="jsonl"))
    folder = run(external, settings)
    rows = pa.concat_tables(read_documents(folder)).to_pylist()
    assert [(row["source"], row["text"]) for row in rows] == [("one", "Text of b."), ("one", ""), ("two", "Text of a.")]
    assert rows[2]["id"] == document_id("two", "data/external/a.txt")
    assert {row["licence"] for row in rows} == {"CC0"}


def test_the_manifest_has_digests_and_counts(external: Path) -> None:
    folder = run(external, params(one=files("data/external/a.txt")))
    source = read_json(folder / "manifest.json")["sources"]["one"]
    assert source["files"] == [
        {"name": "data/external/a.txt", "sha256": digest_file(external / "a.txt"), "bytes": 10},
    ]
    assert (source["documents"], source["characters"], source["licence"]) == (1, 10, "CC0")


def test_equal_sources_give_equal_folders(external: Path) -> None:
    settings = params(one=files("data/external/a.txt"), two=files("data/external/b.jsonl", layout="jsonl"))
    assert digest_tree([run(external, settings)]) == digest_tree([run(external, settings, "again")])


def test_a_mismatch_stops_the_stage_and_keeps_what_was_there(external: Path) -> None:
    run(external, params(one=files("data/external/a.txt")))
    before = digest_tree([Path("raw")])
    expected = "0" * 64
    with pytest.raises(
        InputError, match=rf"a.txt: its sha256 is {digest_file(external / 'a.txt')}, expected {expected}"
    ):
        run(external, params(one=files("data/external/a.txt", sha256={"data/external/a.txt": expected})))
    assert digest_tree([Path("raw")]) == before
    assert [path.name for path in Path().iterdir() if "tmp" in path.name] == []


def test_a_source_from_a_folder_laid_out_as_on_the_hub(external: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    Path("set").mkdir()
    pq.write_table(pa.table({"body": ["One.", "Two."]}), "set/train.parquet")
    hub = {
        "kind": "hub",
        "dataset": "./set",
        "split": "train",
        "revision": "main",
        "licence": "CC0",
        "text_column": "body",
    }
    folder = run(external, params(one=hub))
    assert pa.concat_tables(read_documents(folder))["text"].to_pylist() == ["One.", "Two."]
    assert read_json(folder / "manifest.json")["sources"]["one"]["documents"] == 2


def test_a_source_without_documents_is_an_error(external: Path) -> None:
    Path("data/external/d.xml").write_text("<mediawiki></mediawiki>")
    with pytest.raises(InputError, match="source 'one': no documents in it"):
        run(external, params(one=files("data/external/d.xml", layout="mediawiki")))


def test_the_bundled_sample(tmp_path: Path) -> None:
    ingest.run(toy_corpora.params(), NullProgress(), external=tmp_path, out=tmp_path / "raw")
    rows = pa.concat_tables(read_documents(tmp_path / "raw" / "toy")).to_pylist()
    assert len(rows) == 106
    titles = {row["title"]: row["text"] for row in rows}
    assert titles["Albedo"].startswith("Albedo or reflection coefficient, derived from Latin albedo")
    text = "\n".join(titles.values())
    assert 400_000 < len(text.split()) < 480_000
    for mark in ("{{", "}}", "[[", "]]", "<ref", "'''", "&nbsp;", "{|", "thumb|"):
        assert mark not in text, mark


BAD = {
    "missing": (None, "text", "no such file"),
    "empty": (b"", "text", "the file is empty"),
    "encoding": (b"good\nb\xffd", "text", "not valid UTF-8 at byte 2 of the line"),
    "nul": (b"a\0b", "text", "a NUL byte"),
    "malformed": (b'{"text": "a"}\n{"text": ', "jsonl", "bad:2: not valid JSON"),
    "type": (b'{"text": 3}', "jsonl", "bad:1: 'text': expected text, found int"),
    "columns": (b'{"body": "a"}', "jsonl", "bad:1: no column 'text'; there are 'body'"),
    "xml": (b"<mediawiki><page></mediawiki>", "mediawiki", "bad:1: not a well-formed XML dump"),
    "entities": (b"<!DOCTYPE m [<!ENTITY a 'b'>]><mediawiki/>", "mediawiki", "has a document type declaration"),
    "parquet": (b"PAR1", "parquet", "can't be read as parquet"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path, case: str) -> None:
    data, layout, message = BAD[case]
    (tmp_path / "external").mkdir()
    if data is not None:
        (tmp_path / "external" / "bad").write_bytes(data)
    values = json.loads(params(one=files("external/bad", layout=layout)).model_dump_json())
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(values))
    command = [sys.executable, "-m", "stemma", "ingest", "--external", "external", "--out", "raw"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line for line in result.stderr.splitlines() if line.startswith("stemma: ")]
    assert result.returncode == 2
    assert len(lines) == 1
    assert "external/bad" in lines[0]
    assert message in lines[0]
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "raw").exists()


def pairs_params(**sources: dict[str, Any]) -> Any:
    return toy_corpora.params(corpora={"toy": {"kind": "parallel", "sources": sources}}, tokenizers={})


def test_aligned_files_become_pairs_in_their_splits(external: Path) -> None:
    names = {}
    for split in ("train", "validation", "test"):
        for language in ("en", "de"):
            (external / f"{split}.{language}").write_text(f"{split} {language} 1\n{split} {language} 2\n")
        names[split] = [f"data/external/{split}.en", f"data/external/{split}.de"]
    folder = run(external, pairs_params(own={"kind": "parallel-files", "files": names, "licence": "CC0"}))
    rows = pa.concat_tables(read_documents(folder)).to_pylist()
    assert [row["text"] for row in rows[:2]] == ["train en 1\ntrain de 1", "train en 2\ntrain de 2"]
    assert [row["id"].partition("-")[0] for row in rows] == ["train"] * 2 + ["validation"] * 2 + ["test"] * 2
    manifest = read_json(folder / "manifest.json")
    assert manifest["kind"] == "parallel"
    assert [file["name"] for file in manifest["sources"]["own"]["files"]] == [
        name for both in names.values() for name in both
    ]


def test_aligned_files_without_splits_are_divided_by_hash(external: Path) -> None:
    (external / "x.en").write_text("a\nb\n")
    (external / "x.de").write_text("A\nB\n")
    files = ["data/external/x.en", "data/external/x.de"]
    folder = run(external, pairs_params(own={"kind": "parallel-files", "files": files, "licence": "CC0"}))
    ids = pa.concat_tables(read_documents(folder))["id"].to_pylist()
    assert ids == [document_id("own", f"data/external/x.en:{number}") for number in (1, 2)]


def test_aligned_files_outside_need_their_checksums(external: Path, tmp_path: Path) -> None:
    other = tmp_path / "x.de"
    other.write_text("A\n")
    (external / "x.en").write_text("a\n")
    source = {"kind": "parallel-files", "files": ["data/external/x.en", str(other)], "licence": "CC0"}
    with pytest.raises(InputError, match=r"x\.de: lies outside data/external; state its sha256"):
        run(external, pairs_params(own=source))
    folder = run(external, pairs_params(own={**source, "sha256": {str(other): digest_file(other)}}))
    assert pa.concat_tables(read_documents(folder))["text"].to_pylist() == ["a\nA"]


def test_generated_pairs(external: Path) -> None:
    source = {"kind": "generated-pairs", "name": "invented-language", "pairs": 7, "seed": 1, "licence": "CC0"}
    rows = pa.concat_tables(read_documents(run(external, pairs_params(own=source)))).to_pylist()
    assert len(rows) == 7
    assert all(row["text"].count("\n") == 1 for row in rows)
