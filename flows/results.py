"""The end of a run: a short table of the results, and the commands that open the pages."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console

__all__ = ["PAGES", "print_results", "read_results"]

METRICS = Path("reports/evaluation/metrics.json")
PAGES = (
    ("MLflow UI", "mlflow ui --host 127.0.0.1 --backend-store-uri sqlite:///.stemma/mlflow.db"),
    ("Prefect UI", 'PREFECT_HOME="$PWD/.stemma/prefect" prefect server start'),
    ("Data Docs", "stemma docs"),
    ("Leaderboard", "stemma leaderboard, or open reports/leaderboard.html"),
)


def read_results(root: Path) -> list[dict[str, Any]]:
    """The metrics as rows: one for every innermost group of figures, named by the way to it."""
    try:
        metrics = json.loads((root / METRICS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return _rows(metrics, ())


def print_results(root: Path, console: Console) -> None:
    """Print the tables of the scores, then how to see more."""
    if (root / METRICS).exists():
        from stemma.tasks.report import console_tables

        for table in console_tables(root / METRICS):
            console.print(table)
    for title, command in PAGES:
        console.print(f"{title + ':':<13}{command}", highlight=False, soft_wrap=True)


def _rows(value: dict[str, Any], way: tuple[str, ...]) -> list[dict[str, Any]]:
    figures = {name: item for name, item in value.items() if not isinstance(item, dict)}
    rows = [{"what": " ".join(way), **figures}] if figures else []
    for name, item in value.items():
        if isinstance(item, dict):
            rows += _rows(item, (*way, name))
    return rows
