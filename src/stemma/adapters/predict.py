"""`stemma predict`: answers to a file of questions, by a model in a folder or in the registry, without a server."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, TextIO

from stemma.adapters.questions import ask
from stemma.data.lines import read_json_lines
from stemma.errors import InputError
from stemma.files import MANIFEST, atomic_path

__all__ = ["model_folder", "predict_file"]

_ROWS: Final = 256  # held at once
_REGISTRY: Final = "models:/"


def predict_file(model: str, input: Path | None, output: Path | None) -> None:  # noqa: A002 - as the user calls them
    """Answer every line of a JSON lines file (None: standard input) with a line of `output` (None: standard output)."""
    from stemma.tasks.predictor import load_predictor

    name = "standard input" if input is None else str(input)
    lines = read_json_lines(input or Path("/dev/stdin"), name)
    first = next(lines, None)  # a missing or malformed file is said before a model is loaded
    if first is None:
        raise InputError(f"{name}: no rows")
    with model_folder(model) as folder:
        predictor = load_predictor(folder)
        with _open_output(output) as file:
            rows = None if predictor.task.document_context else _ROWS  # no document must be cut in two
            for batch in _batches(first, lines, rows):
                where = [f"{name}:{number}" for number, _ in batch]
                records = [{"id": number, **record} for number, record in batch]
                for answer in ask(predictor.predict, predictor.kind, records, where).to_pylist():
                    file.write(json.dumps(answer, ensure_ascii=False) + "\n")


@contextmanager
def model_folder(model: str) -> Iterator[Path]:
    """The folder of a fine-tuned model: itself, or what the registry has under `models:/name@alias` or `models:/name/3`."""
    if model.startswith(_REGISTRY):
        from stemma.adapters.registry import Registry

        with Registry().download(model) as folder:
            yield folder
        return
    folder = Path(model)
    if not folder.is_dir():
        raise InputError(f"{model}: no such folder; name one, or a model of the registry as models:/NAME@champion")
    if not (folder / "task.json").is_file() or not (folder / MANIFEST).is_file():
        seeds = sorted(path.name for path in folder.glob("seed-*"))
        hint = f"choose one of {', '.join(seeds)} in it" if seeds else "a fine-tuned model has a task.json"
        raise InputError(f"{model}: not a model that answers; {hint}")
    yield folder


def _batches(
    first: tuple[int, dict[str, Any]], lines: Iterator[tuple[int, dict[str, Any]]], rows: int | None
) -> Iterator[Any]:
    lines = chain([first], lines)
    while batch := list(islice(lines, rows)):
        yield batch


@contextmanager
def _open_output(path: Path | None) -> Iterator[TextIO]:
    """A file that appears whole or not at all, or standard output."""
    if path is None:
        yield sys.stdout
        return
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        yield file
