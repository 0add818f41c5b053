"""The lectures' worked examples, each a module whose `explain` tells it line by line, computed by the project's own code.

Tests in `tests/reference/` pin what they say to the figures of the lectures.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stemma.errors import InputError

__all__ = ["draw", "explain", "lessons"]


def lessons() -> list[str]:
    """The names of all worked examples."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def explain(name: str) -> Iterator[str]:
    """Tell a worked example, line by line."""
    lines: Iterator[str] = _module(name).explain()
    return lines


def draw(name: str, path: Path) -> None:
    """Write the plot of a worked example that has one."""
    module = _module(name)
    if not hasattr(module, "draw"):
        raise InputError(f"the worked example {name!r} has no plot")
    module.draw(path)


def _module(name: str) -> Any:
    if name not in lessons():
        raise InputError(f"no worked example {name!r}; there are {', '.join(lessons())}")
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
