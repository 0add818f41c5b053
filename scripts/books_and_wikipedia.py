"""Mix a corpus like BERT's (books and Wikipedia) at small scale, as JSON lines for `data/external/`.

    python scripts/books_and_wikipedia.py classic-books-markdown.tar.xz hotpot_dev_distractor_v1.json.xz --words 10000000

Books: an archive of `Author/Title.md` (github.com/mlschmitt/classic-books-markdown), cut into sections at headings. Wikipedia:
the introductions in HotpotQA's distractor file (hotpotqa.github.io), each once. A section or article is a document; those with
the lowest hashes of their keys are taken until there are enough words, half from each side where both have enough. The same
inputs and number of words give the same bytes.
"""

import argparse
import hashlib
import json
import lzma
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

from stemma.errors import InputError
from stemma.files import atomic_path

HEADING = re.compile(r"^#{1,6}\s.*$", re.MULTILINE)
MIN_WORDS = 50  # of a section; what lies between a title and the first chapter is mostly less
Document = tuple[str, str]  # key and text


def main() -> None:
    """Read both sides, choose, and write."""
    parser = argparse.ArgumentParser(description="Mix books and Wikipedia into one corpus.")
    parser.add_argument("books", type=Path)
    parser.add_argument("wikipedia", type=Path)
    parser.add_argument("--words", type=int, default=10_000_000)
    parser.add_argument("--out", type=Path, default=Path("data/external/books-and-wikipedia.jsonl"))
    arguments = parser.parse_args()
    articles = choose(read_articles(arguments.wikipedia), arguments.words // 2)
    sections = choose(read_sections(arguments.books), arguments.words - count_words(articles))
    write(arguments.out, [*sections, *articles])
    print(f"{arguments.out}: {count_words(sections):,} words of books, {count_words(articles):,} of Wikipedia")


def read_sections(archive: Path) -> Iterator[Document]:
    """The sections of every book of the archive; nothing is unpacked to disk."""
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and member.name.endswith(".md"):
                file = tar.extractfile(member)
                assert file is not None
                name = member.name.removeprefix("./").removesuffix(".md")
                for number, text in enumerate(cut_at_headings(file.read().decode("utf-8", "replace"))):
                    yield f"{name}#{number}", text


def cut_at_headings(markdown: str) -> Iterator[str]:
    """The texts between a book's headings, without short ones."""
    for section in HEADING.split(markdown):
        if len(section.split()) >= MIN_WORDS:
            yield section.strip()


def read_articles(path: Path) -> Iterator[Document]:
    """The introductions in HotpotQA's file, each title once."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        questions = json.load(file)
    seen: set[str] = set()
    for question in questions:
        for title, sentences in question["context"]:
            if title not in seen:
                seen.add(title)
                yield title, "".join(sentences).strip()


def choose(documents: Iterator[Document], words: int) -> list[Document]:
    """Documents by rising hash of their keys, until they have so many words."""
    chosen, total = [], 0
    for document in sorted(documents, key=lambda item: hashlib.sha256(item[0].encode()).digest()):
        if total >= words:
            break
        chosen.append(document)
        total += len(document[1].split())
    return chosen


def count_words(documents: list[Document]) -> int:
    """How many words they have, by spaces."""
    return sum(len(text.split()) for _, text in documents)


def write(path: Path, documents: list[Document]) -> None:
    """Write the documents as JSON lines."""
    if not documents:
        raise InputError(f"{path}: there is nothing to write; are the inputs what the script's first lines say?")
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for key, text in documents:
            file.write(json.dumps({"id": key, "text": text}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
