"""The other side of the comparison: the Hugging Face Trainer on `transformers`' own heads, as its example scripts use them.

Nothing of ours takes part in it but the reading of rows and the scoring of answers: it has its own tokenization with the folder's
tokenizer, windows of contexts, padding of each batch to its longest, shuffling, dropout, loss and reading of answers.
"""

import copy
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
import transformers

from stemma.config import Finetuning, Task
from stemma.protocols import HeadKind
from stemma.tasks.base import PREDICTION_SCHEMAS
from stemma.tasks.metrics import score

__all__ = ["Encoded", "TrainerSide", "TrainerTuned", "encode", "load_network"]

Floats = npt.NDArray[np.float32]
_OUTSIDE: Final = -100
_BATCH: Final = 64  # inputs, where answers are read
_NETWORKS: Final[dict[HeadKind, str]] = {
    "classification": "AutoModelForSequenceClassification",
    "regression": "AutoModelForSequenceClassification",
    "tagging": "AutoModelForTokenClassification",
    "span": "AutoModelForQuestionAnswering",
}


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """Inputs for a network, with what it needs to learn from them, and where each comes from."""

    inputs: list[dict[str, Any]]  # with labels
    rows: list[int]  # of each input
    words: list[list[int | None]] = field(default_factory=list)  # tagging: the word of each token
    offsets: list[list[tuple[int, int] | None]] = field(default_factory=list)  # span: a context token's characters


@dataclass(frozen=True, kw_only=True)
class TrainerTuned:
    """A network with the weights of its best epoch, and the validation scores of all."""

    network: Any
    best_epoch: int  # from 1
    epochs: list[dict[str, float]]


def load_network(folder: Path, task: Task) -> Any:
    """A network with the ordinary head of a task, which torch's generator draws."""
    asked: dict[str, Any] = {}
    if task.kind == "regression":
        asked = {"num_labels": 1, "problem_type": "regression"}
    elif task.kind != "span":
        asked = {"num_labels": len(task.labels)}
    return getattr(transformers, _NETWORKS[task.kind]).from_pretrained(folder, local_files_only=True, **asked)


def encode(rows: pa.Table, task: Task, tokenizer: Any) -> Encoded:
    """What a network of a task is given for some rows."""
    if task.kind == "tagging":
        return _encode_tags(rows, task, tokenizer)
    if task.kind == "span":
        return _encode_spans(rows, task, tokenizer)
    texts, pairs = rows["text"].to_pylist(), rows["text_pair"].to_pylist()
    both = (texts,) if all(pair is None for pair in pairs) else (texts, pairs)
    found = tokenizer(*both, truncation=True, max_length=task.max_length, return_token_type_ids=True)
    if task.kind == "regression":
        labels: list[Any] = rows["score"].to_pylist()
    else:
        labels = [task.labels.index(label) for label in rows["label"].to_pylist()]
    inputs = [{**one, "labels": label} for one, label in zip(_each(found), labels, strict=True)]
    return Encoded(inputs=inputs, rows=list(range(len(rows))))


def _encode_tags(rows: pa.Table, task: Task, tokenizer: Any) -> Encoded:
    """Only a word's first piece has a label."""
    found = tokenizer(
        rows["tokens"].to_pylist(),
        is_split_into_words=True,
        truncation=True,
        max_length=task.max_length,
        return_token_type_ids=True,
    )
    words = [_first_pieces(found.word_ids(number)) for number in range(len(rows))]
    labels = [
        [_OUTSIDE if word is None else task.labels.index(tags[word]) for word in of_row]
        for of_row, tags in zip(words, rows["tags"].to_pylist(), strict=True)
    ]
    inputs = [{**one, "labels": label} for one, label in zip(_each(found), labels, strict=True)]
    return Encoded(inputs=inputs, rows=list(range(len(rows))), words=words)


def _first_pieces(words: list[int | None]) -> list[int | None]:
    return [None if word == before else word for before, word in zip([None, *words], words, strict=False)]


def _encode_spans(rows: pa.Table, task: Task, tokenizer: Any) -> Encoded:
    """Windows of contexts; an answer that a window has not all of is at [CLS]."""
    found = tokenizer(
        rows["question"].to_pylist(),
        rows["context"].to_pylist(),
        truncation="only_second",
        max_length=task.max_length,
        stride=task.stride,
        return_token_type_ids=True,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    owners = list(found.pop("overflow_to_sample_mapping"))
    characters = found.pop("offset_mapping")
    offsets = [
        [
            (span[0], span[1]) if part == 1 else None
            for span, part in zip(spans, found.sequence_ids(number), strict=True)
        ]
        for number, spans in enumerate(characters)
    ]
    answers = rows["answers"].to_pylist()
    inputs = []
    for one, owner, spans in zip(_each(found), owners, offsets, strict=True):
        first, last = _answer_place(answers[owner], spans)
        inputs.append({**one, "start_positions": first, "end_positions": last})
    return Encoded(inputs=inputs, rows=owners, offsets=offsets)


def _answer_place(answers: list[dict[str, Any]], spans: list[tuple[int, int] | None]) -> tuple[int, int]:
    """The first and the last token of the first answer in a window."""
    inside = [(at, span) for at, span in enumerate(spans) if span is not None]
    if not answers or not inside:
        return 0, 0
    begin, end = answers[0]["start"], answers[0]["start"] + len(answers[0]["text"])
    if inside[0][1][0] > begin or inside[-1][1][1] < end:
        return 0, 0
    first = max(at for at, span in inside if span[0] <= begin)
    last = min(at for at, span in inside if span[1] >= end)
    return first, last


def _each(found: Any) -> list[dict[str, Any]]:
    """One dictionary an input."""
    names = ("input_ids", "token_type_ids", "attention_mask")
    return [dict(zip(names, one, strict=True)) for one in zip(*(found[name] for name in names), strict=True)]


class TrainerSide:
    """A folder of weights, tuned to a task by a Trainer."""

    def __init__(self, folder: Path, task: Task, *, train: pa.Table, validation: pa.Table) -> None:
        self._folder, self._task, self._validation = folder, task, validation
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._collator = _collator(task.kind, self._tokenizer)
        self._train = encode(train, task, self._tokenizer)
        self._asked = encode(validation, task, self._tokenizer)

    def tune(self, settings: Finetuning, said: Callable[[str], None] = lambda _: None) -> TrainerTuned:
        """Train with one seed; the weights of the epoch with the best validation score are kept, the first of equals."""
        torch.set_num_threads(settings.threads)
        torch.use_deterministic_algorithms(False)
        (seed,) = settings.seeds
        transformers.set_seed(seed)
        network = load_network(self._folder, self._task)
        epochs: list[dict[str, float]] = []
        kept: dict[str, Any] = {}
        metric = self._task.metric
        judge = self._judge

        class EachEpoch(transformers.TrainerCallback):
            def on_epoch_end(self, *_: Any, **__: Any) -> None:
                scores = judge(network)
                if not epochs or scores[metric] > max(epoch[metric] for epoch in epochs):
                    kept.update(copy.deepcopy(network.state_dict()))
                epochs.append(scores)
                said(f"epoch {len(epochs)}: {scores}")

        with tempfile.TemporaryDirectory() as out:
            trainer = transformers.Trainer(
                model=network,
                args=_arguments(out, settings),
                train_dataset=self._train.inputs,
                data_collator=self._collator,
                callbacks=[EachEpoch()],
            )
            trainer.train()
        network.load_state_dict(kept)
        best = max(range(len(epochs)), key=lambda at: (epochs[at][metric], -at))
        return TrainerTuned(network=network, best_epoch=best + 1, epochs=epochs)

    def answer(self, network: Any, rows: pa.Table) -> pa.Table:
        """One answer a row."""
        return self._answers(network, rows, encode(rows, self._task, self._tokenizer))

    def _judge(self, network: Any) -> dict[str, float]:
        answers = self._answers(network, self._validation, self._asked)
        return score(self._task.kind, self._validation, answers, self._task.labels)

    def _answers(self, network: Any, rows: pa.Table, encoded: Encoded) -> pa.Table:
        logits = self._logits(network, encoded)
        columns = {"id": rows["id"], **_READERS[self._task.kind](rows, encoded, logits, self._task)}
        schema = PREDICTION_SCHEMAS[self._task.kind]
        return pa.table({name: columns[name] for name in schema.names}, schema=schema)

    def _logits(self, network: Any, encoded: Encoded) -> list[Floats]:
        """The logits of each input; those of padding are cut off where there are some for each token."""
        order = sorted(range(len(encoded.inputs)), key=lambda number: len(encoded.inputs[number]["input_ids"]))
        found: list[Floats] = [np.zeros(0, np.float32)] * len(order)
        training = network.training
        network.eval()
        with torch.inference_mode():
            for begin in range(0, len(order), _BATCH):
                numbers = order[begin : begin + _BATCH]
                given = network(**self._collator([encoded.inputs[number] for number in numbers]))
                if self._task.kind == "span":
                    logits = torch.stack([given.start_logits, given.end_logits], dim=-1).numpy()
                else:
                    logits = given.logits.numpy()
                for number, one in zip(numbers, logits, strict=True):
                    width = len(encoded.inputs[number]["input_ids"])
                    found[number] = one[:width] if self._task.kind in ("span", "tagging") else one
        network.train(training)
        return found


def _collator(kind: HeadKind, tokenizer: Any) -> Any:
    if kind == "tagging":
        return transformers.DataCollatorForTokenClassification(tokenizer)
    return transformers.DataCollatorWithPadding(tokenizer)


def _arguments(out: str, settings: Finetuning) -> Any:
    """Trainer's own defaults for all that the settings do not say."""
    (seed,) = settings.seeds
    return transformers.TrainingArguments(
        out,
        per_device_train_batch_size=settings.batch_size,
        num_train_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        warmup_steps=settings.warmup_share,  # below 1 it is a share
        max_grad_norm=settings.max_gradient_norm,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        logging_strategy="no",
        remove_unused_columns=False,
        dataloader_pin_memory=False,  # which is for other devices
        seed=seed,
    )


def _read_labels(rows: pa.Table, encoded: Encoded, logits: list[Floats], task: Task) -> dict[str, Any]:  # noqa: ARG001
    shares = torch.softmax(torch.from_numpy(np.stack(logits)), dim=-1).numpy()
    return {"label": [task.labels[at] for at in shares.argmax(axis=1)], "probabilities": shares.tolist()}


def _read_scores(rows: pa.Table, encoded: Encoded, logits: list[Floats], task: Task) -> dict[str, Any]:  # noqa: ARG001
    return {"score": np.concatenate(logits)}


def _read_tags(rows: pa.Table, encoded: Encoded, logits: list[Floats], task: Task) -> dict[str, Any]:
    """A tag a word; a word that was cut off has none."""
    tags = [["O"] * len(tokens) for tokens in rows["tokens"]]
    for row, words, of_row in zip(encoded.rows, encoded.words, logits, strict=True):
        for word, best in zip(words, of_row.argmax(axis=1), strict=True):
            if word is not None:
                tags[row][word] = task.labels[best]
    return {"tags": tags}


def _read_spans(rows: pa.Table, encoded: Encoded, logits: list[Floats], task: Task) -> dict[str, Any]:
    """The best span of each row, over its windows."""
    best: list[tuple[float, int, int]] = [(-np.inf, 0, 0)] * len(rows)
    for row, spans, of_window in zip(encoded.rows, encoded.offsets, logits, strict=True):
        inside = [at for at, span in enumerate(spans) if span is not None]
        if not inside:
            continue
        start, end = of_window[inside[0] : inside[-1] + 1].T
        sums = start[:, None] + end[None, :]
        allowed = np.triu(np.ones_like(sums, dtype=bool)) & ~np.triu(
            np.ones_like(sums, dtype=bool), task.max_answer_length
        )
        sums[~allowed] = -np.inf
        first, last = np.unravel_index(int(sums.argmax()), sums.shape)
        begins, ends = spans[inside[int(first)]], spans[inside[int(last)]]
        assert begins is not None
        assert ends is not None
        best[row] = max(best[row], (float(sums[first, last]), begins[0], ends[1]), key=lambda one: one[0])
    contexts = rows["context"].to_pylist()
    return {
        "text": [context[begin:end] for context, (_, begin, end) in zip(contexts, best, strict=True)],
        "start": [begin for _, begin, _ in best],
        "end": [end for _, _, end in best],
        "score": [value for value, _, _ in best],
    }


_READERS: Final[dict[str, Callable[[pa.Table, Encoded, list[Floats], Task], dict[str, Any]]]] = {
    "classification": _read_labels,
    "regression": _read_scores,
    "tagging": _read_tags,
    "span": _read_spans,
}
