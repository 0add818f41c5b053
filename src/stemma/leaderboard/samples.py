"""A few test rows of a task with every system's answer: such as one family gets right and the others do not, and the reverse.

Of a task that asks for numbers: the rows on which a family's error is smallest and largest.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stemma.config import Task
from stemma.leaderboard.answers import answer_column
from stemma.tasks.metrics import Floats, Statistics, per_example
from stemma.tasks.systems import all_right

__all__ = ["sample_rows"]

_FEWEST: Final = 6  # rows, if there are so many; of many families, two for each
_WIDTH: Final = 280  # characters of a text that are shown
_LEAD: Final = 120  # of these, at most so many stand before the answer


def sample_rows(
    task: Task, rows: pa.Table, answers: Mapping[str, pa.Table], families: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Rows with what was asked, what was wanted, and what each system answered; `families` says whose rows to find."""
    runs = {name: per_example(task.kind, rows, table, task.labels) for name, table in answers.items()}
    right = {name: all_right(run) for name, run in runs.items()}
    picked = _pick({name: _quality(runs[name], right[name]) for name in families}, families, len(rows))
    shown = rows.take(picked).to_pylist()
    given = {name: table[answer_column(table)].take(picked).to_pylist() for name, table in answers.items()}
    samples = []
    for place, row in enumerate(shown):
        marks = {name: None if of is None else bool(of[picked[place]]) for name, of in right.items()}
        told = [{"system": name, "answer": _tell(given[name][place], row), "right": marks[name]} for name in answers]
        samples.append({"id": row["id"], "asked": _asked(row), "wanted": _wanted(row), "answers": told})
    return samples


def _quality(run: Statistics, right: npt.NDArray[np.bool_] | None) -> Floats | None:
    """How good each answer is: above zero is right, or of a number nearer than half of them are."""
    if "given_score" in run:
        errors = np.abs(run["given_score"] - run["gold_score"])
        return np.asarray(np.median(errors) - errors) if len(errors) else None
    return None if right is None else np.where(right, 1.0, -1.0)


def _pick(quality: Mapping[str, Floats | None], families: Mapping[str, str], num_rows: int) -> list[int]:
    """Two rows for a system of each family, held against those of other families; then for all; then from the beginning."""
    known = {name: of for name, of in quality.items() if of is not None}
    first = {families[name]: name for name in reversed(known)}
    picked: dict[int, None] = {}
    representatives = [name for name in known if name in first.values()] if len(first) > 1 else []
    for names in (representatives, list(known)):
        for order in _turns([known[name] for name in names]):
            free = next((int(place) for place in order if int(place) not in picked), None)
            if free is not None:
                picked[free] = None
    picked |= dict.fromkeys(range(num_rows))
    return list(picked)[: max(_FEWEST, 2 * len(first))]


def _turns(quality: Sequence[Floats]) -> Iterator[npt.NDArray[np.int64]]:
    """For each system the rows that it does well on, those first that the others do worst on; then the reverse."""
    total = np.sum(quality, axis=0)
    for own in quality:
        others = total - own
        for sign in (1, -1):
            order = np.lexsort((sign * others, -sign * own))
            yield order[sign * own[order] >= 0]


def _asked(row: Mapping[str, Any]) -> list[dict[str, str]]:
    """What the row shows to a system, by the names of its columns."""
    if "tokens" in row:
        return [{"name": "tokens", "text": _crop(" ".join(row["tokens"]))}]
    start = row["answers"][0]["start"] if row.get("answers") else 0
    parts = [
        {"name": name, "text": _crop(row[name], start if name == "context" else 0)}
        for name in ("text", "text_pair", "question", "context")
        if row.get(name)
    ]
    return parts + [{"name": "choice", "text": _crop(choice)} for choice in row.get("choices") or []]


def _wanted(row: Mapping[str, Any]) -> str:
    if "answers" in row:
        return " / ".join(dict.fromkeys(_crop(answer["text"]) for answer in row["answers"])) or "no answer"
    if "tags" in row:
        return _tell(row["tags"], row)
    value = row["label"] if "label" in row else row.get("score", row.get("value"))
    return _tell(value, row)


def _tell(answer: Any, row: Mapping[str, Any]) -> str:
    """An answer in words: tags as the words that have one."""
    if isinstance(answer, float):
        return f"{answer:.2f}"
    if isinstance(answer, list):
        named = [f"{token} ({tag})" for token, tag in zip(row["tokens"], answer, strict=True) if tag != "O"]
        return _crop(", ".join(named)) or "nothing"
    return _crop(str(answer)) or "no answer"


def _crop(text: str, around: int = 0) -> str:
    begin = max(0, around - _LEAD) if len(text) > _WIDTH else 0
    part = " ".join(text[begin : begin + _WIDTH].split())
    return f"{'… ' if begin else ''}{part}{' …' if begin + _WIDTH < len(text) else ''}"
