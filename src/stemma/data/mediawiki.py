"""Pages of a MediaWiki XML dump, one at a time.

expat calls us back and no tree is built; a document type is refused, and with it every entity that could expand.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final
from xml.parsers import expat

from stemma.errors import InputError

__all__ = ["Page", "read_pages"]

MAX_PAGE_CHARACTERS: Final = 64 << 20
_BLOCK: Final = 1 << 18
_FIELDS: Final = {
    ("page", "title"): "title",
    ("page", "ns"): "namespace",
    ("page", "id"): "id",
    ("revision", "text"): "text",
}


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a dump, its text still in wikitext."""

    id: str
    title: str
    namespace: str
    is_redirect: bool
    text: str


def read_pages(file: BinaryIO, name: str) -> Iterator[Page]:
    """The pages of an open dump; `name` is what errors call it."""
    collector = _PageCollector(name)
    parser = expat.ParserCreate(encoding="utf-8")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = collector.refuse_doctype
    parser.StartElementHandler = collector.start
    parser.EndElementHandler = collector.end
    parser.CharacterDataHandler = collector.characters
    finished = False
    while not finished:
        block = file.read(_BLOCK)
        finished = not block
        try:
            parser.Parse(block, finished)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise InputError(f"{name}:{error.lineno}: not a well-formed XML dump: {reason}") from None
        yield from collector.take()
    if not collector.is_dump:
        raise InputError(f"{name}: not a MediaWiki dump: its root element is not <mediawiki>")


class _PageCollector:
    """Gathers the few fields of a page that matter as expat walks through it."""

    def __init__(self, name: str) -> None:
        self.is_dump = False
        self._name = name
        self._path: list[str] = []
        self._pages: list[Page] = []
        self._fields: dict[str, str] = {}
        self._pieces: list[str] | None = None
        self._num_characters = 0
        self._redirect = False

    def take(self) -> list[Page]:
        """The pages that have become complete since the last call."""
        pages, self._pages = self._pages, []
        return pages

    def refuse_doctype(self, *_: object) -> None:
        """A dump has no document type; one that has could define entities that expand without end."""
        raise InputError(f"{self._name}: has a document type declaration, which no MediaWiki dump has; refused")

    def start(self, tag: str, _: dict[str, str]) -> None:
        """An element begins."""
        if not self._path:
            self.is_dump = tag == "mediawiki"
        if tag == "page":
            self._fields, self._redirect, self._num_characters = {}, False, 0
        elif tag == "redirect":
            self._redirect = True
        parent = self._path[-1] if self._path else ""
        self._path.append(tag)
        self._pieces = [] if _FIELDS.get((parent, tag), None) not in (None, *self._fields) else None

    def characters(self, data: str) -> None:
        """A piece of text."""
        if self._pieces is None:
            return
        self._num_characters += len(data)
        if self._num_characters > MAX_PAGE_CHARACTERS:
            title = self._fields.get("title", "?")
            raise InputError(f"{self._name}: page {title!r} is longer than {MAX_PAGE_CHARACTERS:,} characters")
        self._pieces.append(data)

    def end(self, tag: str) -> None:
        """An element ends; a page is complete when its own does."""
        self._path.pop()
        if self._pieces is not None:
            self._fields[_FIELDS[(self._path[-1], tag)]] = "".join(self._pieces)
            self._pieces = None
        if tag == "page":
            self._pages.append(self._page())

    def _page(self) -> Page:
        missing = [field for field in ("title", "id") if field not in self._fields]
        if missing:
            raise InputError(f"{self._name}: a <page> without <{missing[0]}>: {self._fields.get('title', 'no title')}")
        return Page(
            id=self._fields["id"],
            title=self._fields["title"],
            namespace=self._fields.get("namespace", "0"),
            is_redirect=self._redirect,
            text=self._fields.get("text", ""),
        )
