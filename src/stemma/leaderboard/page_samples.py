"""The samples of the page: what was asked and wanted, and below it each answer with all who gave it."""

from collections.abc import Mapping
from typing import Any

from stemma.leaderboard.elements import Html, element

__all__ = ["sample_list"]


def sample_list(table: Mapping[str, Any]) -> list[Html]:
    """A part a task, the first of them open."""
    parts = []
    for place, (task, samples) in enumerate(table["samples"].items()):
        articles = [element("article", *_sample(sample)) for sample in samples]
        opened = {"open": ""} if place == 0 else {}
        parts.append(element("details", element("summary", task), *articles, **opened))
    if parts:
        note = (
            "Rows that tell systems apart, with the answers of each one's first seed; not a fair sample, and not many."
        )
        parts.append(element("p", note, class_="note"))
    return parts


def _sample(sample: Mapping[str, Any]) -> list[Html]:
    asked = [element("p", element("small", f"{part['name']}: "), part["text"]) for part in sample["asked"]]
    wanted = element("p", element("small", "wanted: "), element("b", sample["wanted"]))
    given: dict[tuple[bool | None, str], list[str]] = {}
    for one in sample["answers"]:
        given.setdefault((one["right"], one["answer"]), []).append(one["system"])
    answers = [element("li", *_answer(right, answer, systems)) for (right, answer), systems in given.items()]
    return [*asked, wanted, element("ul", *answers, class_="answers")]


def _answer(right: bool | None, answer: str, systems: list[str]) -> list[str]:
    told = [answer, element("small", ", ".join(systems))]
    if right is None:
        return told
    mark, class_ = ("✓", "right") if right else ("✗", "wrong")
    return [element("span", mark, class_=class_, role="img", aria_label=class_), " ", *told]
