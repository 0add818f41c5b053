"""What goes to the GLUE server and to SQuAD's scripts: files of predictions, and whether a file is what they accept.

GLUE wants a table a task, `index` and `prediction`, with the labels spelled as its training files have them, STS-B's scores as
numbers, and every index of the test file once. SQuAD wants one JSON object, from every question's id to the answer's text, which
is empty where there is none.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from stemma.data.compression import open_binary
from stemma.data.lines import read_lines
from stemma.errors import InputError
from stemma.files import write_text
from stemma.tasks.known import KNOWN, KnownTask

__all__ = ["GLUE", "SQUAD", "GlueFile", "check_answers_file", "check_glue", "spell", "write_answers", "write_glue"]

_HEADER: Final = "index\tprediction"


@dataclass(frozen=True, kw_only=True)
class GlueFile:
    """A file of a submission."""

    format: str  # the known task that its test file is of
    rows: int
    numbers: bool  # whether labels are spelled as numbers

    @property
    def known(self) -> KnownTask:
        """The task."""
        return KNOWN[self.format]

    def labels(self) -> dict[str, str]:
        """How each label of ours is spelled there."""
        if not self.numbers:
            return {label: label for label in self.known.labels}
        return {label: number for number, label in self.known.label_names.items()}


def _glue(format_name: str, test: str = "test", *, numbers: bool = False) -> GlueFile:
    return GlueFile(format=format_name, rows=KNOWN[format_name].rows[test], numbers=numbers)


GLUE: Final[dict[str, GlueFile]] = {
    "CoLA": _glue("cola", numbers=True),
    "SST-2": _glue("sst-2", numbers=True),
    "MRPC": _glue("mrpc", numbers=True),
    "STS-B": _glue("sts-b"),
    "QQP": _glue("qqp", numbers=True),
    "MNLI-m": _glue("mnli", "test_matched"),
    "MNLI-mm": _glue("mnli", "test_mismatched"),
    "QNLI": _glue("qnli"),
    "RTE": _glue("rte"),
    "WNLI": _glue("wnli", numbers=True),
    "AX": _glue("ax"),
}
SQUAD: Final = ("squad-1.1", "squad-2.0")


def spell(name: str, predictions: pa.Table) -> dict[str, str]:
    """A model's predictions as GLUE spells them, by index."""
    ids, glue = predictions["id"].to_pylist(), GLUE[name]
    if glue.known.kind == "regression":
        scores: list[float] = predictions["score"].to_pylist()
        return {key: f"{min(max(score, 0.0), 5.0):.6f}" for key, score in zip(ids, scores, strict=True)}
    labels, given = glue.labels(), predictions["label"].to_pylist()
    return {key: labels[label] for key, label in zip(ids, given, strict=True)}


def write_glue(name: str, spelled: Mapping[str, str], folder: Path) -> Path:
    """Write a file of a submission, in the order of the indices, once it is found to be one."""
    path = folder / f"{name}.tsv"
    lines = [f"{key}\t{spelled[key]}" for key in sorted(spelled, key=_position)]
    write_text(path, "\n".join([_HEADER, *lines]) + "\n")
    try:
        check_glue(path)
    except InputError:
        path.unlink()
        raise
    return path


def check_glue(path: Path) -> int:
    """Refuse what the GLUE server would not accept, by line; how many predictions there are."""
    name = path.name.removesuffix(".tsv")
    if name not in GLUE:
        raise InputError(f"{path}: GLUE has no such file; its names are {', '.join(f'{one}.tsv' for one in GLUE)}")
    glue, seen = GLUE[name], set[int]()
    good = _check_score if glue.known.kind == "regression" else _check_label(set(glue.labels().values()))
    for number, line in read_lines(path, str(path)):
        where = f"{path}:{number}"
        if number == 1:
            if line != _HEADER:
                raise InputError(f"{where}: the first line is {line!r}, expected 'index<tab>prediction'")
            continue
        fields = line.split("\t")
        if len(fields) != 2:
            raise InputError(f"{where}: {len(fields)} columns, expected 2")
        index = _position(fields[0])
        if not fields[0].isdecimal() or index >= glue.rows or index in seen:
            problem = "stands there twice" if index in seen else f"is none of 0 to {glue.rows - 1}"
            raise InputError(f"{where}: index {fields[0]!r} {problem}")
        good(fields[1], where)
        seen.add(index)
    if len(seen) != glue.rows:
        missing = next(index for index in range(glue.rows) if index not in seen)
        raise InputError(
            f"{path}: {len(seen):,} predictions, expected {glue.rows:,}; the first missing index is {missing}"
        )
    return len(seen)


def write_answers(predictions: pa.Table, path: Path, questions: Mapping[str, str], *, unanswerable: bool) -> Path:
    """Write the answers to SQuAD's questions, once the file is found to be what `check_answers_file` accepts."""
    answers = dict(zip(predictions["id"].to_pylist(), predictions["text"].to_pylist(), strict=True))
    write_text(path, json.dumps(answers, ensure_ascii=False, indent=0) + "\n")
    try:
        check_answers_file(path, questions, unanswerable=unanswerable)
    except InputError:
        path.unlink()
        raise
    return path


def check_answers_file(path: Path, questions: Mapping[str, str], *, unanswerable: bool) -> int:
    """Refuse what SQuAD's scripts would not score: `questions` has the context of each id; how many answers there are."""
    with open_binary(path, str(path)) as file:
        data = file.read()
    try:
        answers = json.loads(data)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(answers, dict) or not all(isinstance(text, str) for text in answers.values()):
        raise InputError(f"{path}: expected one object from ids to texts")
    for key, text in answers.items():
        if key not in questions:
            raise InputError(f"{path}: {key!r} is no question's id")
        if text not in questions[key]:
            raise InputError(f"{path}: the answer to {key!r}, {text!r}, does not stand in its context")
        if not text and not unanswerable:
            raise InputError(f"{path}: the answer to {key!r} is empty, but every question has one")
    missing = next((key for key in questions if key not in answers), None)
    if missing is not None:
        raise InputError(f"{path}: {len(answers):,} answers to {len(questions):,} questions; {missing!r} has none")
    return len(answers)


def _position(index: str) -> int:
    return int(index) if index.isdecimal() else -1


def _check_label(allowed: set[str]) -> Callable[[str, str], None]:
    def check(prediction: str, where: str) -> None:
        if prediction not in allowed:
            raise InputError(f"{where}: prediction {prediction!r}, expected one of {', '.join(sorted(allowed))}")

    return check


def _check_score(prediction: str, where: str) -> None:
    try:
        score = float(prediction)
    except ValueError:
        score = math.nan
    if not 0 <= score <= 5:
        raise InputError(f"{where}: prediction {prediction!r}, expected a number from 0 to 5")
