"""The end of a run: a short table of the results, and the commands that open the pages."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["PAGES", "print_results", "read_results"]

METRICS = Path("reports/evaluation/metrics.json")
PAGES = (
    ("MLflow UI", "mlflow ui --host 127.0.0.1 --backend-store-uri sqlite:///.stemma/mlflow.db"),
    ("Prefect UI", "PREFECT_HOME=.stemma/prefect prefect server start"),
    ("Data Docs", "stemma docs"),
)
_MAX_ROWS = 40


def read_results(root: Path) -> list[dict[str, Any]]:
    """The metrics as rows: one for every innermost group of figures, named by the way to it."""
    try:
        metrics = json.loads((root / METRICS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return _rows(metrics, ())


def print_results(root: Path, console: Console) -> None:
    """Print the rows, then how to see more."""
    rows = read_results(root)
    if rows:
        columns = list(dict.fromkeys(column for row in rows for column in row))
        table = Table(title="Results", title_justify="left")
        for column in columns:
            table.add_column(column.replace("_", " "), justify="left" if column == "what" else "right")
        for row in rows[:_MAX_ROWS]:
            table.add_row(*(_shown(row.get(column)) for column in columns))
        console.print(table)
    for title, command in PAGES:
        console.print(f"{title + ':':<12}{command}", highlight=False, soft_wrap=True)


def _rows(value: dict[str, Any], way: tuple[str, ...]) -> list[dict[str, Any]]:
    figures = {name: item for name, item in value.items() if not isinstance(item, dict)}
    rows = [{"what": " ".join(way), **figures}] if figures else []
    for name, item in value.items():
        if isinstance(item, dict):
            rows += _rows(item, (*way, name))
    return rows


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, list):
        return " to ".join(_shown(item) for item in value) if len(value) == 2 else f"{len(value)} values"
    return "" if value is None else str(value)
