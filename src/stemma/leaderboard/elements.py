"""HTML as nested calls: what is not made by `element` is text, and is escaped."""

from collections.abc import Iterable
from html import escape

__all__ = ["Html", "element", "join"]

_VOID = frozenset({"br", "meta"})  # of HTML: no end tag; SVG has no such elements


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, /, *parts: str, **attributes: str | None) -> Html:
    """An element around some parts; `class_` is written class, `_` in a name is written `-`, and none is left out."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{told}>" if name in _VOID else f"<{name}{told}>{join(parts)}</{name}>")


def join(parts: Iterable[str]) -> Html:
    """Parts one after the other: HTML as it is, text escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))
