"""What MLflow serves: this file and a folder of safetensors weights, no pickle.

MLflow copies the file into the model and runs it when it loads the model (models from code), so the last line registers.
"""

from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from stemma.adapters.questions import ask
from stemma.tasks.predictor import load_predictor

__all__ = ["ServedModel"]


class ServedModel(PythonModel):
    """A fine-tuned model that answers the rows of a data frame."""

    def load_context(self, context: Any) -> None:
        """Load the weights, checked against their manifest."""
        self._predictor = load_predictor(Path(context.artifacts["model"]))

    def predict(self, model_input: pd.DataFrame) -> pd.DataFrame:  # type: ignore[override] # MLflow allows both forms
        """An answer for every row, in order."""
        records: list[dict[str, Any]] = model_input.to_dict("records")  # type: ignore[assignment] # names are text
        where = [f"row {number}" for number in range(1, len(records) + 1)]
        answers = ask(self._predictor.predict, self._predictor.kind, records, where)
        return pd.DataFrame(answers.to_pylist(), columns=answers.column_names)


set_model(ServedModel())
