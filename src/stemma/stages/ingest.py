"""Stage `ingest`: every corpus's sources -> parquet documents and a manifest."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stemma.config import BundledSource, Corpus, Params, Source
from stemma.data.bundled import bundled_path
from stemma.data.documents import DOCUMENT_SCHEMA, Document, RowGroupWriter, document_row
from stemma.data.sources import read_mediawiki
from stemma.errors import SettingsError
from stemma.files import MANIFEST, atomic_dir, digest_file, write_json
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
    with atomic_dir(out) as folder:
        for name, corpus in sorted(params.corpora.items()):
            progress.start(f"reading {name}", None, "documents")
            sources = _ingest(corpus, progress, external, folder / name)
            write_json(folder / name / MANIFEST, {"sources": sources})


def _ingest(corpus: Corpus, progress: Progress, external: Path, folder: Path) -> dict[str, object]:
    sources: dict[str, object] = {}
    done = 0
    with RowGroupWriter(folder, "documents", DOCUMENT_SCHEMA) as writer:
        for name, source in sorted(corpus.sources.items()):
            opened = _open(source, external)
            num_documents = num_characters = 0
            for document in opened.documents:
                writer.write(document_row(document, name, source.licence), len(document.text))
                num_documents += 1
                num_characters += len(document.text)
                progress.update(done + num_documents)
            done += num_documents
            sources[name] = {
                "files": opened.files,
                "documents": num_documents,
                "characters": num_characters,
                "licence": source.licence,
            }
    return sources


def _open(source: Source, external: Path) -> _Opened:
    if isinstance(source, BundledSource):
        path = bundled_path(source.name)
        return _Opened(files=[_describe(path, path.name)], documents=read_mediawiki(path, path.name, strip_wikitext))
    raise SettingsError(f"sources of kind {source.kind!r} can't be read yet")


def _describe(path: Path, name: str) -> dict[str, object]:
    return {"name": name, "sha256": digest_file(path), "bytes": path.stat().st_size}
