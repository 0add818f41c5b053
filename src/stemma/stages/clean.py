"""Stage `clean`: validated documents -> normalised sentences without duplicates, in a folder a split."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from stemma.config import Cleaning, Params, Splits
from stemma.data.clean_documents import CLEAN_SCHEMA
from stemma.data.cleaning import CleanedDocument, DocumentPool, PackedDocuments, pack_documents
from stemma.data.documents import RowGroupWriter, count_documents, read_documents
from stemma.data.splits import Split
from stemma.data.workers import Workers, in_batches, open_workers
from stemma.data.workspace import data_threads, keep_no_large_blocks, open_workspace
from stemma.errors import InputError
from stemma.files import MANIFEST, atomic_dir, read_json, write_json
from stemma.progress import Progress
from stemma.text.clean_text import clean_pair, clean_text

__all__ = ["run"]

Row = tuple[str, str, bytes]  # id, source, text


def run(params: Params, progress: Progress, *, corpora: Path, out: Path) -> None:
    """Clean every corpus in `corpora` into its folder of `out`."""
    names = sorted(path.name for path in corpora.iterdir() if path.is_dir()) if corpora.is_dir() else []
    if not names:
        raise InputError(f"{corpora}: no corpora there; run the stage `validate`")
    keep_no_large_blocks()
    clean_text(b"A word.", params.cleaning.unicode)  # makes the tables that the workers then share
    with atomic_dir(out) as folder:
        for name in names:
            report = _clean(params, progress, corpora / name, folder / name)
            write_json(folder / name / "report.json", report)


def _clean(params: Params, progress: Progress, corpus: Path, folder: Path) -> dict[str, Any]:
    with open_workspace("clean") as workspace, DocumentPool(workspace, params.cleaning) as pool:
        with open_workers(data_threads()) as workers:
            read = _fill(pool, params, workers, progress, corpus)
        written = _write(pool, progress, folder, total=read["documents"] - read["too_short"])
    if not written["train"]["documents"]:
        raise InputError(
            f"{corpus}: no document is left to train on; see {folder.name}/report.json for what was removed"
        )
    return {"read": read, "duplicates": pool.duplicates, "written": written}


def _fill(pool: DocumentPool, params: Params, workers: Workers, progress: Progress, corpus: Path) -> Counter[str]:
    """Read, clean and measure the documents; short ones, and pairs of which one side is empty, are left out."""
    progress.start(f"cleaning {corpus.name}", count_documents(corpus), "documents")
    counts = Counter(dict.fromkeys(("documents", "characters", "characters_normalised", "too_short"), 0))
    batches = in_batches(_rows(corpus), size_of=lambda row: len(row[2]))
    clean_rows = partial(_clean_rows, params.cleaning, params.splits, pool.texts_dir, _holds_pairs(corpus))
    for packed, read in workers.map(clean_rows, batches):
        pool.add(packed)
        counts.update(read)
        progress.update(counts["documents"])
    return counts


def _rows(corpus: Path) -> Iterator[Row]:
    columns = ("id", "source", "text")
    for table in read_documents(corpus, columns=columns):
        for document_id, source, text in zip(*(table[name] for name in columns), strict=True):
            yield document_id.as_py(), source.as_py(), text.as_buffer().to_pybytes()


def _holds_pairs(corpus: Path) -> bool:
    """Whether a corpus is of sentences with their translations, as `ingest` noted."""
    manifest = corpus / MANIFEST
    return manifest.is_file() and read_json(manifest).get("kind") == "parallel"


def _clean_rows(
    settings: Cleaning, splits: Splits, texts_dir: Path, pairs: bool, rows: list[Row]
) -> tuple[PackedDocuments, dict[str, int]]:
    """What a worker does with documents that were read."""
    documents = []
    counts = dict.fromkeys(("characters", "characters_normalised"), 0)
    for document_id, source, data in rows:
        text = clean_pair(data, settings.unicode) if pairs else clean_text(data, settings.unicode)
        counts["characters"] += text.num_characters_raw
        counts["characters_normalised"] += text.num_characters
        if text.sentences if pairs else len(text.words) >= settings.min_document_words:
            documents.append(CleanedDocument(document_id, source, text.sentences, text.words, text.digest))
    counts |= {"documents": len(rows), "too_short": len(rows) - len(documents)}
    return pack_documents(documents, splits, settings.near_duplicates, texts_dir), counts


def _write(pool: DocumentPool, progress: Progress, folder: Path, total: int) -> dict[Split, Counter[str]]:
    """Write the documents that stay, a split at a time."""
    progress.start(f"writing {folder.name}", total, "documents")
    counts: dict[Split, Counter[str]] = {}
    done = 0
    for split, documents in pool.documents():
        count = counts[split] = Counter(dict.fromkeys(("documents", "sentences", "characters"), 0))
        with RowGroupWriter(folder / split, "part", CLEAN_SCHEMA) as writer:
            for document in documents:
                writer.write(document.row(), len(document.sentences))
                num_sentences, num_characters = document.count()
                count.update(documents=1, sentences=num_sentences, characters=num_characters)
                done += 1
                progress.update(done)
    return counts
