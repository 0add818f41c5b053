"""Tokens as text again, for people to read: what a tokenizer took apart is put together by rules, which may guess wrong."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from stemma.text.wordpiece import PREFIX

__all__ = ["join_tokens"]

_CJK: Final = re.compile("[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef“”‘’…—]")
_CLOSING: Final = re.compile(r"[.,;:!?%)\]}]+")
_OPENING: Final = re.compile(r"[(\[{$£]+")
_ENDINGS: Final = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})  # behind an apostrophe


def join_tokens(tokens: Sequence[str]) -> str:
    """The pieces of words joined, and a space between words, but none at Chinese, before a stop, or in what's and don't."""
    text = "".join(tokens[:1])
    for place, (before, after) in enumerate(pairwise(tokens)):
        follows = tokens[place + 2] if place + 2 < len(tokens) else ""
        text += after.removeprefix(PREFIX) if _is_joined(before, after, follows) else f" {after}"
    return text


def _is_joined(before: str, after: str, follows: str) -> bool:
    if after.startswith(PREFIX):
        return True
    if _CJK.match(after[:1]) or _CJK.match(before[-1:]):
        return True
    if before == "'" and after in _ENDINGS:
        return True
    if after == "'" and follows in _ENDINGS:
        return True
    return bool(_CLOSING.fullmatch(after) or _OPENING.fullmatch(before))
