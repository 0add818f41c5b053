"""Text in one form: Unicode composed, one kind of space, one kind of line end, nothing invisible.

Case, accents and punctuation stay: what a model folds together is its tokenizer's choice.
"""

import re
import unicodedata
from typing import Final, Literal

__all__ = ["normalise"]

# Controls but tab and newline, soft hyphen, zero-width and direction marks, byte order mark, private use, non-characters.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\ufffe\uffff\ue000-\uf8ff]+"
)
_LINE_END: Final = re.compile("\r\n|[\r\x0c\x85\u2028]")
_PARAGRAPH_END: Final = re.compile("\u2029")
_SPACES: Final = re.compile("[ \t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
_SPACE_AT_LINE_END: Final = re.compile(r" ?\n ?")
_BLANK_LINES: Final = re.compile(r"\n{3,}")


def normalise(text: str, form: Literal["NFC", "NFKC"]) -> str:
    """The normal form of a text; applying it twice changes nothing."""
    text = _PARAGRAPH_END.sub("\n\n", _LINE_END.sub("\n", text))
    text = unicodedata.normalize(form, _INVISIBLE.sub("", text))
    text = _SPACE_AT_LINE_END.sub("\n", _SPACES.sub(" ", text))
    return _BLANK_LINES.sub("\n\n", text).strip()
