"""Words and marks as a tokenizer parts them, written as people write them: the inverse of BERT's splitting, as far as it goes.

What was a space is not known any more, so these are rules of thumb: they hold for most text in Latin letters. Left out on
purpose: rules of single languages, such as French spaces before a colon.
"""

import re
from typing import Final

__all__ = ["detokenise"]

_BEFORE: Final = re.compile(r" ([.,!?;:%)\]}…»”]+)(?=[ .,!?;:%)\]}…»”]|$)")  # what clings to the word before it
_AFTER: Final = re.compile(r"([(\[{«„“#$€£]) ")  # to the word after it
_BETWEEN: Final = re.compile(r"(?<=\w) ([-/&'’]) (?=\w)")  # to both
_NUMBER: Final = re.compile(r"(?<=\d) ([.,:]) (?=\d)")
_QUOTED: Final = re.compile(r'(^|(?<=[ (]))" ([^"]*) "')


def detokenise(text: str) -> str:
    """Take out the spaces that a tokenizer put around marks."""
    text = _NUMBER.sub(r"\1", text)
    text = _BETWEEN.sub(r"\1", text)
    text = _QUOTED.sub(r'\1"\2"', text)
    return _BEFORE.sub(r"\1", _AFTER.sub(r"\1", text))
