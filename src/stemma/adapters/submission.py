"""`stemma submission`: a model's answers to an unlabelled test file, as the GLUE server or SQuAD's scripts want them."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from stemma.adapters.predict import model_folder
from stemma.data.input_files import InputFile
from stemma.errors import InputError, SettingsError
from stemma.tasks.base import ANSWERS, ROW_SCHEMAS
from stemma.tasks.known import KNOWN, known_layout
from stemma.tasks.loaders import read_file
from stemma.tasks.submission import (
    GLUE,
    SQUAD,
    check_answers_file,
    check_glue,
    spell,
    write_answers,
    write_glue,
)

if TYPE_CHECKING:
    from stemma.tasks.predictor import Predictor

__all__ = ["check_submission", "make_submission"]

_ROWS: Final = 1000  # held at once
_ANSWERS_FILE: Final = "predictions.json"


def make_submission(name: str, model: str, file: Path, folder: Path) -> Path:
    """Answer every row of a test file and write the file that is to be sent."""
    from stemma.tasks.predictor import load_predictor

    format_name = _format(name)
    tables = _questions(format_name, file)
    first = next(tables, None)  # a missing or malformed file is said before a model is loaded
    if first is None:
        raise InputError(f"{file}: no rows")
    with model_folder(model) as found:
        predictor = load_predictor(found)
        _check_model(name, format_name, predictor, model)
        answers = pa.concat_tables([predictor.predict(first), *(predictor.predict(table) for table in tables)])
    folder.mkdir(parents=True, exist_ok=True)
    if name in SQUAD:
        contexts = {row["id"]: row["context"] for row in _rows(format_name, file, answers=False)}
        return write_answers(answers, folder / _ANSWERS_FILE, contexts, unanswerable=name == "squad-2.0")
    return write_glue(name, spell(name, answers), folder)


def check_submission(path: Path, questions: Path | None) -> int:
    """Refuse a file that would not be accepted; how many predictions there are."""
    if path.suffix == ".tsv":
        return check_glue(path)
    if questions is None:
        raise InputError(f"{path}: name the file of questions that it answers with --questions, such as dev-v1.1.json")
    contexts, unanswerable = {}, False
    for row in _rows("squad-2.0", questions, answers=True):
        contexts[row["id"]] = row["context"]
        unanswerable |= not row["answers"]
    return check_answers_file(path, contexts, unanswerable=unanswerable)


def _format(name: str) -> str:
    if name in SQUAD:
        return name
    if name not in GLUE:
        raise SettingsError(f"{name}: no such file of a submission; there are {', '.join((*GLUE, *SQUAD))}")
    return GLUE[name].format


def _check_model(name: str, format_name: str, predictor: "Predictor", model: str) -> None:
    known = KNOWN[format_name]
    if predictor.kind != known.kind or set(predictor.labels) != set(known.labels):
        wanted = f"{known.kind} with the labels {', '.join(known.labels)}" if known.labels else known.kind
        raise InputError(f"{model}: tuned for {predictor.task_name!r}, but {name} needs {wanted}")


def _questions(format_name: str, file: Path) -> Iterator[pa.Table]:
    kind = KNOWN[format_name].kind
    schema = pa.schema([field for field in ROW_SCHEMAS[kind] if field.name != ANSWERS[kind]])
    rows = _rows(format_name, file, answers=False)
    while group := list(islice(rows, _ROWS)):
        yield pa.Table.from_pylist([{"document": "", **row} for row in group], schema=schema)


def _rows(format_name: str, file: Path, *, answers: bool) -> Iterator[dict[str, Any]]:
    known = KNOWN[format_name]
    layout = known_layout(known, file.name, answers=answers)
    return read_file(InputFile(file, str(file)), layout, known.kind, _refuse)


def _refuse(where: str, why: str) -> None:
    raise InputError(f"{where}: {why}; every row of a test file must be answered")
