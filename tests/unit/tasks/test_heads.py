"""Losses, and answers from logits."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stemma.config import Task
from stemma.layers.spans import best_spans
from stemma.tasks.features import encode_rows
from stemma.tasks.heads import head_loss, input_tensors, make_answers, make_targets
from tests import toy_bert
from tests.unit.tasks.test_features import make_rows, make_task

TOKENIZER = toy_bert.tokenizer()


def brute_best(start: list[float], end: list[float], first: int, count: int, longest: int) -> tuple[float, int, int]:
    spans = [
        (start[i] + end[j], -i, -j)
        for i in range(first, first + count)
        for j in range(i, min(i + longest, first + count))
    ]
    score, i, j = max(spans)
    return score, -i, -j


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_best_span_is_that_of_a_full_search(data):
    length = data.draw(st.integers(3, 12))
    # few distinct values, so that ties happen
    values = st.lists(st.integers(-3, 3), min_size=length, max_size=length)
    start, end = data.draw(values), data.draw(values)
    first = data.draw(st.integers(0, length - 1))
    count = data.draw(st.integers(1, length - first))
    longest = data.draw(st.integers(1, length + 2))
    logits = torch.tensor([start, end], dtype=torch.float32).T[None]
    chosen, last, score = best_spans(logits, np.array([first]), np.array([count]), longest)
    assert (score[0], chosen[0], last[0]) == brute_best(start, end, first, count, longest)


def test_answers_come_from_the_best_window_and_from_the_text():
    context = "A b  c d e f g h i"
    task = make_task("span", stride=2, max_length=10, max_answer_length=3)
    rows = make_rows("span", [{"context": context, "question": "j", "answers": []}])
    features = encode_rows(rows, task, TOKENIZER, 10)
    assert len(features.rows) == 2
    logits = torch.zeros(2, 10, 2)
    logits[0, 3, 0] = logits[0, 4, 1] = 2.0  # "A b": 4
    logits[1, 4, 0], logits[1, 6, 1] = 1.0, 2.5  # "f g h": 3.5
    answers = make_answers(rows, features, task)
    answers.add(np.array([1, 0]), logits[[1, 0]])
    columns = answers.columns()
    assert {name: column[0].as_py() for name, column in columns.items()} == {
        "text": "A b",
        "start": 0,
        "end": 3,
        "score": 4.0,
    }
    logits[1, 6, 1] = 3.5
    answers.add(np.array([0, 1]), logits)
    assert answers.columns()["text"][0].as_py() == "f g h"


def test_a_span_never_lies_in_the_question_and_never_runs_backwards():
    task = make_task("span")
    rows = make_rows("span", [{"context": "a b c", "question": "d e", "answers": []}])
    features = encode_rows(rows, task, TOKENIZER, 24)
    logits = torch.zeros(1, 8, 2)
    logits[0, :4] = 50.0  # [CLS] and the question
    logits[0, 6, 0] = logits[0, 4, 1] = 9.0  # an end before its start
    answers = make_answers(rows, features, task)
    answers.add(np.array([0]), logits)
    column = answers.columns()
    assert column["start"][0].as_py() <= column["end"][0].as_py()
    assert column["score"][0].as_py() == 9.0


def test_an_empty_context_has_an_empty_answer():
    task = make_task("span")
    rows = make_rows(
        "span", [{"context": " ", "question": "d", "answers": []}, {"context": "a", "question": "d", "answers": []}]
    )
    features = encode_rows(rows, task, TOKENIZER, 24)
    answers = make_answers(rows, features, task)
    answers.add(np.arange(2), torch.zeros(2, 8, 2))
    columns = answers.columns()
    assert columns["text"].to_pylist() == ["", "a"]
    assert np.isfinite(columns["score"].to_numpy()).all()


def test_words_beyond_the_input_are_outside_and_not_lost():
    task = make_task("tagging")
    words = ["ab"] * 5 + ["\u200b"]  # the last has no piece
    rows = make_rows("tagging", [{"tokens": words, "tags": ["O"] * 6}, {"tokens": [], "tags": []}])
    features = encode_rows(rows, task, TOKENIZER, 8)  # room for three words
    logits = torch.zeros(2, 8, 3)
    logits[:, :, 1] = 1.0
    answers = make_answers(rows, features, task)
    answers.add(np.arange(2), logits)
    assert answers.columns()["tags"].to_pylist() == [["B-X"] * 3 + ["O"] * 3, []]


def test_labels_and_probabilities():
    task = make_task("classification")
    rows = make_rows("classification", [{"text": "a", "label": "no"}, {"text": "b", "label": "no"}])
    features = encode_rows(rows, task, TOKENIZER, 24)
    answers = make_answers(rows, features, task)
    answers.add(np.array([1, 0]), torch.tensor([[0.0, 0.0], [0.0, np.log(3.0)]]))
    columns = answers.columns()
    assert columns["label"].to_pylist() == ["yes", "no"], "the first of equals"
    np.testing.assert_allclose(columns["probabilities"].to_pylist(), [[0.25, 0.75], [0.5, 0.5]], rtol=1e-6)


def test_choices_of_a_row_are_compared_whatever_the_order_of_inputs():
    task = make_task("choice")
    rows = make_rows(
        "choice",
        [{"context": "a", "choices": ["b", "c", "d"], "label": "a"}, {"context": "e", "choices": ["f", "g", "h"]}],
    )
    features = encode_rows(rows, task, TOKENIZER, 24)
    answers = make_answers(rows, features, task)
    scores = torch.tensor([0.0, 0.0, np.log(2.0), 5.0, 5.0, 5.0])
    order = np.array([5, 2, 0, 3, 4, 1])
    for inputs in (order[:4], order[4:]):
        answers.add(inputs, scores[inputs, None])
    columns = answers.columns()
    assert columns["label"].to_pylist() == ["c", "a"], "the first of equals"
    assert columns["text"].to_pylist() == ["d", "f"]
    np.testing.assert_allclose(columns["probabilities"].to_pylist(), [[0.25, 0.25, 0.5], [1 / 3] * 3], rtol=1e-6)


def loss_of(task: Task, rows: list[dict[str, Any]], logits: torch.Tensor) -> float:
    table = make_rows(task.kind, rows)
    features = encode_rows(table, task, TOKENIZER, task.max_length)
    targets = make_targets(table, features, task)
    return float(head_loss(task.kind, logits, targets.take(np.arange(len(features.rows)))))


def test_losses_by_hand():
    assert loss_of(
        make_task("classification"), [{"text": "a", "label": "yes"}], torch.tensor([[0.0, 0.0]])
    ) == pytest.approx(np.log(2))
    answer: dict[str, Any] = {"context": "a b", "question": "c", "answers": [{"text": "b", "start": 2}]}
    span_logits = torch.zeros(1, 8, 2)
    assert loss_of(make_task("span"), [answer], span_logits) == pytest.approx(np.log(8))
    span_logits[0, 4, 0] = np.log(9.0)  # the start's share is 9 / 16, the end's still 1 / 8
    assert loss_of(make_task("span"), [answer], span_logits) == pytest.approx((np.log(16 / 9) + np.log(8)) / 2)
    tag_logits = torch.zeros(1, 8, 3)
    tag_logits[0, 2, 0] = 99.0  # at a second piece: not asked
    assert loss_of(make_task("tagging"), [{"tokens": ["ab", "c"], "tags": ["B-X", "O"]}], tag_logits) == pytest.approx(
        np.log(3)
    )


def test_the_loss_of_a_choice_is_that_among_the_choices_of_its_row():
    logits = torch.tensor([[0.0], [0.0], [0.0], [np.log(6.0)], [0.0], [0.0]])
    targets = torch.tensor([1, 0])
    assert float(head_loss("choice", logits, targets)) == pytest.approx((np.log(3) + np.log(8 / 6)) / 2)


def test_a_batch_without_words_has_no_loss():
    assert loss_of(make_task("tagging"), [{"tokens": [], "tags": []}], torch.zeros(1, 8, 3)) == 0.0


def test_input_tensors():
    rows = make_rows(
        "classification", [{"text": "a b c d e f g", "label": "no"}, {"text": "a", "text_pair": "b", "label": "no"}]
    )
    features = encode_rows(rows, make_task("classification"), TOKENIZER, 24)
    tensors = input_tensors(features, np.array([1, 0]))
    assert tensors["input_ids"].shape == (2, 16)
    assert tensors["input_ids"][0, :6].tolist() == [2, 5, 3, 6, 3, 0]
    assert tensors["token_type_ids"][0, :6].tolist() == [0, 0, 0, 1, 1, 0]
    assert tensors["attention_mask"].sum(1).tolist() == [5, 9]
