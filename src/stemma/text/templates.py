"""The few MediaWiki templates that stand for words inside a sentence; every other template is left out."""

from collections.abc import Callable
from typing import Final

__all__ = ["render_template"]

_RANGE_WORDS: Final = frozenset({"to", "and", "or", "by", "x", "-", "–", "to(-)", "+/-", "±"})


def render_template(body: str) -> str:
    """The prose that a template's body (name and parameters, without braces) leaves in a sentence, or nothing."""
    name, _, rest = body.partition("|")
    name = " ".join(name.replace("_", " ").lower().split())
    if name.startswith("formatnum:"):
        return name.removeprefix("formatnum:").strip()
    render = _RENDERERS.get(name)
    if render is None:
        return ""
    parameters = [parameter.strip() for parameter in rest.split("|")] if rest else []
    return render([parameter for parameter in parameters if not _is_named(parameter)])


def _is_named(parameter: str) -> bool:
    key, equals, _ = parameter.partition("=")
    return bool(equals) and key.strip().replace("-", "").replace("_", "").isalnum()


def _first(parameters: list[str]) -> str:
    return parameters[0] if parameters else ""


def _second(parameters: list[str]) -> str:
    return parameters[1] if len(parameters) > 1 else ""


def _last(parameters: list[str]) -> str:
    return parameters[-1] if parameters else ""


def _joined(parameters: list[str]) -> str:
    return "".join(parameters)


def _paragraph(parameters: list[str]) -> str:
    return f"\n\n{parameters[0]}\n\n" if parameters else ""


def _convert(parameters: list[str]) -> str:
    """`5|km|mi` is "5 km", `3|to|5|km` is "3 to 5 km"."""
    words: list[str] = []
    for parameter in parameters:
        words.append(parameter)
        if parameter not in _RANGE_WORDS and not parameter[:1].isdigit() and parameter[:1] not in "-−+.":
            break
    return " ".join(words)


def _fraction(parameters: list[str]) -> str:
    match parameters:
        case [whole, top, bottom]:
            return f"{whole} {top}/{bottom}"
        case [top, bottom]:
            return f"{top}/{bottom}"
        case [bottom]:
            return f"1/{bottom}"
    return ""


def _prefixed(prefix: str) -> Callable[[list[str]], str]:
    return lambda parameters: " ".join([prefix, *parameters[:1]])


def _constant(text: str) -> Callable[[list[str]], str]:
    return lambda _: text


_RENDERERS: Final[dict[str, Callable[[list[str]], str]]] = {
    name: render
    for render, names in (
        (_convert, ("convert", "cvt")),
        (_second, ("lang", "script")),
        (_last, ("transl", "transliteration")),
        (
            _first,
            ("abbr", "angbr", "big", "em", "flag", "gaps", "ill", "interlanguage link", "math", "monospace", "mvar"),
        ),
        (_first, ("nihongo", "nobold", "nobr", "nowrap", "polytonic", "small", "smaller", "strong", "term", "unicode")),
        (_first, ("val", "vanchor", "visible anchor")),
        (_paragraph, ("blockquote", "cquote", "quotation", "quote")),
        (_joined, ("chem", "chem2", "nuclide")),
        (_fraction, ("frac", "fraction", "sfrac")),
        (_prefixed("c."), ("c.", "ca.", "circa")),
        (_prefixed("As of"), ("as of",)),
        (_constant(" – "), ("ndash", "snd", "spaced ndash", "spnd")),
        (_constant("—"), ("em dash", "mdash")),
        (_constant(" "), ("nbsp", "space", "thinsp")),
        (_constant("'"), ("'", "`")),
        (_constant("'s"), ("'s",)),
        (_constant("="), ("=",)),
        (_constant("|"), ("!",)),
    )
    for name in names
}
