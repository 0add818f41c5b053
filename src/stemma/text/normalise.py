"""Text in one form: Unicode composed, one kind of space, one kind of line end, nothing invisible.

Case, accents and punctuation stay: what a model folds together is its tokenizer's choice.
"""

import re
import unicodedata
from typing import Final, Literal

__all__ = ["normalise", "tidy_spaces"]

# Controls but tab and newline, soft hyphen, zero-width and direction marks, byte order mark, private use, non-characters.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\ufffe\uffff\ue000-\uf8ff]+"
)
_SELECTORS: Final = tuple(map(chr, range(0xFE00, 0xFE10)))  # the only ones that Python holds for printable
_LINE_ENDS: Final = ("\r\n", "\r", "\x0c", "\x85", "\u2028")
_SPACES: Final = "\t\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"


def normalise(text: str, form: Literal["NFC", "NFKC"]) -> str:
    """The normal form of a text; applying it twice changes nothing."""
    for line_end in _LINE_ENDS:
        text = text.replace(line_end, "\n")
    text = text.replace("\u2029", "\n\n")
    if _may_have_invisible(text):
        text = _INVISIBLE.sub("", text)
    text = unicodedata.normalize(form, text)  # after which NFKC may have new plain spaces
    for space in _SPACES:
        text = text.replace(space, " ")
    return tidy_spaces(text)


def tidy_spaces(text: str) -> str:
    """One space between words, none around line ends, at most one blank line."""
    text = _shrink(text, "  ", " ").replace(" \n", "\n").replace("\n ", "\n")
    return _shrink(text, "\n\n\n", "\n\n").strip()


def _may_have_invisible(text: str) -> bool:
    """A quick look that spares most texts the slow pattern; other spaces than the plain one make it say yes too."""
    return not text.replace("\n", "").isprintable() or any(selector in text for selector in _SELECTORS)


def _shrink(text: str, run: str, shorter: str) -> str:
    """Replace `run` until there is none; each pass shortens long runs by a share, so that there are few."""
    while run in text:
        text = text.replace(run, shorter)
    return text
