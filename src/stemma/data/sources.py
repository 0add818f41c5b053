"""Where documents come from."""

from collections.abc import Callable, Iterator
from pathlib import Path

from stemma.data.compression import open_binary
from stemma.data.documents import Document
from stemma.data.mediawiki import read_pages

__all__ = ["read_mediawiki"]

Converter = Callable[[str], str]


def read_mediawiki(path: Path, name: str, to_prose: Converter) -> Iterator[Document]:
    """The articles of a dump as prose; redirects and pages that are no articles are not documents."""
    with open_binary(path, name) as file:
        for page in read_pages(file, name):
            if page.namespace == "0" and not page.is_redirect:
                yield Document(key=page.id, title=page.title, text=to_prose(page.text))
