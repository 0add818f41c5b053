"""A few test rows of a task with every system's answer: such as one system gets right and the others do not, and the reverse."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stemma.config import Task
from stemma.leaderboard.answers import answer_column
from stemma.tasks.metrics import per_example
from stemma.tasks.systems import all_right

__all__ = ["sample_rows"]

Right = npt.NDArray[np.bool_]
_SHOWN: Final = 6
_WIDTH: Final = 280  # characters of a text that are shown
_LEAD: Final = 120  # of these, at most so many stand before the answer


def sample_rows(
    task: Task, rows: pa.Table, answers: Mapping[str, pa.Table], chosen_for: Sequence[str]
) -> list[dict[str, Any]]:
    """Rows with what was asked, what was wanted, and what each system answered; `chosen_for` names whose rows to find."""
    right = {name: all_right(per_example(task.kind, rows, table, task.labels)) for name, table in answers.items()}
    picked = _pick({name: right[name] for name in chosen_for}, len(rows))
    shown = rows.take(picked).to_pylist()
    given = {name: table[answer_column(table)].take(picked).to_pylist() for name, table in answers.items()}
    samples = []
    for place, row in enumerate(shown):
        marks = {name: None if of is None else bool(of[picked[place]]) for name, of in right.items()}
        told = [{"system": name, "answer": _tell(given[name][place], row), "right": marks[name]} for name in answers]
        samples.append({"id": row["id"], "asked": _asked(row), "wanted": _wanted(row), "answers": told})
    return samples


def _pick(right: Mapping[str, Right | None], num_rows: int) -> list[int]:
    """For each system in turn the row that it alone gets right and the row that it alone gets wrong, as nearly as there is."""
    known = [of for of in right.values() if of is not None]
    if not known:
        return list(range(min(_SHOWN, num_rows)))
    table = np.stack(known)
    picked = dict.fromkeys(_candidates(table))
    return list(picked)[:_SHOWN]


def _candidates(table: Right) -> Iterator[int]:
    """Rows in the order of what they tell, the first of equals first."""
    others = table.sum(axis=0) - table
    for wanted in (True, False):
        for own, of_others in zip(table, others, strict=True):
            places = np.flatnonzero(own == wanted)
            if len(places):
                value = of_others[places] if wanted else -of_others[places]
                yield int(places[value.argmin()])
    yield from range(table.shape[1])


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
