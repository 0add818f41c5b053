"""Documents put aside as they come, taken up again in one order and without duplicates.

The order is by split (test, validation, train) and then by hash of the id. It is the order of preference among duplicates, so
that a text of the test split never stays in training too; and it does not depend on the order of the files.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from types import TracebackType
from typing import Final

import numpy as np
import numpy.typing as npt

from stemma.config import Cleaning, Splits
from stemma.data.dedup import SHARE_OF_MEMORY, document_dtype, exact_duplicates, near_duplicates
from stemma.data.minhash import MinHash
from stemma.data.record_sort import RecordSorter
from stemma.data.splits import Split, split_of
from stemma.data.spool import RowFile, TextSpool
from stemma.data.workspace import Workspace

__all__ = ["CleanedDocument", "DocumentPool"]

PREFERENCE: Final[tuple[Split, ...]] = ("test", "validation", "train")
_ROWS_PER_STEP: Final = 1024


@dataclass(frozen=True, slots=True)
class CleanedDocument:
    """A document that stays."""

    id: str
    source: str
    text: str


class DocumentPool:
    """Takes documents in any order; gives back those that are no duplicates, in order of preference."""

    def __init__(self, workspace: Workspace, splits: Splits, settings: Cleaning) -> None:
        self._workspace, self._splits, self._settings = workspace, splits, settings
        near = settings.near_duplicates
        self._minhash = MinHash(near.permutations, near.shingle)
        self._dtype = document_dtype(near.permutations)
        self._texts = TextSpool(workspace.folder / "texts")
        self._arrivals = RowFile(workspace.folder / "arrivals", self._dtype)
        self._ordered = RowFile(workspace.folder / "ordered", self._dtype)
        self._order = RecordSorter(
            workspace.folder / "order",
            widths=(2, 64, 64, 64),
            values=(np.int64,),
            memory=workspace.memory_limit // SHARE_OF_MEMORY,
        )
        self._num_of_split = dict.fromkeys(PREFERENCE, 0)
        self.duplicates: dict[str, dict[Split, int]] = {}

    def add(self, document_id: str, source: str, text: str, words: npt.NDArray[np.uint64]) -> None:
        """Take a document; `words` are the hashes of its words."""
        split = split_of(document_id, self._splits)
        data = "\0".join((document_id, source, text)).encode()
        digest = np.frombuffer(hashlib.blake2b(text.encode(), digest_size=16).digest(), dtype=np.uint64)
        row = np.zeros(1, dtype=self._dtype)
        row["digest"], row["signature"] = digest, self._minhash.signature(words)
        row["begin"], row["length"] = self._texts.append(data), len(data)
        key = np.frombuffer(hashlib.blake2b(document_id.encode(), digest_size=16).digest(), dtype=np.uint64)
        rank = np.array([PREFERENCE.index(split)], dtype=np.uint64)
        self._order.add(rank, key[:1], key[1:], digest[:1], np.array([self._arrivals.num_rows]))
        self._arrivals.append(row)
        self._num_of_split[split] += 1

    def documents(self) -> Iterator[tuple[Split, Iterator[CleanedDocument]]]:
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

    def _read_range(self, begin: int, end: int, removed: npt.NDArray[np.bool_]) -> Iterator[CleanedDocument]:
        for start in range(begin, end, _ROWS_PER_STEP):
            rows = self._ordered.read(start, min(_ROWS_PER_STEP, end - start))
            for row in rows[~removed[start : start + len(rows)]]:
                yield self._read(int(row["begin"]), int(row["length"]))

    def _read(self, begin: int, length: int) -> CleanedDocument:
        document_id, source, text = self._texts.read(begin, length).decode().split("\0", 2)
        return CleanedDocument(document_id, source, text)

    def _ranges(self) -> dict[Split, tuple[int, int]]:
        """The places of each split in the order of preference."""
        ends = list(accumulate(self._num_of_split.values()))
        return {split: (end - self._num_of_split[split], end) for split, end in zip(PREFERENCE, ends, strict=True)}

    def _by_split(self, flags: npt.NDArray[np.bool_]) -> dict[Split, int]:
        return {split: int(flags[begin:end].sum()) for split, (begin, end) in self._ranges().items()}

    def __enter__(self) -> "DocumentPool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in (self._texts, self._arrivals, self._ordered):
            file.__exit__(kind, error, trace)
