"""What a task's head is trained for, and how its logits become answers (Devlin et al. 2019, section 4).

Classification: `[CLS]` and a matrix. Regression: `[CLS]` and a vector, whose product is the score itself, in the task's own
units, learned by squared error. Span: a start and an end vector; the best span has its end not before its start, at
most so many tokens, and lies in the context of one window. Tagging: a matrix at the first piece of each word. Choice: `[CLS]`
and a vector, whose products with all choices of a row are compared by softmax.
A question without an answer has `[CLS]` for one. Where a task has such questions, none is given if the score of `[CLS]` (the
least over windows) is above that of the best span by more than a threshold, which is chosen on validation rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, mse_loss

from stemma.config import Task
from stemma.data.batches import Ragged
from stemma.layers.spans import NO_SPAN, best_spans
from stemma.protocols import HeadKind
from stemma.tasks.features import Features, answer_columns, label_codes, tag_targets

__all__ = ["Answers", "Ints", "SpanAnswers", "Targets", "head_loss", "input_tensors", "make_answers", "make_targets"]

Ints = npt.NDArray[np.int64]
_OUTSIDE: Final = -100


def make_targets(rows: pa.Table, features: Features, task: Task) -> "Targets":
    """What the logits of each input should say."""
    if task.kind in ("classification", "choice"):
        return Targets(label_codes(rows, task.labels))
    if task.kind == "regression":
        return Targets(rows["score"].to_numpy().astype(np.float32))
    if task.kind == "span":
        return Targets(answer_columns(rows, features))
    return Targets(tag_targets(rows, features, task.labels))


@dataclass(frozen=True)
class Targets:
    """One target an input: a label, a score, two columns, or a label a token; of inputs that go together, one for all."""

    values: Ints | npt.NDArray[np.float32] | Ragged

    def take(self, inputs: Ints) -> Tensor:
        """The targets of some inputs."""
        if isinstance(self.values, Ragged):
            return torch.from_numpy(self.values.padded(inputs, _OUTSIDE))
        return torch.from_numpy(self.values[inputs])


def input_tensors(features: Features, inputs: Ints) -> dict[str, Tensor]:
    """Some inputs as a batch for a model's forward; what is behind their ends is masked, so its id does not matter."""
    ids = features.ids.padded(inputs, 0)
    inside = np.arange(ids.shape[1]) < features.ids.lengths[inputs][:, None]
    arrays = {
        "input_ids": ids,
        "attention_mask": inside.astype(np.int64),
        "token_type_ids": features.types.padded(inputs, 0),
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def head_loss(kind: HeadKind, logits: Tensor, targets: Tensor) -> Tensor:
    """How far logits are from what they should say.

    The squared error of a score, or cross-entropy: of the label, of start and end (their mean), of the tags where words begin,
    or of the right choice.
    """
    if kind == "classification":
        return cross_entropy(logits, targets)
    if kind == "regression":
        return mse_loss(logits[:, 0], targets)
    if kind == "choice":
        return cross_entropy(logits.view(len(targets), -1), targets)  # (rows, choices)
    if kind == "span":
        start, end = logits.unbind(-1)  # (batch, length) each
        return (cross_entropy(start, targets[:, 0]) + cross_entropy(end, targets[:, 1])) / 2
    asked = max(1, int((targets != _OUTSIDE).sum()))  # a batch of empty sentences has no loss, not NaN
    return cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=_OUTSIDE, reduction="sum") / asked


class Answers(Protocol):
    """Gathers logits, in any order of inputs, and gives one answer a row."""

    def add(self, inputs: Ints, logits: Tensor) -> None:
        """Take the logits of some inputs."""

    def columns(self) -> Mapping[str, pa.Array]:
        """The answers, in the order of the rows: the columns of a prediction behind its id."""


def make_answers(rows: pa.Table, features: Features, task: Task, null_threshold: float | None = None) -> Answers:
    """An empty set of answers to rows."""
    if task.kind == "classification":
        return _LabelAnswers(features, task)
    if task.kind == "regression":
        return _ScoreAnswers(features)
    if task.kind == "choice":
        return _ChoiceAnswers(rows, features, task)
    if task.kind == "span":
        return SpanAnswers(rows, features, task, null_threshold)
    return _TagAnswers(rows, features, task)


class _LabelAnswers:
    def __init__(self, features: Features, task: Task) -> None:
        self._labels = task.labels
        self._probabilities = np.zeros((features.num_rows, len(task.labels)), np.float32)

    def add(self, inputs: Ints, logits: Tensor) -> None:
        self._probabilities[inputs] = torch.softmax(logits.float(), dim=-1).numpy()

    def columns(self) -> dict[str, pa.Array]:
        return _label_columns(self._labels, self._probabilities)


class _ScoreAnswers:
    def __init__(self, features: Features) -> None:
        self._scores = np.zeros(features.num_rows, np.float32)

    def add(self, inputs: Ints, logits: Tensor) -> None:
        self._scores[inputs] = logits.float()[:, 0].numpy()

    def columns(self) -> dict[str, pa.Array]:
        return {"score": pa.array(self._scores, pa.float32())}


class _ChoiceAnswers:
    def __init__(self, rows: pa.Table, features: Features, task: Task) -> None:
        self._labels, self._texts = task.labels, rows["choices"]
        self._scores = np.zeros(len(features.rows), np.float32)  # of every choice of every row

    def add(self, inputs: Ints, logits: Tensor) -> None:
        self._scores[inputs] = logits.float()[:, 0].numpy()

    def columns(self) -> dict[str, pa.Array]:
        scores = torch.from_numpy(self._scores.reshape(-1, len(self._labels)))
        probabilities = torch.softmax(scores, dim=-1).numpy()
        best = probabilities.argmax(axis=1).tolist()
        texts = [choices[at].as_py() for choices, at in zip(self._texts, best, strict=True)]
        return {**_label_columns(self._labels, probabilities), "text": pa.array(texts, pa.string())}


def _label_columns(labels: Sequence[str], probabilities: npt.NDArray[np.float32]) -> dict[str, pa.Array]:
    best = probabilities.argmax(axis=1)
    offsets = np.arange(len(best) + 1, dtype=np.int32) * len(labels)
    return {
        "label": pa.array(labels, pa.string()).take(pa.array(best)),
        "probabilities": pa.ListArray.from_arrays(offsets, probabilities.ravel()),
    }


class SpanAnswers:
    """The best span of each row, or none where `[CLS]` is above it by more than a threshold."""

    def __init__(self, rows: pa.Table, features: Features, task: Task, null_threshold: float | None) -> None:
        self.null_threshold = null_threshold
        assert features.contexts is not None
        self._texts, self._rows, self._num_rows = rows["context"], features.rows, features.num_rows
        self._contexts, self._max_length = features.contexts, task.max_answer_length
        self._first, self._last = np.zeros((2, len(features.rows)), np.int64)  # tokens of the best span, an input
        self._scores = np.full(len(features.rows), NO_SPAN, np.float32)
        self._nulls = np.zeros(len(features.rows), np.float32)  # the scores of [CLS]

    def add(self, inputs: Ints, logits: Tensor) -> None:
        """Take the logits of some inputs."""
        contexts = self._contexts
        column, count = contexts.first_column[inputs], contexts.num_tokens[inputs]
        first, last, self._scores[inputs] = best_spans(logits, column, count, self._max_length)
        shift = contexts.first_token[inputs] - column
        self._first[inputs], self._last[inputs] = first + shift, last + shift
        self._nulls[inputs] = logits[:, 0].float().sum(dim=-1).numpy()

    def margins(self) -> npt.NDArray[np.float64]:
        """By how much `[CLS]` is above the best span of each row."""
        nulls, best = np.full(self._num_rows, np.inf), np.full(self._num_rows, -np.inf)
        np.minimum.at(nulls, self._rows, self._nulls)
        np.maximum.at(best, self._rows, self._scores)
        return np.asarray(nulls - best)

    def columns(self) -> dict[str, pa.Array]:
        """The answers, in the order of the rows."""
        order = np.lexsort((np.arange(len(self._rows)), -self._scores, self._rows))  # each row's best input first
        best = order[np.searchsorted(self._rows[order], np.arange(self._num_rows))]
        empty = self._contexts.num_tokens[best] == 0
        if self.null_threshold is not None:
            empty |= self.margins() > self.null_threshold
        starts = np.where(empty, 0, np.append(self._contexts.starts, 0)[np.where(empty, -1, self._first[best])])
        ends = np.where(empty, 0, np.append(self._contexts.ends, 0)[np.where(empty, -1, self._last[best])])
        texts = [
            text[start:end]
            for text, start, end in zip(self._texts.to_pylist(), starts.tolist(), ends.tolist(), strict=True)
        ]
        return {
            "text": pa.array(texts, pa.string()),
            "start": pa.array(starts, pa.int32()),
            "end": pa.array(ends, pa.int32()),
            "score": pa.array(self._scores[best], pa.float32()),
        }


class _TagAnswers:
    def __init__(self, rows: pa.Table, features: Features, task: Task) -> None:
        assert features.words is not None
        self._words, self._labels = features.words, task.labels
        lengths = pc.list_value_length(rows["tokens"]).to_numpy()
        self._offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        self._tags = np.full(int(self._offsets[-1]), task.labels.index("O"), np.int64)  # also where no token stands

    def add(self, inputs: Ints, logits: Tensor) -> None:
        words = self._words.padded(inputs, -1)
        begins = words >= 0
        self._tags[words[begins]] = logits.argmax(dim=-1).numpy()[:, : words.shape[1]][begins]

    def columns(self) -> dict[str, pa.Array]:
        tags = pa.array(self._labels, pa.string()).take(pa.array(self._tags))
        return {"tags": pa.ListArray.from_arrays(pa.array(self._offsets), tags)}
