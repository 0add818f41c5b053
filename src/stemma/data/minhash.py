"""MinHash signatures and their bands (Broder 1997; Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", chapter 3).

The share of equal places in two signatures estimates the Jaccard similarity of the two documents' sets of word n-grams.
Documents that agree in every place of some band are worth comparing. Signatures are made as Dahlgaard, Knudsen and Thorup do
("Fast Similarity Sketching", 2017): a round throws each n-gram into one place, and there are more rounds only until no place
is empty, instead of every n-gram's value in every place.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["MinHash", "choose_bands"]

Hashes = npt.NDArray[np.uint64]
Signatures = npt.NDArray[np.uint32]

RECALL: Final = 0.95  # of pairs that are exactly as similar as the threshold asks
_SHINGLES_PER_STEP: Final = 1 << 14
_EMPTY: Final = (1 << 32) - 1
_MULTIPLIER: Final = np.uint64(0xD6E8FEB86659FD93)


def choose_bands(permutations: int, threshold: float) -> tuple[int, int]:
    """How many bands of how many rows: the most rows that still find enough pairs at the threshold."""
    for rows in range(permutations, 1, -1):
        bands = permutations // rows
        if 1.0 - (1.0 - threshold**rows) ** bands >= RECALL:
            return bands, rows
    return permutations, 1


@dataclass(frozen=True)
class MinHash:
    """Signatures of `permutations` places over n-grams of `shingle` words."""

    permutations: int
    shingle: int

    def signature(self, words: Hashes | Signatures) -> Signatures:
        """The signature of a document, given the hashes of its words."""
        lowest = np.full(self.permutations, _EMPTY, dtype=np.uint32)
        if not len(words):
            return lowest
        at_once = max(1, 8 * self.permutations // len(words))  # more rounds than it takes change nothing
        for first in range(0, 2 * self.permutations, at_once):
            for begin in range(0, max(1, len(words) - self.shingle + 1), _SHINGLES_PER_STEP):
                shingles = self._shingles(words[begin : begin + _SHINGLES_PER_STEP + self.shingle - 1])
                self._enter(shingles, slice(first, first + at_once), lowest)
            if lowest.max() < _EMPTY:
                break
        return lowest

    def band_keys(self, signatures: Signatures, bands: int, rows: int) -> Hashes:
        """(documents, bands): a key of each band, equal where two documents agree in all of its rows."""
        keys = np.empty((len(signatures), bands), dtype=np.uint64)
        for band in range(bands):
            key = np.full(len(signatures), band + 1, dtype=np.uint64)
            for row in range(band * rows, (band + 1) * rows):
                key = _mix(key * _MULTIPLIER + signatures[:, row])
            keys[:, band] = key
        return keys

    def _shingles(self, words: Hashes | Signatures) -> npt.NDArray[np.uint32]:
        """32-bit hashes of all runs of `shingle` words; a shorter document is one run."""
        length = min(self.shingle, len(words))
        count = len(words) - length + 1 if length else 0
        total = np.zeros(count, dtype=np.uint64)
        for position in range(length):
            total = total * _MULTIPLIER + words[position : position + count]
        return (_mix(total) >> np.uint64(32)).astype(np.uint32)

    def _enter(self, shingles: npt.NDArray[np.uint32], rounds: slice, lowest: Signatures) -> None:
        """Throw shingles into places, in some rounds: an earlier round counts for less than any later one."""
        multipliers, offsets = (row[rounds, None] for row in self._functions)
        numbers = np.arange(2 * self.permutations, dtype=np.uint64)[rounds, None]
        thrown = ((multipliers * shingles + offsets) >> np.uint64(32)) * np.uint64(self.permutations)
        places = np.where(numbers < self.permutations, thrown >> np.uint64(32), numbers - np.uint64(self.permutations))
        round_bits = np.uint64((2 * self.permutations - 1).bit_length())
        values = (numbers << (np.uint64(32) - round_bits)) | ((thrown & np.uint64(_EMPTY)) >> round_bits)
        np.minimum.at(lowest, places.ravel().astype(np.int64), values.ravel().astype(np.uint32))

    @cached_property
    def _functions(self) -> tuple[Hashes, Hashes]:
        """Odd multipliers and offsets, one of each a round, the same everywhere."""
        data = b"".join(
            hashlib.blake2b(number.to_bytes(4, "big"), digest_size=16, person=b"stemma minhash").digest()
            for number in range(2 * self.permutations)
        )
        pairs = np.frombuffer(data, dtype="<u8").reshape(-1, 2)
        return pairs[:, 0] | np.uint64(1), pairs[:, 1].copy()


def _mix(values: Hashes) -> Hashes:
    for shift, multiplier in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53)):
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(multiplier)
    return values ^ (values >> np.uint64(33))
