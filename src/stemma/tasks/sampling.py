"""A sample by hash: which rows are taken depends on their ids alone, and a larger sample keeps the rows of a smaller one."""

import hashlib
import heapq
from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["lowest_hashes"]

T = TypeVar("T")


def lowest_hashes(rows: Iterable[T], most: int, key: Callable[[T], str]) -> list[T]:
    """So many rows at most, those with the lowest hashes of their keys, in the order in which they came."""
    heap: list[tuple[int, int, T]] = []  # the largest hash on top; positions differ, so rows are never compared
    for position, row in enumerate(rows):
        entry = (-_hash(key(row)), -position, row)
        if len(heap) < most:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)
    return [row for _, _, row in sorted(heap, key=lambda entry: -entry[1])]


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8, person=b"stemma example").digest(), "big")
