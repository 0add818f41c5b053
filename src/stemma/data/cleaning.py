"""Documents put aside as they come, taken up again in one order and without duplicates.

The order is by split (test, validation, train) and then by hash of the id. It is the order of preference among duplicates, so
that a text of the test split never stays in training too; and it does not depend on the order of the files.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stemma.config import Cleaning, NearDuplicates, Splits
from stemma.data.dedup import SHARE_OF_MEMORY, document_dtype, exact_duplicates, near_duplicates
from stemma.data.minhash import MinHash
from stemma.data.record_sort import RecordSorter
from stemma.data.splits import Split, split_of
from stemma.data.spool import RowFile, TextSpool
from stemma.data.workspace import Workspace

__all__ = ["CleanedDocument", "DocumentPool", "KeptDocument", "PackedDocuments", "pack_documents"]

PREFERENCE: Final[tuple[Split, ...]] = ("test", "validation", "train")
_ROWS_PER_STEP: Final = 1024


@dataclass(frozen=True, slots=True)
class CleanedDocument:
    """A document before it is known whether it stays; its sentences are lines of UTF-8."""

    id: str
    source: str
    sentences: bytes | bytearray
    words: npt.NDArray[np.uint32]  # a hash each
    digest: bytes  # of the text


@dataclass(frozen=True, slots=True)
class KeptDocument:
    """A document that stays, as UTF-8; its sentences are lines."""

    id: bytes
    source: bytes
    sentences: bytes

    def row(self) -> dict[str, bytes]:
        """It as a row of `CLEAN_SCHEMA`."""
        return {"id": self.id, "source": self.source, "sentences": self.sentences}

    def count(self) -> tuple[int, int]:
        """How many sentences it has, and how many characters they have."""
        num_breaks = self.sentences.count(b"\n")
        return num_breaks + 1, len(self.sentences.decode()) - num_breaks


@dataclass(frozen=True, slots=True)
class PackedDocuments:
    """Documents as the pool keeps them, with their contents on disk: a row each, and what their order goes by."""

    rows: npt.NDArray[Any]
    order: npt.NDArray[
        np.uint64
    ]  # (documents, 4): the split's place among `PREFERENCE`, the id's hash, the text's digest


def pack_documents(
    documents: Sequence[CleanedDocument], splits: Splits, settings: NearDuplicates, folder: Path
) -> PackedDocuments:
    """Make documents ready for the pool that has its texts in `folder`; any process may."""
    minhash = MinHash(settings.permutations, settings.shingle)
    rows = np.zeros(len(documents), dtype=document_dtype(settings.permutations))
    order = np.zeros((len(documents), 4), dtype=np.uint64)
    for number, document in enumerate(documents):
        head = f"{document.id}\0{document.source}\0".encode()
        row = rows[number]
        row["signature"] = minhash.signature(document.words)
        row["digest"] = np.frombuffer(document.digest, dtype=np.uint64)
        row["process"], row["begin"] = TextSpool.append(folder, (head, document.sentences))
        row["length"] = len(head) + len(document.sentences)
        order[number, 0] = PREFERENCE.index(split_of(document.id, splits))
        order[number, 1:3] = np.frombuffer(_digest(document.id), dtype=np.uint64)
    order[:, 3] = rows["digest"][:, 0]
    return PackedDocuments(rows, order)


class DocumentPool:
    """Takes documents in any order; gives back those that are no duplicates, in order of preference."""

    def __init__(self, workspace: Workspace, settings: Cleaning) -> None:
        self._workspace, self._settings = workspace, settings
        dtype = document_dtype(settings.near_duplicates.permutations)
        self.texts_dir = workspace.folder / "texts"
        self._texts = TextSpool(self.texts_dir)
        self._arrivals = RowFile(workspace.folder / "arrivals", dtype)
        self._ordered = RowFile(workspace.folder / "ordered", dtype)
        self._order = RecordSorter(
            workspace.folder / "order",
            widths=(2, 64, 64, 64),
            values=(np.int64,),
            memory=workspace.memory_limit // SHARE_OF_MEMORY,
        )
        self._num_of_split = np.zeros(len(PREFERENCE), dtype=np.int64)
        self.duplicates: dict[str, dict[Split, int]] = {}

    def add(self, documents: PackedDocuments) -> None:
        """Take documents."""
        arrivals = self._arrivals.num_rows + np.arange(len(documents.rows))
        self._order.add(*documents.order.T, arrivals)
        self._arrivals.append(documents.rows)
        self._num_of_split += np.bincount(documents.order[:, 0].astype(np.int64), minlength=len(PREFERENCE))

    def documents(self) -> Iterator[tuple[Split, Iterator[KeptDocument]]]:
        """The documents that stay, split by split, once; how many of each do not is then in `duplicates`."""
        for *_, arrival in self._order.blocks():
            for begin in range(0, len(arrival), _ROWS_PER_STEP):
                self._ordered.append(self._arrivals.gather(arrival[begin : begin + _ROWS_PER_STEP]))
        exact = exact_duplicates(self._ordered, self._workspace)
        near = near_duplicates(self._ordered, exact, self._settings.near_duplicates, self._workspace)
        self.duplicates = {"exact": self._by_split(exact), "near": self._by_split(near)}
        removed = exact | near
        for split, (begin, end) in self._ranges().items():
            yield split, self._read_range(begin, end, removed)

    def _read_range(self, begin: int, end: int, removed: npt.NDArray[np.bool_]) -> Iterator[KeptDocument]:
        for start in range(begin, end, _ROWS_PER_STEP):
            rows = self._ordered.read(start, min(_ROWS_PER_STEP, end - start))
            for row in rows[~removed[start : start + len(rows)]]:
                place = (int(row[name]) for name in ("process", "begin", "length"))
                yield KeptDocument(*self._texts.read(*place).split(b"\0", 2))

    def _ranges(self) -> dict[Split, tuple[int, int]]:
        """The places of each split in the order of preference."""
        bounds = [0, *np.cumsum(self._num_of_split).tolist()]
        return dict(zip(PREFERENCE, pairwise(bounds), strict=True))

    def _by_split(self, flags: npt.NDArray[np.bool_]) -> dict[Split, int]:
        return {split: int(flags[begin:end].sum()) for split, (begin, end) in self._ranges().items()}

    def __enter__(self) -> "DocumentPool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in (self._texts, self._arrivals, self._ordered):
            file.__exit__(kind, error, trace)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
