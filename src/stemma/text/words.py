"""Words of a text found, counted and hashed on whole arrays: no Python object per word.

A word is a run of characters without spaces; a punctuation mark and a Chinese character are words by themselves, as BERT's
pre-tokenizer has it. In text that was tokenized before, a word is whatever stands between spaces.
"""

import string
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["CHINESE", "Words", "find_words", "hash_words", "split_chunks"]

Codes = npt.NDArray[np.uint32]
Hashes = npt.NDArray[np.uint64]

CHUNK_CHARACTERS: Final = 1 << 17  # bounds the arrays of one step, whatever the length of a document
_SPACE, _INSIDE, _SINGLE = 0, 1, 2
_PLANES: Final = 0x30000  # code points above are inside of words
CHINESE: Final = (  # first and last code points
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
_NO_POSITIONS: Final = np.zeros(0, dtype=np.int64)
_MULTIPLIER: Final = 0x9E3779B97F4A7C15  # odd, so that its powers have inverses modulo 2**64


def split_chunks(text: str, size: int = CHUNK_CHARACTERS) -> Iterator[str]:
    """A text in pieces of at most `size` characters, cut at a space or line end where there is one."""
    begin = 0
    while begin < len(text):
        end = begin + size
        if end < len(text):
            cut = max(text.rfind(" ", begin, end), text.rfind("\n", begin, end))
            end = cut + 1 if cut > begin else end
        yield text[begin:end]
        begin = end


@dataclass(frozen=True)
class Words:
    """Where the words of a text begin and end, in characters, and a 64-bit hash of each, the same in any process."""

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    hashes: Hashes

    def __len__(self) -> int:
        return len(self.starts)


def find_words(text: str, *, at_spaces: bool = False) -> Words:
    """The words of a text, in order; with `at_spaces`, marks and Chinese characters part no words."""
    starts, ends, hashes = [_NO_POSITIONS], [_NO_POSITIONS], [np.zeros(0, dtype=np.uint64)]
    offset = 0
    for chunk in split_chunks(text):
        codes = _codes(chunk)
        begins, stops = _spans(codes, _class_table(at_spaces))
        starts.append(begins + offset)
        ends.append(stops + offset)
        hashes.append(_hash_spans(codes, begins, stops))
        offset += len(chunk)
    return Words(np.concatenate(starts), np.concatenate(ends), np.concatenate(hashes))


def hash_words(text: str) -> Hashes:
    """The hashes alone of a text's words in small letters, in order."""
    hashes = [np.zeros(0, dtype=np.uint64)]
    for chunk in split_chunks(text, CHUNK_CHARACTERS // 2):  # small letters may be more characters
        codes = _codes(chunk.lower())
        hashes.append(_hash_spans(codes, *_spans(codes, _class_table())))
    return np.concatenate(hashes)


def _hash_spans(codes: Codes, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> Hashes:
    """A polynomial in the characters of each span, from differences of prefix sums, and then mixed."""
    powers, inverses = _powers()
    sums = np.empty(len(codes) + 1, dtype=np.uint64)
    sums[0] = 0
    terms = np.add(codes, 1, dtype=np.uint64)
    terms *= powers[: len(codes)]
    np.cumsum(terms, out=sums[1:])
    return _mix((sums[ends] - sums[starts]) * inverses[starts])


def _codes(text: str) -> Codes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint32, copy=False)


def _spans(codes: Codes, table: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    classes = table.take(codes, mode="clip")
    inside = np.zeros(len(codes) + 2, dtype=bool)  # with what lies around the text
    inside[1:-1] = classes == _INSIDE
    single = classes == _SINGLE
    begins = inside[1:-1] > inside[:-2]
    begins |= single
    ends = inside[1:-1] > inside[2:]
    ends |= single
    return np.flatnonzero(begins), np.flatnonzero(ends) + 1


@cache
def _class_table(at_spaces: bool = False) -> npt.NDArray[np.uint8]:
    """What each character is; a punctuation mark must be one in old Unicode too, which every library here has caught up with."""
    if at_spaces:
        return np.where(_class_table() == _SPACE, _SPACE, _INSIDE).astype(np.uint8)
    old_category = unicodedata.ucd_3_2_0.category
    table = np.full(_PLANES + 1, _INSIDE, dtype=np.uint8)
    for code in range(0x20000):
        character = chr(code)
        category = unicodedata.category(character)
        if character in "\t\n\r" or (character.isspace() and category != "Cc"):
            table[code] = _SPACE
        elif (category[0] == old_category(character)[0] == "P") or character in string.punctuation:
            table[code] = _SINGLE
    for first, last in CHINESE:
        table[first : last + 1] = _SINGLE
    return table


@cache
def _powers() -> tuple[Hashes, Hashes]:
    """The multiplier's powers and their inverses modulo 2**64."""
    size = CHUNK_CHARACTERS + 1
    inverse = pow(_MULTIPLIER, -1, 1 << 64)
    rows = []
    for base in (_MULTIPLIER, inverse):
        factors = np.full(size, base, dtype=np.uint64)
        factors[0] = 1
        rows.append(np.cumprod(factors, dtype=np.uint64))
    return rows[0], rows[1]


def _mix(values: Hashes) -> Hashes:
    """Spread every bit over the whole word (the finaliser of MurmurHash3)."""
    for multiplier in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        values = (values ^ (values >> np.uint64(33))) * np.uint64(multiplier)
    return values ^ (values >> np.uint64(33))
