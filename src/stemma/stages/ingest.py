"""Stage `ingest`: every corpus's sources -> parquet documents and a manifest."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from stemma.config import (
    BundledSource,
    Corpus,
    FilesSource,
    GeneratedPairs,
    GeneratedSource,
    HubSource,
    ParallelFiles,
    Params,
    Source,
)
from stemma.data.bundled import bundled_path
from stemma.data.documents import DOCUMENT_SCHEMA, Document, RowGroupWriter, document_row
from stemma.data.input_files import InputFile
from stemma.data.invented_language import write_pairs
from stemma.data.source_files import describe_file, find_paired_files, find_source_files
from stemma.data.sources import read_file, read_mediawiki, read_paired_files, record_document
from stemma.data.stories import write_stories
from stemma.data.workspace import keep_no_large_blocks
from stemma.errors import InputError
from stemma.files import MANIFEST, atomic_dir, write_json
from stemma.progress import Progress
from stemma.text.markup import strip_wikitext

__all__ = ["run"]


@dataclass(frozen=True, kw_only=True)
class _Opened:
    """A source that is ready to be read: its files as the manifest shows them, and its documents."""

    files: list[dict[str, object]]
    documents: Iterator[Document]


def run(params: Params, progress: Progress, *, external: Path, out: Path) -> None:
    """Read every corpus into its folder of `out`."""
    keep_no_large_blocks()
    with atomic_dir(out) as folder:
        for name, corpus in sorted(params.corpora.items()):
            progress.start(f"reading {name}", None, "documents")
            sources = _ingest(corpus, progress, external, folder / name)
            write_json(folder / name / MANIFEST, {"kind": corpus.kind, "sources": sources})


def _ingest(corpus: Corpus, progress: Progress, external: Path, folder: Path) -> dict[str, object]:
    sources: dict[str, object] = {}
    done = 0
    opened = {name: _open(source, external) for name, source in sorted(corpus.sources.items())}  # all are checked first
    with RowGroupWriter(folder, "documents", DOCUMENT_SCHEMA) as writer:
        for name, source in sorted(corpus.sources.items()):
            digest = hashlib.sha256()
            num_documents = num_characters = 0
            for document in opened[name].documents:
                row = document_row(document, name, source.licence)
                for part in (document.key.encode(), b"\0", row["text"], b"\0"):
                    digest.update(part)
                num_documents += 1
                num_characters += len(document.text)
                del document  # a long one takes as much again as what is written of it
                writer.write(row, len(row["text"]))
                progress.update(done + num_documents)
            if not num_documents:
                raise InputError(f"source {name!r}: no documents in it")
            done += num_documents
            sources[name] = {
                "files": opened[name].files,
                "documents": num_documents,
                "characters": num_characters,
                "documents_sha256": digest.hexdigest(),
                "licence": source.licence,
            }
    return sources


def _open(source: Source, external: Path) -> _Opened:
    match source:
        case BundledSource():
            path = bundled_path(source.name)
            described = [describe_file(InputFile(path, path.name))]
            return _Opened(files=described, documents=read_mediawiki(path, path.name, strip_wikitext))
        case GeneratedSource():
            return _Opened(files=[], documents=write_stories(source.documents, source.seed))
        case FilesSource():
            files = find_source_files(source, external)
            return _Opened(files=[describe_file(file) for file in files], documents=_read_files(files, source))
        case ParallelFiles():
            pairs = find_paired_files(source, external)
            described = [describe_file(file) for pair in pairs for file in (pair.source, pair.target)]
            return _Opened(files=described, documents=chain.from_iterable(map(read_paired_files, pairs)))
        case GeneratedPairs():
            return _Opened(files=[], documents=write_pairs(source.pairs, source.seed))
        case HubSource():
            return _Opened(files=[{"name": f"{source.dataset}@{source.revision}"}], documents=_read_hub(source))


def _read_files(files: list[InputFile], source: FilesSource) -> Iterator[Document]:
    for file in files:
        yield from read_file(file, source, strip_wikitext)


def _read_hub(source: HubSource) -> Iterator[Document]:
    from stemma.adapters.hub import read_records

    records = read_records(source.dataset, source.config, source.split, source.revision)
    for position, (where, record) in enumerate(records):
        yield record_document(record, where, str(position), text_column=source.text_column, id_column=None)
