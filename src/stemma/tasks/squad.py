"""SQuAD's JSON: articles of paragraphs of questions, each with its answers' texts and character offsets.

A question of SQuAD 2.0 without an answer has an empty list; what might pass for one (`plausible_answers`) is not read.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stemma.data.compression import open_binary
from stemma.data.lines import check_text
from stemma.errors import InputError
from stemma.tasks.layout import Layout

__all__ = ["check_answers", "move_answers", "read_squad"]


def read_squad(path: Path, name: str, layout: Layout) -> Iterator[dict[str, Any]]:
    """The questions of a file, in its order; the document of a question is its article's title, or number."""
    for a, article in enumerate(_items(_read_json(path, name), "data", name)):
        place = f"{name}: article {a}"
        title = check_text(_field(article, "title", place), place) or place
        for p, paragraph in enumerate(_items(article, "paragraphs", place)):
            where = f"{place} paragraph {p}"
            context = check_text(_field(paragraph, "context", where), where)
            for question in _items(paragraph, "qas", where):
                yield _row(question, title, context, where, layout)


def move_answers(answers: Sequence[dict[str, Any]], context: str) -> list[dict[str, Any]]:
    """Answers put where their text stands nearest to where they are said to be.

    One whose text stands nowhere is left out if others remain, for validation sees no row that has none at all.
    """
    moved = [{**answer, "start": _nearest(answer["text"], answer["start"], context)} for answer in answers]
    found = [answer for answer in moved if answer["start"] >= 0]
    return found or list(answers)


def check_answers(answers: object, where: str) -> list[dict[str, Any]]:
    """Answers as our rows hold them, from SQuAD's list of objects or the Hub's object of two lists."""
    if isinstance(answers, Mapping):
        texts, starts = answers.get("text"), answers.get("answer_start", answers.get("start"))
        if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
            raise InputError(f"{where}: 'answers' needs lists 'text' and 'answer_start' of one length")
        pairs = list(zip(texts, starts, strict=True))
    elif isinstance(answers, list) and all(isinstance(answer, Mapping) for answer in answers):
        pairs = [(answer.get("text"), answer.get("answer_start", answer.get("start"))) for answer in answers]
    else:
        raise InputError(f"{where}: 'answers' is neither a list of objects nor an object of lists")
    return [{"text": check_text(text, where), "start": _check_start(start, where)} for text, start in pairs]


def _read_json(path: Path, name: str) -> Any:
    with open_binary(path, name) as file:
        data = file.read()
    if not data.strip():
        raise InputError(f"{name}: the file is empty")
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}:{line}: not valid UTF-8 at byte {error.start} of the file") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}: not valid JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise InputError(f"{name}: not valid JSON: nested too deep") from None


def _row(question: object, title: str, context: str, where: str, layout: Layout) -> dict[str, Any]:
    key = check_text(_field(question, "id", where), where)
    here = f"{where} question {key!r}"
    row: dict[str, Any] = {
        "where": here,
        "id": key,
        "document": title,
        "context": context,
        "question": check_text(_field(question, "question", here), here),
    }
    if layout.answers:
        row["answers"] = check_answers(_field(question, "answers", here), here)
    return row


def _nearest(text: str, start: int, context: str) -> int:
    """Where a text stands in a context, of several places the nearest to `start`; -1 if nowhere."""
    places = [match.start() for match in re.finditer(f"(?={re.escape(text)})", context)] if text else []
    return min(places, key=lambda place: abs(place - start), default=-1)


def _check_start(start: object, where: str) -> int:
    if isinstance(start, bool) or not isinstance(start, int) or not -(2**31) <= start < 2**31:
        raise InputError(f"{where}: 'answer_start' is {start!r}, expected a character offset")
    return start


def _field(value: object, key: str, where: str) -> object:
    if not isinstance(value, Mapping) or key not in value:
        raise InputError(f"{where}: no {key!r}; expected the layout of SQuAD")
    return value[key]


def _items(value: object, key: str, where: str) -> list[Any]:
    items = _field(value, key, where)
    if not isinstance(items, list):
        raise InputError(f"{where}: {key!r} is not a list; expected the layout of SQuAD")
    return items
