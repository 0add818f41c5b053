"""Markup that is left in text after its source was read: HTML tags and entities, wiki and Markdown marks.

Only what can't be prose goes: tags by name, pairs of marks by shape. Every pattern stops at the next mark of its kind, so
that time is linear in the length of the text. Each begins with its mark and looks back for the line's begin, since `re` runs
through a text several times faster when it knows the character to look for.
"""

import html
import re
from typing import Final

__all__ = ["strip_leftovers"]

_TAG: Final = re.compile(
    r"</?(?:a|abbr|b|big|blockquote|body|br|center|cite|code|dd|del|div|dl|dt|em|font|h[1-6]|head|hr|html|i|img|ins|kbd|li"
    r"|link|mark|meta|nobr|nowiki|ol|p|pre|q|ref|s|samp|small|span|strike|strong|sub|sup|table|tbody|td|th|thead|title|tr|tt"
    r"|u|ul|var)(?:\s[^<>]{0,1000})?/?>",
    re.IGNORECASE,
)
_BLOCK_TAG: Final = re.compile(r"</?(?:br|p|div|li|tr|h[1-6]|table|blockquote|ul|ol|hr)\b", re.IGNORECASE)
_COMMENT: Final = re.compile(r"<!--[^<>]{0,2000}-->")
_ENTITY: Final = re.compile(r"&(?:[a-zA-Z]{2,31}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")
_TEMPLATE: Final = re.compile(r"\{\{[^{}\n]{0,1000}\}\}")
_WIKI_LINK: Final = re.compile(r"\[\[(?:[^\[\]|\n]{0,300}\|)?([^\[\]|\n]{1,300})\]\]")
_IMAGE: Final = re.compile(r"!\[[^\[\]\n]{0,300}\]\([^()\s]{1,500}\)")
_LINK: Final = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\s]{1,500}\)")
_WIKI_HEADING: Final = re.compile(r"^={2,6}[ \t]*([^=\n]{1,200}?)[ \t]*={2,6}$", re.MULTILINE)
_HEADING: Final = re.compile(r"#(?<=^.)#{0,5}[ \t]+", re.MULTILINE)
_QUOTE: Final = re.compile(r">(?<=^.)[ \t]?", re.MULTILINE)
_RULE: Final = re.compile(
    r"[-*_`~](?<=^.)(?:(?<=[-*_])(?:[ \t]*[-*_]){2,}[ \t]*|(?<=`)`{2,}[^`\n]{0,40}|(?<=~)~{2,})$", re.MULTILINE
)
_QUOTES: Final = re.compile(r"''+")
_EMPHASIS: Final = re.compile(r"([*_][*_]{0,2})(?=[^\s*_])([^*_\n]{1,1000})(?<=[^\s*_])\1(?![\w*_])")


def strip_leftovers(text: str) -> str:
    """A text without the marks of markup; the words inside them stay."""
    if "<" in text:
        text = _TAG.sub(_tag_space, _COMMENT.sub("", text))
    if "&" in text:
        text = _ENTITY.sub(lambda match: html.unescape(match[0]), text)
    if "{{" in text:
        text = _TEMPLATE.sub("", text)
    if "[" in text:
        text = _LINK.sub(r"\1", _IMAGE.sub("", _WIKI_LINK.sub(r"\1", text)))
    if "''" in text:
        text = _QUOTES.sub(_unquoted, text)
    if "==" in text:
        text = _WIKI_HEADING.sub(r"\1", text)
    if "#" in text:
        text = _HEADING.sub("", text)
    if ">" in text:
        text = _QUOTE.sub("", text)
    if "*" in text or "_" in text:
        text = _EMPHASIS.sub(_emphasised, text)
    return _RULE.sub("", text)


def _tag_space(match: re.Match[str]) -> str:
    """A tag that begins or ends a block parts words; one inside a line does not."""
    return "\n" if _BLOCK_TAG.match(match[0]) else ""


def _unquoted(match: re.Match[str]) -> str:
    """Nothing for the marks of bold and italics; two quotes between spaces are something else."""
    before, after = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
    is_mark = len(match[0]) > 2 or after.isalnum() or before.isalnum() or before in (".", ",", ";", "!", "?")
    return "" if is_mark else match[0]


def _emphasised(match: re.Match[str]) -> str:
    """The words between marks; marks inside a word are part of it."""
    before = match.string[match.start() - 1 : match.start()]
    return match[0] if before.isalnum() or before in ("*", "_") else match[2]
