"""CoNLL's columns: a token a line, a blank line between sentences, `-DOCSTART-` between documents.

The task of 2003 spells its chunks in IOB1, where `B-` appears only between two chunks of one kind that touch. Models and
scorers want IOB2, where every chunk begins with `B-`. A file is taken as IOB1 when most of its chunks open with `I-` (the
official training file has two strays); any other is left as it is, so that validation sees its mistakes.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from stemma.config import TaskFiles
from stemma.data.lines import read_lines
from stemma.errors import InputError, SettingsError
from stemma.tasks.records import Columns

__all__ = ["illegal_tag", "read_conll", "to_iob2"]

_DOCUMENT_START = "-DOCSTART-"


def read_conll(path: Path, name: str, source: TaskFiles) -> Iterator[dict[str, Any]]:
    """The sentences of a file; `columns` may say which column, from 0, holds `tokens` (the first) and `tags` (the last)."""
    convert = _is_iob1(tags for _, tags in _sentences(path, name, source.columns))
    for tokens, tags in _sentences(path, name, source.columns):
        ours = to_iob2(tags) if convert else list(tags)
        yield {"tokens": list(tokens), "tags": [source.label_names.get(tag, tag) for tag in ours]}


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


def _is_iob1(sentences: Iterable[Sequence[str]]) -> bool:
    openings = {"B": 0, "I": 0}
    for tags in sentences:
        for before, tag in zip(["O", *tags], tags, strict=False):
            if tag[:2] in ("B-", "I-") and before[2:] != tag[2:]:
                openings[tag[0]] += 1
    return openings["I"] > openings["B"]


def _sentences(path: Path, name: str, columns: Columns) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    token_column, tag_column = _column(columns, "tokens", 0), _column(columns, "tags", -1)
    width: int | None = None
    sentence: list[tuple[str, str]] = []
    for number, line in read_lines(path, name):
        fields = [field for field in line.replace("\t", " ").split(" ") if field]
        if not fields or fields[0] == _DOCUMENT_START:
            if sentence:
                yield _unzip(sentence)
            sentence = []
            continue
        width = len(fields) if width is None else width
        if len(fields) != width or max(token_column, tag_column, 1) >= width:
            expected = f"{width} as in the first line" if len(fields) != width else "a token and a tag at least"
            raise InputError(f"{name}:{number}: {len(fields)} columns, expected {expected}")
        sentence.append((fields[token_column], fields[tag_column]))
    if sentence:
        yield _unzip(sentence)


def _unzip(sentence: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(token for token, _ in sentence), tuple(tag for _, tag in sentence)


def _column(columns: Columns, ours: str, default: int) -> int:
    column = columns.get(ours, default)
    if not isinstance(column, int):
        raise SettingsError(f"columns.{ours}: {column!r} is a name, but CoNLL's columns have numbers only")
    return column
