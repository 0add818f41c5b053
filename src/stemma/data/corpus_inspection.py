"""A corpus under inspection: its documents checked a row group at a time, its ids and texts as a whole."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stemma.config import Splits
from stemma.data.documents import DOCUMENT_SCHEMA, count_documents, parquet_files, read_documents, read_row_groups
from stemma.data.overlap import Hashes, hash_ngrams
from stemma.data.quarantine import Inspection
from stemma.data.repeats import Places, find_repeats
from stemma.data.row_rules import derive_documents, readable
from stemma.data.splits import split_of
from stemma.data.workspace import Workspace
from stemma.files import MANIFEST, read_json, write_json
from stemma.progress import Progress

__all__ = ["hash_training_documents", "inspect_corpus"]


def inspect_corpus(folder: Path, out: Path, inspection: Inspection, workspace: Workspace, progress: Progress) -> None:
    """Check every document of a corpus and write those that pass, in files of the same names, with their manifest."""
    places = Places.of(parquet_files(folder))
    repeated_ids = find_repeats(_column(folder, "id"), workspace)
    repeated_texts = find_repeats(_column(folder, "text"), workspace)
    out.mkdir(parents=True)
    passed: dict[str, list[int]] = {}
    progress.start(inspection.name, places.num_rows, "documents")
    for path in parquet_files(folder):
        start = row = places.start(path.name)
        with pq.ParquetWriter(out / path.name, DOCUMENT_SCHEMA, compression="zstd", use_dictionary=False) as writer:
            for table in read_row_groups(path, DOCUMENT_SCHEMA):
                derived = derive_documents(table, places.describe(repeated_ids, row, table.num_rows))
                good = inspection.sift(table, derived, path.name, row - start)
                if good.num_rows:
                    writer.write_table(good)
                _count(good, passed)
                row += table.num_rows
                progress.update(row)
    inspection.facts |= {"repeated_texts": len(repeated_texts)}  # left for `clean` to remove
    _write_manifest(folder, out, passed)


def hash_training_documents(folder: Path, splits: Splits, length: int, progress: Progress) -> Iterator[Hashes]:
    """The n-grams of a corpus's training documents, a row group at a time."""
    progress.start(f"overlap with {folder.name}", count_documents(folder), "documents")
    done = 0
    for table in read_documents(folder, ["id", "text"]):
        chosen = [split_of(document, splits) == "train" for document in table["id"].to_pylist()]
        yield hash_ngrams(table["text"].filter(pa.array(chosen, pa.bool_())), length)[0]
        done += table.num_rows
        progress.update(done)


def _column(folder: Path, name: str) -> Iterator[list[str]]:
    for table in read_documents(folder, [name]):
        yield readable(table)[0][name].to_pylist()


def _count(table: pa.Table, passed: dict[str, list[int]]) -> None:
    counted = pa.table({"source": table["source"], "characters": pc.utf8_length(table["text"])})
    for row in counted.group_by("source").aggregate([([], "count_all"), ("characters", "sum")]).to_pylist():
        counts = passed.setdefault(row["source"], [0, 0])
        counts[0] += row["count_all"]
        counts[1] += row["characters_sum"]


def _write_manifest(folder: Path, out: Path, passed: dict[str, list[int]]) -> None:
    """The raw corpus's manifest, with counts of what passed."""
    manifest: dict[str, Any] = read_json(folder / MANIFEST)
    for name, source in manifest["sources"].items():
        source["documents"], source["characters"] = passed.get(name, (0, 0))
    write_json(out / MANIFEST, manifest)
