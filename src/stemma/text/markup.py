"""MediaWiki markup to prose, in time linear in its length.

As for BERT's pretraining, text passages stay and tables, headings and lists go, except list items that are sentences.
Links leave their anchor text. Templates go, except a few that stand for words of a sentence (`text/templates.py`).
Left out on purpose: expanding templates, which would take a whole wiki.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from stemma.text.templates import render_template

__all__ = ["strip_wikitext"]

# Elements whose content is no prose; `nowiki` is prose without markup.
_ELEMENT: Final = re.compile(
    r"<!--|<(ref|references|math|gallery|timeline|score|imagemap|pre|source|syntaxhighlight|table|hiero|graph|nowiki)"
    r"\b([^<>]*)>",
    re.IGNORECASE,
)
_NESTING: Final = re.compile(r"\{\{|\}\}|^[ \t:*]*\{\||^[ \t]*\|\}(?!\})|\[\[|\]\]", re.MULTILINE)
_OPENER_OF: Final = {"}}": "{{", "|}": "{|", "]]": "[["}
_MAX_DEPTH: Final = 40  # as in MediaWiki; what lies deeper is text
_MARKUP_CHARACTERS: Final = re.compile(r"[\[\]{}|'=*#:;<>_]")
_EXTERNAL_LINK: Final = re.compile(r"\[(?:(?:https?|ftp|mailto|irc|news):|//)[^\s\[\]]*([^\[\]\n]*)\]", re.IGNORECASE)
_BREAK: Final = re.compile(r"<(?:br|p|/p|/div|/blockquote|/li)\b[^<>]*>", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*>")
_QUOTES: Final = re.compile(r"'{2,}")
_MAGIC_WORD: Final = re.compile(r"__[A-Z]{3,20}__")
_HEADING: Final = re.compile(r"(={1,6})([^=].*?)\1$")
_LIST_MARKER: Final = re.compile(r"[*#;:]+[ \t]*")
_SENTENCE_END: Final = re.compile(r"[.!?…。！？][\"'”’»)\]）」』]{0,3}$")
_MIN_ITEM_CHARACTERS: Final = 40
_END_MATTER: Final = frozenset(
    {
        "bibliography",
        "citations",
        "external links",
        "footnotes",
        "further reading",
        "gallery",
        "notes",
        "notes and references",
        "references",
        "references and notes",
        "see also",
        "sources",
        "works cited",
    }
)
_DROPPED_NAMESPACES: Final = frozenset({"category", "file", "image", "media", "template", "special"})
_INTERLANGUAGE: Final = re.compile(r"(?:[a-z]{2,3}|simple|zh-[a-z-]+|be-[a-z-]+|roa-[a-z-]+|fiu-vro):")


@dataclass(slots=True)
class _Frame:
    """An open `{{`, `{|` or `[[` and the text inside it so far."""

    opener: str
    pieces: list[str] = field(default_factory=list)


def strip_wikitext(source: str) -> str:
    """The prose of a page: paragraphs separated by blank lines."""
    text = _resolve_nesting(_drop_elements(source))
    text = _EXTERNAL_LINK.sub(r"\1", text)
    text = _TAG.sub("", _BREAK.sub("\n", text))
    text = _MAGIC_WORD.sub("", _QUOTES.sub("", text))
    return "\n\n".join(_paragraphs(text))


def _drop_elements(source: str) -> str:
    """Without comments and elements that are no prose; an element that is never closed loses its tag only."""
    pieces: list[str] = []
    unclosed: set[str] = set()  # never searched again, or many of them would take quadratic time
    position = 0
    while (match := _ELEMENT.search(source, position)) is not None:
        pieces.append(source[position : match.start()])
        name = (match[1] or "").lower()
        position = match.end()
        if name and (match[2].endswith("/") or name in unclosed):
            continue
        close = _closing(name).search(source, position)
        if close is None:
            unclosed.add(name)
            position = match.end() if name else len(source)  # as MediaWiki does, an open comment runs to the end
        else:
            if name == "nowiki":
                pieces.append(_escape(source[position : close.start()]))
            position = close.end()
    pieces.append(source[position:])
    return "".join(pieces)


def _closing(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}\s*>", re.IGNORECASE) if name else re.compile("-->")


def _escape(text: str) -> str:
    return _MARKUP_CHARACTERS.sub(lambda match: f"&#{ord(match[0])};", text)


def _resolve_nesting(text: str) -> str:
    """Templates, tables and links replaced by their prose, from the inside out, with a stack instead of recursion."""
    stack = [_Frame("")]
    position = 0
    for match in _NESTING.finditer(text):
        stack[-1].pieces.append(text[position : match.start()])
        position = match.end()
        token = match[0].strip(" \t:*")
        if token not in _OPENER_OF:
            if len(stack) <= _MAX_DEPTH:
                stack.append(_Frame(token))
        else:
            _close(stack, _OPENER_OF[token])
    stack[-1].pieces.append(text[position:])
    return "".join(piece for frame in stack for piece in frame.pieces)


def _close(stack: list[_Frame], opener: str) -> None:
    """End the innermost frame of `opener`, if there is one; frames left open inside it were no markup."""
    openers = [frame.opener for frame in stack]
    if opener not in openers or (opener == "[[" and openers[-1] != "[["):
        return
    depth = len(openers) - 1 - openers[::-1].index(opener)
    body = "".join(piece for frame in stack[depth:] for piece in frame.pieces)
    del stack[depth:]
    if opener == "{{":
        stack[-1].pieces.append(render_template(body))
    elif opener == "[[":
        stack[-1].pieces.append(_link_text(body))


def _link_text(body: str) -> str:
    """A link's anchor text; pictures, categories and links to other languages have none."""
    target, bar, anchor = body.partition("|")
    target = target.strip()
    shown = target.startswith(":")
    target = target.lstrip(":")
    namespace, colon, _ = target.partition(":")
    if colon and not shown and (namespace.strip().lower() in _DROPPED_NAMESPACES or _INTERLANGUAGE.match(target)):
        return ""
    if not bar:
        return target
    if not anchor.strip():  # the "pipe trick": no namespace, no qualifier
        return re.sub(r" ?\([^()]*\)$", "", target.rpartition(":")[2])
    return anchor.rpartition("|")[2]


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of prose: lines up to a blank one are joined, and end matter is left out."""
    lines: list[str] = []
    skipped_level = 0  # of the heading whose section is being left out; 0 for none
    for line in text.split("\n"):
        stripped = line.strip()
        heading = _HEADING.match(stripped)
        if heading is not None:
            level = len(heading[1])
            if not skipped_level or level <= skipped_level:
                skipped_level = level if heading[2].strip().lower() in _END_MATTER else 0
            stripped = ""
        if stripped and skipped_level:
            continue
        prose = _line_prose(stripped)
        if prose and not _LIST_MARKER.match(stripped):
            lines.append(prose)
            continue
        yield from _finish(lines)
        lines = []
        if prose:
            yield from _finish([prose])
    yield from _finish(lines)


def _line_prose(line: str) -> str:
    """What of a line is prose: nothing of a table's remains or a rule, a list item's text if that is a sentence."""
    if not line or line.startswith(("|", "!", "{|", "----", "}}")):
        return ""
    marker = _LIST_MARKER.match(line)
    if marker is None:
        return line
    item = line[marker.end() :].strip()
    return item if len(item) >= _MIN_ITEM_CHARACTERS and _SENTENCE_END.search(item) else ""


_SPACE: Final = re.compile(r"[ \t\r\f\v\xa0\u2002-\u200a\u202f\u3000]+")
_EMPTY_BRACKETS: Final = re.compile(r" ?[(（][\s,;:–/]*[)）]")
_OPEN_BRACKET: Final = re.compile(r"([(（])[\s,;:]+")
_CLOSE_BRACKET: Final = re.compile(r"[\s,;]+([)）])")
_DOUBLED_COMMA: Final = re.compile(r"(?:[,;] ?){2,}(?=[ .\w])")
_SPACE_BEFORE: Final = re.compile(r" +([,.;:!?](?![.\w]))")


def _finish(lines: list[str]) -> Iterator[str]:
    """One tidy paragraph: entities as characters, and no holes where templates and formulas were."""
    text = _SPACE.sub(" ", html.unescape(" ".join(lines)))
    text = _OPEN_BRACKET.sub(r"\1", _EMPTY_BRACKETS.sub("", text))
    text = _CLOSE_BRACKET.sub(r"\1", text)
    text = _SPACE_BEFORE.sub(r"\1", _DOUBLED_COMMA.sub(", ", text))
    text = text.replace("\n", " ").strip()
    if any(character.isalnum() for character in text):
        yield text
