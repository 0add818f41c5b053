"""The mixture of books and Wikipedia: what is taken, and that it is the same each time."""

import io
import json
import lzma
import tarfile
from pathlib import Path

from scripts import books_and_wikipedia as script

WORDS = "word " * 60


def make_inputs(folder: Path) -> tuple[Path, Path]:
    books, wikipedia = folder / "books.tar.xz", folder / "wiki.json.xz"
    text = f"# Title\n\nA short preface.\n\n## One\n\n{WORDS}first\n\n## Two\n\n{WORDS}second\n"
    with tarfile.open(books, "w:xz") as tar:
        for name in ("./An Author/A Book.md", "./An Author/cover.jpg"):
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    context = [["Paris", ["Paris is a city.", " It is old."]], ["Rome", ["Rome is a city."]]]
    with lzma.open(wikipedia, "wt") as file:
        json.dump([{"context": context}, {"context": context[:1]}], file)
    return books, wikipedia


def test_a_book_is_cut_at_headings_and_short_sections_are_left_out(tmp_path: Path) -> None:
    books, _ = make_inputs(tmp_path)
    sections = dict(script.read_sections(books))
    assert list(sections) == ["An Author/A Book#0", "An Author/A Book#1"]
    assert sections["An Author/A Book#1"].endswith("second")
    assert "#" not in sections["An Author/A Book#0"]


def test_an_article_comes_once(tmp_path: Path) -> None:
    _, wikipedia = make_inputs(tmp_path)
    assert list(script.read_articles(wikipedia)) == [
        ("Paris", "Paris is a city. It is old."),
        ("Rome", "Rome is a city."),
    ]


def test_choice_goes_by_hash_and_stops_when_there_is_enough() -> None:
    documents = [(str(number), "a b c") for number in range(20)]
    chosen = script.choose(iter(documents), 10)
    assert script.count_words(chosen) == 12
    assert chosen == script.choose(iter(documents[::-1]), 10)
    assert chosen != documents[:4]


def test_written_lines_come_back(tmp_path: Path) -> None:
    script.write(tmp_path / "out.jsonl", [("k", "text “quoted”")])
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [
        {"id": "k", "text": "text “quoted”"}
    ]
