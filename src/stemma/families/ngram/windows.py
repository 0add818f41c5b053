"""Token windows: what an n-gram model counts and what it looks up.

A sentence is read as `<s> w1 … wn </s>`, with one `<s>` and nothing before it. Every token has one window: itself and the
tokens before it, as far as the sentence goes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stemma.data.record_sort import Columns
from stemma.text.symbols import Symbols

__all__ = ["Flags", "Ids", "Packing", "Symbols", "pad", "windows"]

Ids = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Packing:
    """How `length` ids (0 to `largest`) are laid into `uint64` columns: as many as fit in each, the first on top."""

    length: int
    largest: int

    @property
    def bits(self) -> int:
        """Bits an id."""
        return self.largest.bit_length()

    @property
    def widths(self) -> tuple[int, ...]:
        """Bits used of each column."""
        each = 64 // self.bits
        return tuple(self.bits * min(each, self.length - start) for start in range(0, self.length, each))

    def pack(self, digits: list[Ids]) -> Columns:
        """Columns of packed ids; rows compare as the rows of `digits` do."""
        each = 64 // self.bits
        columns = []
        for start in range(0, self.length, each):
            packed = digits[start].astype(np.uint64)
            for digit in digits[start + 1 : start + each]:
                packed <<= np.uint64(self.bits)
                packed |= digit.view(np.uint64)
            columns.append(packed)
        return tuple(columns)

    def begin(self, columns: Columns, length: int) -> Columns:
        """The first `length` ids of packed rows, as `Packing(length, largest)` packs them."""
        shorter = Packing(length, self.largest).widths
        return tuple(
            column >> np.uint64(width - kept)
            for column, width, kept in zip(columns, self.widths, shorter, strict=False)
        )

    def last(self, columns: Sequence[npt.NDArray[np.uint64]]) -> Ids:
        """The last id of packed rows."""
        return (columns[-1] & np.uint64((1 << self.bits) - 1)).view(np.int64)

    def unpack(self, columns: Columns) -> list[Ids]:
        """The ids again."""
        mask = np.uint64((1 << self.bits) - 1)
        return [
            ((column >> np.uint64(shift)) & mask).view(np.int64)
            for column, width in zip(columns, self.widths, strict=True)
            for shift in range(width - self.bits, -1, -self.bits)
        ]


def pad(ids: Ids, offsets: npt.NDArray[np.int64], symbols: Symbols) -> tuple[Ids, npt.NDArray[np.int64]]:
    """Put `<s>` and `</s>` around each sentence; also where each `<s>` is."""
    lengths = np.diff(offsets)
    starts = offsets[:-1] - offsets[0] + 2 * np.arange(len(lengths))
    padded = np.empty(len(ids) + 2 * len(lengths), np.int64)
    is_text = np.ones(len(padded), bool)
    is_text[starts] = is_text[starts + lengths + 1] = False
    padded[is_text] = ids
    padded[starts] = symbols.begin
    padded[starts + lengths + 1] = symbols.end
    return padded, starts


def windows(padded: Ids, starts: npt.NDArray[np.int64], order: int, nothing: int) -> list[Ids]:
    """For each token itself, the one before it, …: `order` columns, with `nothing` before a sentence's begin."""
    columns = [padded]
    before_begin = starts
    for distance in range(1, order):
        column = np.empty_like(padded)
        column[distance:] = padded[:-distance]
        before_begin = np.concatenate([before_begin, starts + distance - 1])
        column[before_begin[before_begin < len(padded)]] = nothing
        columns.append(column)
    return columns
