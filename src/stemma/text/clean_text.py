"""A raw text in normal form and without markup, as sentences.

A long text is done a part at a time, cut at blank lines, so that what is worked with does not grow with its length: only the
result does. Markup that spans the cut, a comment of several paragraphs at every 64 KiB or so, is left in.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from stemma.text.leftovers import strip_leftovers
from stemma.text.normalise import normalise, tidy_spaces
from stemma.text.sentences import split_sentences
from stemma.text.words import hash_words

__all__ = ["CleanText", "clean_pair", "clean_text"]

PART_BYTES: Final = 1 << 16
_BLANK_LINE: Final = re.compile(rb"\n[ \t\r]*\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanText:
    """What is known of a text in normal form: its sentences are lines of UTF-8."""

    sentences: bytearray
    words: npt.NDArray[np.uint32]  # a hash each
    digest: bytes
    num_characters: int
    num_characters_raw: int


def clean_text(data: bytes, form: Literal["NFC", "NFKC"]) -> CleanText:
    """Clean a text, given as UTF-8; its digest and words are those of the whole normal form."""
    sentences = bytearray()
    words = [np.zeros(0, dtype=np.uint32)]
    digest = hashlib.blake2b(digest_size=16)
    num_characters = num_characters_raw = 0
    for raw in _parts(data):
        num_characters_raw += len(raw)
        text = _normal_form(raw, form)
        if text:
            joined = f"\n\n{text}" if sentences else text
            digest.update(joined.encode())
            num_characters += len(joined)
            words.append((hash_words(text) >> np.uint64(32)).astype(np.uint32))
            sentences += "\n".join(["", *split_sentences(text)] if sentences else split_sentences(text)).encode()
    return CleanText(
        sentences=sentences,
        words=np.concatenate(words),
        digest=digest.digest(),
        num_characters=num_characters,
        num_characters_raw=num_characters_raw,
    )


def clean_pair(data: bytes, form: Literal["NFC", "NFKC"]) -> CleanText:
    """Clean a sentence and its translation, given as two lines: normalise each, and keep it whole.

    What looks like markup or like several sentences stays, or the sides would not be of one another. Where one is empty there are
    no sentences.
    """
    raw = data.decode()
    sides = [" ".join(normalise(side, form).split()) for side in raw.split("\n", 1)]
    text = "\n".join(sides) if len(sides) == 2 and all(sides) else ""
    return CleanText(
        sentences=bytearray(text.encode()),
        words=(hash_words(text) >> np.uint64(32)).astype(np.uint32),
        digest=hashlib.blake2b(text.encode(), digest_size=16).digest(),
        num_characters=len(text),
        num_characters_raw=len(raw),
    )


def _parts(data: bytes) -> Iterator[str]:
    begin = 0
    while begin < len(data):
        blank = _BLANK_LINE.search(data, begin + PART_BYTES)
        end = blank.end() if blank else len(data)
        yield data[begin:end].decode()
        begin = end


def _normal_form(text: str, form: Literal["NFC", "NFKC"]) -> str:
    once = normalise(text, form)
    stripped = strip_leftovers(once)
    if stripped == once:
        return once
    if "&" in once or not unicodedata.is_normalized(form, stripped):  # an entity may stand for any character
        return normalise(stripped, form)
    return tidy_spaces(stripped)
