"""A fine-tuned model as a folder that MLflow can register, load and serve: weights, code, signature, example, card."""

import importlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

import stemma
from stemma.adapters.questions import FIELDS
from stemma.errors import ReleaseError
from stemma.files import write_text
from stemma.protocols import HeadKind
from stemma.tasks.base import PREDICTION_SCHEMAS, ROW_SCHEMAS

__all__ = ["difference", "load_back", "pack", "to_frame"]

_PACKAGE: Final = Path(stemma.__file__).parent
_CODE: Final = _PACKAGE / "adapters" / "served_model.py"
_NEEDED: Final = ("mlflow", "numpy", "pandas", "pyarrow", "safetensors", "tokenizers", "torch", "transformers")


def pack(model_dir: Path, kind: HeadKind, example: pa.Table, card: str, lock: Path, out: Path) -> None:
    """Write a model in MLflow's format, with this package's code as it is now, so that it stays loadable."""
    readme = out.with_name("README.md")
    write_text(readme, card)
    with _pyfunc() as pyfunc:
        pyfunc.save_model(
            str(out),
            python_model=str(_CODE),
            artifacts={"model": str(model_dir), "card": str(readme)},
            code_paths=[str(_PACKAGE)],
            signature=_signature(kind),
            input_example=to_frame(kind, example),
            pip_requirements=_requirements(lock),
        )
    pickles = [path.name for path in out.rglob("*") if path.suffix in {".pkl", ".pickle", ".pt", ".bin"}]
    if pickles:
        raise ReleaseError(f"{model_dir}: {', '.join(pickles)} may hold pickles; weights must be safetensors")


def to_frame(kind: HeadKind, rows: pa.Table) -> Any:
    """Rows of a task as the data frame that a served model is asked with."""
    import pandas as pd

    columns = {name: rows[name].to_pylist() for name in ("id", *FIELDS[kind])}
    given = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    return pd.DataFrame(given)


def load_back(uri: str, kind: HeadKind, rows: pa.Table) -> pa.Table:
    """The answers of a model as MLflow loads it."""
    with _pyfunc() as pyfunc:
        answers = pyfunc.load_model(uri).predict(to_frame(kind, rows))
    return pa.Table.from_pylist(answers.to_dict("records"), schema=PREDICTION_SCHEMAS[kind])


def difference(expected: pa.Table, given: pa.Table) -> str:
    """The first answer that is not the same, to the bit, in words; empty when all are."""
    if expected.num_rows != given.num_rows:
        return f"{given.num_rows} answers instead of {expected.num_rows}"
    for row, (one, other) in enumerate(zip(expected.to_pylist(), given.to_pylist(), strict=True)):
        if one != other:
            return f"row {row}: {other} instead of {one}"
    return ""


@contextmanager
def _pyfunc() -> Iterator[Any]:
    """MLflow's module for models of any kind, without its advice, and with the search path put back afterwards."""
    before = list(sys.path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on types of MLflow's own that it can't infer
            yield importlib.import_module("mlflow.pyfunc")
    finally:
        sys.path[:] = before  # MLflow puts a model's own code first, for good


def _signature(kind: HeadKind) -> Any:
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema
    from mlflow.types.schema import Array

    def kind_of(field: pa.Field) -> Any:
        names = {pa.string(): "string", pa.int32(): "integer", pa.float32(): "float"}
        if pa.types.is_list(field.type):
            return Array(DataType[names[field.type.value_type]])
        return names[field.type]

    asked: list[Any] = [ColSpec("string", "id", required=False)]
    for name, required in FIELDS[kind].items():
        asked.append(ColSpec(kind_of(ROW_SCHEMAS[kind].field(name)), name, required=required))
    answered: list[Any] = [ColSpec(kind_of(field), field.name) for field in PREDICTION_SCHEMAS[kind]]
    return ModelSignature(inputs=Schema(asked), outputs=Schema(answered))


def _requirements(lock: Path) -> Sequence[str]:
    """What the model needs: the lock's pins, or, without a lock, the versions that are installed."""
    if not lock.is_file():
        return [f"{name}=={version(name).partition('+')[0]}" for name in _NEEDED]
    lines = (line.strip() for line in lock.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]
