"""Which split a document belongs to: a pure function of its id, so that no order, process or added document moves it."""

import hashlib
from typing import Final, Literal

from stemma.config import Splits

__all__ = ["SPLITS", "Split", "split_of"]

Split = Literal["train", "validation", "test"]
SPLITS: Final[tuple[Split, ...]] = ("train", "validation", "test")


def split_of(document_id: str, splits: Splits) -> Split:
    """The split of a document: the one that its id begins with, as its source has splits of its own, or by hash of the id.

    Test takes the lowest hashes, so that its documents stay when validation's share changes.
    """
    for split in SPLITS:
        if document_id.startswith(f"{split}-"):
            return split
    digest = hashlib.blake2b(document_id.encode(), digest_size=8, person=b"stemma split").digest()
    position = int.from_bytes(digest, "big") / 2**64
    if position < splits.test:
        return "test"
    return "validation" if position < splits.test + splits.validation else "train"
