"""CoNLL's columns: a token a line, a blank line between sentences, `-DOCSTART-` between documents.

The task of 2003 spells its chunks in IOB1, where `B-` appears only between two chunks of one kind that touch. Models and
scorers want IOB2, where every chunk begins with `B-`. A file is taken as IOB1 when most of its chunks open with `I-` (the
official training file has two strays). Tags that also mark an entity's end, or one of a single token, as BIOES, BILOU and BMES
do, become IOB2 too, entity by entity. Any other file is left as it is, so that validation sees its mistakes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from stemma.data.lines import read_lines
from stemma.errors import InputError, SettingsError
from stemma.tasks.layout import Columns, Layout

__all__ = ["from_bioes", "illegal_tag", "read_conll", "to_iob2"]

_DOCUMENT_START = "-DOCSTART-"
_Sentence = tuple[int, str, tuple[str, ...], tuple[str, ...]]  # its first line, its document, tokens and tags


def read_conll(path: Path, name: str, layout: Layout) -> Iterator[dict[str, Any]]:
    """The sentences of a file, each with its document, if there are any.

    `columns` may say which column, from 0, holds `tokens` (the first) and `tags` (the last).
    """
    convert = _conversion(tags for _, _, _, tags in _sentences(path, name, layout.columns))
    for number, document, tokens, tags in _sentences(path, name, layout.columns):
        row = {"where": f"{name}:{number}", "document": document, "tokens": list(tokens)}
        if layout.answers:
            row["tags"] = [layout.label_names.get(tag, tag) for tag in convert(tags)]
        yield row


def to_iob2(tags: Sequence[str]) -> list[str]:
    """IOB1 tags as IOB2: the first tag of every chunk begins with `B-`."""
    converted = list(tags)
    for position, (before, tag) in enumerate(zip(["O", *tags], tags, strict=False)):
        if tag.startswith("I-") and before[2:] != tag[2:]:
            converted[position] = f"B-{tag[2:]}"
    return converted


def illegal_tag(tags: Sequence[str]) -> int | None:
    """Where IOB2 tags first break the rules (an `I-` that goes on with nothing of its kind), or None."""
    for position, (before, tag) in enumerate(zip(["O", *tags], tags, strict=False)):
        if tag.startswith("I-") and before not in (f"B-{tag[2:]}", tag):
            return position
    return None


def from_bioes(tags: Sequence[str]) -> list[str]:
    """BIOES, BILOU or BMES tags as IOB2: ends and middles are inside, and what stands alone begins."""
    letters = {"S": "B", "U": "B", "E": "I", "L": "I", "M": "I"}
    return [f"{letters.get(tag[0], tag[0])}{tag[1:]}" if tag[1:2] == "-" else tag for tag in tags]


def _conversion(sentences: Iterable[Sequence[str]]) -> Callable[[Sequence[str]], list[str]]:
    """What makes IOB2 of a file's tags."""
    openings: Counter[str] = Counter()
    for tags in sentences:
        for before, tag in zip(["O", *tags], tags, strict=False):
            if tag[1:2] == "-" and (before[2:] != tag[2:] or tag[0] not in "BI"):
                openings[tag[0]] += 1
    if openings.keys() & set("SUELM"):
        return from_bioes
    return to_iob2 if openings["I"] > openings["B"] else list


def _sentences(path: Path, name: str, columns: Columns) -> Iterator[_Sentence]:
    token_column, tag_column = _column(columns, "tokens", 0), _column(columns, "tags", -1)
    width: int | None = None
    documents, first = 0, 0
    sentence: list[tuple[str, str]] = []
    for number, line in chain(read_lines(path, name), [(0, "")]):
        fields = [field for field in line.replace("\t", " ").split(" ") if field]
        if not fields or fields[0] == _DOCUMENT_START:
            if sentence:
                yield first, f"{name} document {documents}" if documents else "", *_unzip(sentence)
            sentence = []
            documents += bool(fields)
            continue
        width = len(fields) if width is None else width
        if len(fields) != width or max(token_column, tag_column, 1) >= width:
            expected = f"{width} as in the first line" if len(fields) != width else "a token and a tag at least"
            raise InputError(f"{name}:{number}: {len(fields)} columns, expected {expected}")
        first = first if sentence else number
        sentence.append((fields[token_column], fields[tag_column]))


def _unzip(sentence: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(token for token, _ in sentence), tuple(tag for _, tag in sentence)


def _column(columns: Columns, ours: str, default: int) -> int:
    column = columns.get(ours, default)
    if not isinstance(column, int):
        raise SettingsError(f"columns.{ours}: {column!r} is a name, but CoNLL's columns have numbers only")
    return column
