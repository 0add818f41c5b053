"""A fine-tuned model that answers rows: from a folder that holds all it needs, or from memory while it is being tuned."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import tokenizers
import torch
from torch import Tensor, nn

from stemma.config import Task, parse_settings
from stemma.errors import InputError
from stemma.families import load_family
from stemma.files import read_json, verify_manifest
from stemma.protocols import HeadKind, Tagger
from stemma.tasks.base import PREDICTION_SCHEMAS
from stemma.tasks.features import Features, encode_rows
from stemma.tasks.heads import Answers, Ints, SpanAnswers, input_tensors, make_answers
from stemma.tasks.null_threshold import best_threshold
from stemma.text.vocabulary import load_tokenizer
from stemma.training.loop import deterministic

__all__ = ["TASK_FILE", "Predictor", "load_predictor"]

TASK_FILE: Final = "task.json"
_BATCH: Final = 64  # inputs


@dataclass(frozen=True, kw_only=True)
class Predictor:
    """A task's model with its tokenizer."""

    task_name: str
    task: Task
    model: nn.Module
    tokenizer: tokenizers.Tokenizer
    null_threshold: float | None = None  # the margin from which on a question has no answer; None: every one has
    threads: int = 1  # more are faster; with one, the same rows get the same bits everywhere

    @property
    def kind(self) -> HeadKind:
        """What is asked: classification, regression, span, tagging or choice."""
        return self.task.kind

    @property
    def labels(self) -> list[str]:
        """What may be answered; none for scores and spans."""
        return self.task.labels

    def predict(
        self,
        rows: pa.Table,
        features: Features | None = None,
        *,
        at_once: int | None = None,
        report: Callable[[int], None] | None = None,
    ) -> pa.Table:
        """One answer a row, in the rows' order; `features` are their inputs, if those were made before.

        After `at_once` rows (None: all) `report` is told how many are behind.
        """
        return self._table(rows, self._answer(rows, features, at_once, report))

    def calibrate(self, rows: pa.Table, features: Features | None = None) -> tuple["Predictor", pa.Table]:
        """The predictor with the threshold that is best for labelled rows, if its task has any, and what it answers to them."""
        answers = self._answer(rows, features)
        if not isinstance(answers, SpanAnswers) or not self.task.unanswerable:
            return self, self._table(rows, answers)
        spans, margins = self._table(rows, answers), answers.margins()
        answers.null_threshold = best_threshold(self.task.metric, rows, spans, margins)
        return replace(self, null_threshold=answers.null_threshold), self._table(rows, answers)

    def _answer(
        self,
        rows: pa.Table,
        features: Features | None,
        at_once: int | None = None,
        report: Callable[[int], None] | None = None,
    ) -> Answers:
        if "id" not in rows.column_names:
            raise InputError("column 'id' is missing: every row needs one, to know its answer by")
        if features is None:
            features = encode_rows(rows, self.task, self.tokenizer, self.task.max_length)
        answers = make_answers(rows, features, self.task, self.null_threshold)
        size = at_once or max(1, len(rows))
        training = self.model.training
        self.model.eval()
        with deterministic(self.threads), torch.inference_mode():
            for begin in range(0, len(rows), size):
                end = min(begin + size, len(rows))
                for inputs in _batches(features, begin, end):
                    answers.add(inputs, self._logits(features, inputs))
                if report is not None:
                    report(end)
        self.model.train(training)
        return answers

    def _table(self, rows: pa.Table, answers: Answers) -> pa.Table:
        columns = {"id": rows["id"], **answers.columns()}
        schema = PREDICTION_SCHEMAS[self.kind]
        return pa.table({name: columns[name] for name in schema.names}, schema=schema)

    def _logits(self, features: Features, inputs: Ints) -> Tensor:
        """The logits of some inputs; of a model that tags a text as a whole, 1 for the tags that it chose."""
        logits: Tensor = self.model(**input_tensors(features, inputs))
        if not isinstance(self.model, Tagger):
            return logits
        assert features.words is not None
        asked = torch.from_numpy(features.words.padded(inputs, -1) >= 0)
        return nn.functional.one_hot(self.model.best_tags(logits, asked), logits.shape[2]).float()


def _batches(features: Features, begin: int, end: int) -> Iterator[Ints]:
    """The inputs of some rows, those of like length together: little padding."""
    first, last = np.searchsorted(features.rows, [begin, end])
    order = first + np.argsort(features.ids.lengths[first:last], kind="stable")
    for start in range(0, len(order), _BATCH):
        yield order[start : start + _BATCH]


def load_predictor(model_dir: Path) -> Predictor:
    """Load a fine-tuned model's folder, every file checked against its manifest."""
    verify_manifest(model_dir)
    record = read_json(model_dir / TASK_FILE)
    about = {name: record.pop(name) for name in ("task", "family", "variant", "seed")}
    threshold = record.pop("null_threshold", None)
    task = parse_settings(Task, record, str(model_dir / TASK_FILE))
    family = load_family(about["family"])
    if family.load_tuned is None:
        raise InputError(f"{model_dir / TASK_FILE}: family {family.name!r} has no models that answer tasks")
    model = family.load_tuned(model_dir, task.kind)
    tokenizer = load_tokenizer(model_dir)
    return Predictor(task_name=about["task"], task=task, model=model, tokenizer=tokenizer, null_threshold=threshold)
