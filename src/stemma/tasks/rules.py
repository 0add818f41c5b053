"""What every row of a task must hold, by the task's kind, and the columns that the rules look at."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stemma.config import Task, Validation
from stemma.data.row_rules import (
    Rule,
    filled_rule,
    input_rules,
    least_rule,
    most_rule,
    present_rules,
    readable,
    text_columns,
    text_rules,
    unique_rule,
)
from stemma.protocols import HeadKind
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.conll import illegal_tag

__all__ = [
    "content_key",
    "derive_rows",
    "evaluation_texts",
    "overlap_column",
    "question_key",
    "split_figures",
    "split_rules",
    "task_rules",
]


def task_rules(task: Task, settings: Validation) -> tuple[Rule, ...]:
    """What every row of a task must hold."""
    return (
        *present_rules("id", "document", "characters"),
        filled_rule("id"),
        _none("blank", "blank", "{blank} is empty"),
        Rule(
            name="length",
            expectation="expect_column_values_to_be_between",
            kwargs={"column": "characters", "min_value": 1, "max_value": settings.max_characters},
            reason="{characters} characters, expected {min_value} to {max_value}",
        ),
        *text_rules(),
        *_kind_rules(task),
        unique_rule("repeated_id", "its id"),
        unique_rule("repeated_row", "its content"),
        unique_rule("leaked_row", "what it asks"),
    )


def split_rules(task: Task, settings: Validation, corpora: Sequence[str]) -> tuple[Rule, ...]:
    """What a split must hold as a whole; `corpora` are those that must not hold much of it."""
    share = settings.max_label_share
    balanced = most_rule("label_share", share, "one label has {label_share:.2%} of the rows, more than {max_value:.2%}")
    of_kind: dict[HeadKind, tuple[Rule, ...]] = {
        "classification": (balanced,),
        "choice": (balanced,),
        "regression": (),
        "span": (),
        "tagging": (least_rule("entity_tags", 1, "no entity is tagged"),),
    }
    overlaps = (
        most_rule(
            overlap_column(corpus),
            settings.max_overlap_share,
            f"{{{overlap_column(corpus)}:.2%}} of its rows share {settings.overlap_ngram} words in a row with training"
            f" documents of {corpus}, more than the {{max_value:.2%}} of validation.max_overlap_share",
        )
        for corpus in corpora
    )
    return (*input_rules(settings, ROW_SCHEMAS[task.kind]), *of_kind[task.kind], *overlaps)


def split_figures(kind: HeadKind, labels: Mapping[str, int]) -> dict[str, float]:
    """The figures that `split_rules` look at, from how often each label (or tag) stands in the split."""
    match kind:
        case "classification" | "choice":
            return {"label_share": max(labels.values(), default=0) / max(sum(labels.values()), 1)}
        case "tagging":
            return {"entity_tags": sum(count for tag, count in labels.items() if tag != "O")}
    return {}


def overlap_column(corpus: str) -> str:
    """The name of the figure that says how much of a split a corpus holds."""
    return f"overlap_share_with_{corpus}"


def derive_rows(task: Task, table: pa.Table, repeated: Mapping[str, pa.Array]) -> pa.Table:
    """The columns that `task_rules` look at; those of `repeated` say where the row's like stands, or null."""
    plain, valid = readable(table)
    texts = _texts(task.kind, plain)
    return pa.table(
        {
            "id": plain["id"],
            "document": plain["document"],
            "characters": pc.utf8_length(texts[_MAIN_TEXT[task.kind]]),
            "blank": _first_blank(texts),
            **text_columns(list(texts.values()), valid),
            **_kind_columns(task.kind, plain, set(task.labels)),
            **repeated,
        }
    )


def content_key(kind: HeadKind, row: Mapping[str, Any]) -> str:
    """All that a row asks and answers: two rows with one key are one row twice."""
    names = {
        "classification": ("text", "text_pair", "label"),
        "regression": ("text", "text_pair", "score"),
        "span": ("context", "question", "answers"),
        "tagging": ("tokens", "tags"),
        "choice": ("context", "question", "choices", "label"),
    }
    return json.dumps([row[name] for name in names[kind]])


def question_key(kind: HeadKind, row: Mapping[str, Any]) -> str:
    """What a row asks, without the answer: a training row with a test row's key gives the test away."""
    names = {
        "classification": ("text", "text_pair"),
        "regression": ("text", "text_pair"),
        "span": ("context", "question"),
        "tagging": ("tokens",),
        "choice": ("context", "question", "choices"),
    }
    return json.dumps([row[name] for name in names[kind]])


def evaluation_texts(kind: HeadKind, table: pa.Table) -> list[pa.ChunkedArray]:
    """The texts of each row in which a corpus may be found again."""
    return list(_texts(kind, table).values())


_MAIN_TEXT: dict[HeadKind, str] = {
    "classification": "text",
    "regression": "text",
    "span": "context",
    "tagging": "tokens",
    "choice": "context",
}


def _texts(kind: HeadKind, table: pa.Table) -> dict[str, pa.ChunkedArray]:
    match kind:
        case "classification" | "regression":
            return {"text": table["text"], "text_pair": table["text_pair"]}
        case "span":
            return {"context": table["context"], "question": table["question"]}
        case "choice":
            choices = pc.binary_join(table["choices"], " ")
            return {"context": table["context"], "question": table["question"], "choices": choices}
    return {"tokens": pc.binary_join(table["tokens"], " ")}


def _first_blank(texts: Mapping[str, pa.ChunkedArray]) -> pa.Array:
    """The name of the first text with nothing but white space in it; a null is no blank."""
    first = pa.nulls(len(next(iter(texts.values()))), pa.string())
    for name, text in texts.items():
        blank = pc.fill_null(pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(text)), 0), False)
        first = pc.if_else(pc.and_(pc.is_null(first), blank), name, first)
    return first


def _kind_rules(task: Task) -> tuple[Rule, ...]:
    match task.kind:
        case "classification":
            return _label_rules(task)
        case "regression":
            return _score_rules(task)
        case "choice":
            return (
                Rule(
                    name="choices",
                    expectation="expect_column_values_to_be_between",
                    kwargs={"column": "num_choices", "min_value": len(task.labels), "max_value": len(task.labels)},
                    reason="{num_choices} choices, expected {min_value}",
                ),
                _none("choice", "blank_choice", "choice {blank_choice} is empty"),
                *_label_rules(task),
            )
        case "span":
            return (
                Rule(
                    name="answers",
                    expectation="expect_column_values_to_be_between",
                    kwargs={"column": "num_answers", "min_value": 0 if task.unanswerable else 1},
                    reason="no answers",
                ),
                _none("span", "misplaced_answer", "{misplaced_answer}"),
            )
    return (
        Rule(
            name="tags",
            expectation="expect_column_pair_values_to_be_equal",
            kwargs={"column_A": "num_tokens", "column_B": "num_tags"},
            reason="{num_tokens} tokens but {num_tags} tags",
        ),
        _none("token", "blank_token", "token {blank_token} is empty"),
        _none("label", "unknown_tag", "unknown tag {unknown_tag!r}"),
        _none("bio", "illegal_tag", "{illegal_tag}"),
    )


def _label_rules(task: Task) -> tuple[Rule, ...]:
    known = Rule(
        name="label",
        expectation="expect_column_values_to_be_in_set",
        kwargs={"column": "label", "value_set": list(task.labels)},
        reason="unknown label {label!r}",
    )
    return (*present_rules("label"), known)


def _score_rules(task: Task) -> tuple[Rule, ...]:
    assert task.score_range is not None
    low, high = task.score_range
    return (
        _none("score", "no_score", "score {no_score} is no finite number"),
        Rule(
            name="range",
            expectation="expect_column_values_to_be_between",
            kwargs={"column": "score", "min_value": low, "max_value": high},
            reason="score {score:g}, expected {min_value:g} to {max_value:g}",
        ),
    )


def _none(name: str, column: str, reason: str) -> Rule:
    return Rule(name=name, expectation="expect_column_values_to_be_null", kwargs={"column": column}, reason=reason)


def _kind_columns(kind: HeadKind, table: pa.Table, labels: set[str]) -> dict[str, pa.Array]:
    match kind:
        case "classification":
            return {"label": table["label"]}
        case "regression":
            finite = pc.is_finite(table["score"])
            no_score = pc.if_else(finite, pa.scalar(None, pa.string()), pc.cast(table["score"], pa.string()))
            return {"score": pc.if_else(finite, table["score"], pa.scalar(None, pa.float64())), "no_score": no_score}
        case "span":
            contexts, answers = table["context"].to_pylist(), table["answers"].to_pylist()
            misplaced = [_misplaced_answer(*row) for row in zip(contexts, answers, strict=True)]
            num_answers = pc.list_value_length(table["answers"])
            return {"num_answers": num_answers, "misplaced_answer": pa.array(misplaced, pa.string())}
        case "choice":
            blank = [_blank_text(row) for row in table["choices"].to_pylist()]
            num_choices = pc.list_value_length(table["choices"])
            return {"num_choices": num_choices, "blank_choice": pa.array(blank, pa.string()), "label": table["label"]}
    tokens, tags = table["tokens"].to_pylist(), table["tags"].to_pylist()
    return {
        "num_tokens": pc.list_value_length(table["tokens"]),
        "num_tags": pc.list_value_length(table["tags"]),
        "blank_token": pa.array([_blank_text(row) for row in tokens], pa.string()),
        "unknown_tag": pa.array([next((tag for tag in row if tag not in labels), None) for row in tags], pa.string()),
        "illegal_tag": pa.array([_illegal_tag(row) for row in tags], pa.string()),
    }


def _misplaced_answer(context: str, answers: Sequence[Mapping[str, Any]]) -> str | None:
    for answer in answers:
        text, start = answer["text"], answer["start"]
        if not text:
            return "an answer is empty"
        if start is None or start < 0 or context[start : start + len(text)] != text:
            return f"answer {text!r} is not at character {start} of its context"
    return None


def _blank_text(texts: Sequence[str | None]) -> str | None:
    return next((str(position) for position, text in enumerate(texts) if not text or not text.strip()), None)


def _illegal_tag(tags: Sequence[str | None]) -> str | None:
    position = illegal_tag([tag or "" for tag in tags])
    return None if position is None else f"tag {tags[position]!r} of token {position} goes on with no entity"
