"""Stage `clean`: validated documents -> normalised sentences without duplicates, in a folder a split."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stemma.config import Cleaning, Params
from stemma.data.clean_documents import CLEAN_SCHEMA
from stemma.data.cleaning import DocumentPool
from stemma.data.documents import RowGroupWriter, count_documents, read_documents
from stemma.data.splits import Split
from stemma.data.workspace import open_workspace
from stemma.errors import InputError
from stemma.files import atomic_dir, write_json
from stemma.progress import Progress
from stemma.text.leftovers import strip_leftovers
from stemma.text.normalise import normalise
from stemma.text.sentences import split_sentences
from stemma.text.words import find_words

__all__ = ["run"]


def run(params: Params, progress: Progress, *, corpora: Path, out: Path) -> None:
    """Clean every corpus in `corpora` into its folder of `out`."""
    names = sorted(path.name for path in corpora.iterdir() if path.is_dir()) if corpora.is_dir() else []
    if not names:
        raise InputError(f"{corpora}: no corpora there; run the stage `validate`")
    with atomic_dir(out) as folder:
        for name in names:
            report = _clean(params, progress, corpora / name, folder / name)
            write_json(folder / name / "report.json", report)


def _clean(params: Params, progress: Progress, corpus: Path, folder: Path) -> dict[str, Any]:
    with open_workspace("clean") as workspace, DocumentPool(workspace, params.splits, params.cleaning) as pool:
        read = _fill(pool, params.cleaning, progress, corpus)
        written = _write(pool, progress, folder, total=read["documents"] - read["too_short"])
    if not written["train"]["documents"]:
        raise InputError(
            f"{corpus}: no document is left to train on; see {folder.name}/report.json for what was removed"
        )
    return {"read": read, "duplicates": pool.duplicates, "written": written}


def _fill(pool: DocumentPool, settings: Cleaning, progress: Progress, corpus: Path) -> dict[str, int]:
    """Read, normalise and measure the documents; short ones are left out."""
    progress.start(f"reading {corpus.name}", count_documents(corpus), "documents")
    counts = dict.fromkeys(("documents", "characters", "characters_normalised", "too_short"), 0)
    for row in _rows(corpus):
        text = normalise(strip_leftovers(normalise(row["text"], settings.unicode)), settings.unicode)
        words = find_words(text.lower())
        counts["documents"] += 1
        counts["characters"] += len(row["text"])
        counts["characters_normalised"] += len(text)
        if len(words) < settings.min_document_words:
            counts["too_short"] += 1
        else:
            pool.add(row["id"], row["source"], text, words.hashes)
        progress.update(counts["documents"])
    return counts


def _rows(corpus: Path) -> Iterator[dict[str, str]]:
    for table in read_documents(corpus, columns=("id", "source", "text")):
        for batch in table.to_batches(max_chunksize=16):  # few texts at a time as Python strings
            yield from batch.to_pylist()


def _write(pool: DocumentPool, progress: Progress, folder: Path, total: int) -> dict[Split, dict[str, int]]:
    """Write the documents that stay, as sentences, a split at a time."""
    progress.start(f"writing {folder.name}", total, "documents")
    counts: dict[Split, dict[str, int]] = {}
    done = 0
    for split, documents in pool.documents():
        count = counts[split] = dict.fromkeys(("documents", "sentences", "characters"), 0)
        with RowGroupWriter(folder / split, "part", CLEAN_SCHEMA) as writer:
            for document in documents:
                sentences = split_sentences(document.text)
                num_characters = sum(map(len, sentences))
                writer.write({"id": document.id, "source": document.source, "sentences": sentences}, num_characters)
                count["documents"] += 1
                count["sentences"] += len(sentences)
                count["characters"] += num_characters
                done += 1
                progress.update(done)
    return counts
