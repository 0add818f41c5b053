"""Text and models that benchmarks share, made by the project's own stages.

The Wikipedia sample of the gensim wheel; and as much distinct prose as is asked for: books where they are at hand
(`STEMMA_DATA`), or else the project's own stories.
"""

import json
import lzma
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import yaml

from stemma.data.stories import write_stories

__all__ = [
    "ROOT",
    "STAGES",
    "fast_tokenizer",
    "kind_of_prose",
    "prose",
    "prose_project",
    "run_stages",
    "sample_sentences",
    "tokenized_sample",
    "tokenized_stories",
]

ROOT = Path(__file__).resolve().parent.parent
STAGES: Final = {
    "ingest": ["ingest", "--external", "external", "--out", "raw"],
    "clean": ["clean", "--corpora", "raw", "--out", "clean"],
    "tokenizer": ["tokenizer", "wordpiece", "--corpus", "clean/sample", "--out", "tokenizer"],
    "tokenize": [
        *("tokenize", "wordpiece", "--corpus", "clean/sample"),
        *("--tokenizer", "tokenizer", "--out", "tokens"),
    ],
}
_BOOKS: Final = Path(os.environ.get("STEMMA_DATA", ROOT.parent / "shared/data")) / "books/classic-books-markdown.tar.xz"
_DOCUMENT_CHARACTERS: Final = 10_000


def tokenized_sample(folder: Path, vocabulary_size: int) -> Path:
    """A project folder in which the sample has been tokenized: `tokens` and `tokenizer`; made once."""
    project = folder / f"sample-{vocabulary_size}"
    if (project / "tokens").exists():
        return project
    source: dict[str, object] = {"kind": "bundled", "name": "wikipedia-sample", "licence": "CC BY-SA 4.0"}
    _write_params(project, source, vocabulary_size)
    run_stages(project, *STAGES)
    return project


def tokenized_stories(folder: Path) -> Path:
    """Likewise the default run's corpus."""
    project = folder / "stories"
    if not (project / "tokens").exists():
        values = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
        _write_params(project, values["corpora"]["stories"]["sources"]["stories"], 2000)
        run_stages(project, *STAGES)
    return project


def prose_project(folder: Path, num_bytes: int, vocabulary_size: int = 8000) -> Path:
    """A project folder whose one source is `prose` of so many bytes, as JSON lines in `external`; made once."""
    project = folder / f"prose-{num_bytes}"
    if not (project / "params.yaml").exists():
        (project / "external").mkdir(parents=True, exist_ok=True)
        with (project / "external/prose.jsonl").open("w", encoding="utf-8") as file:
            for text in prose(num_bytes):
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
        source = {"kind": "files", "paths": ["external/prose.jsonl"], "format": "jsonl", "licence": "none"}
        _write_params(project, source, vocabulary_size)
    return project


def prose(num_bytes: int) -> Iterator[str]:
    """Distinct documents of about ten thousand characters, of about so many bytes in all."""
    left = num_bytes
    for text in _book_parts() if _BOOKS.exists() else _long_stories():
        yield text
        left -= len(text.encode())
        if left <= 0:
            return


def kind_of_prose() -> str:
    """What `prose` gives here."""
    return "books" if _BOOKS.exists() else "stories"


def run_stages(project: Path, *names: str) -> None:
    """Run stages in a project folder, each in a process of its own."""
    for name in names:
        subprocess.run([sys.executable, "-m", "stemma", *STAGES[name]], cwd=project, check=True)


def sample_sentences(project: Path) -> list[str]:
    """The sentences of the sample, in order."""
    tables = [pq.read_table(path) for path in sorted((project / "clean/sample/train").glob("*.parquet"))]
    return [sentence for table in tables for document in table["sentences"].to_pylist() for sentence in document]


def fast_tokenizer(folder: Path) -> Any:
    """A model's tokenizer, as `transformers` has it."""
    import transformers

    tokenizer_class: Any = transformers.PreTrainedTokenizerFast
    return tokenizer_class(
        tokenizer_file=str(folder / "tokenizer.json"),
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
    )


def _write_params(project: Path, source: Mapping[str, object], vocabulary_size: int) -> None:
    """The project's own settings with one corpus `sample` and one tokenizer."""
    values = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    values["corpora"] = {"sample": {"kind": "documents", "sources": {"sample": source}}}
    tokenizer = values["tokenizers"]["wordpiece"] | {"corpus": "sample", "vocabulary_size": vocabulary_size}
    values["tokenizers"] = {"wordpiece": tokenizer | {"min_frequency": 1}}
    values |= {"variants": {}, "transfers": {}, "tasks": {}, "pairs": {}, "release": values["release"] | {"floors": {}}}
    project.mkdir(parents=True, exist_ok=True)
    (project / "params.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")


def _book_parts() -> Iterator[str]:
    """Books in the archive's order, cut at blank lines."""
    with lzma.open(_BOOKS) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".md") else None
            if file is not None:
                yield from _parts(file.read().decode("utf-8").split("\n\n"))


def _long_stories() -> Iterator[str]:
    yield from _parts(story.text for story in write_stories(1 << 40, seed=1))


def _parts(paragraphs: Iterable[str]) -> Iterator[str]:
    """Paragraphs joined to documents."""
    held: list[str] = []
    size = 0
    for paragraph in paragraphs:
        held.append(paragraph)
        size += len(paragraph)
        if size >= _DOCUMENT_CHARACTERS:
            yield "\n\n".join(held)
            held, size = [], 0
    if held:
        yield "\n\n".join(held)
