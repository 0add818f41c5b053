"""The lectures' worked examples, each a module whose `explain` tells it line by line, computed by the project's own code.

Tests in `tests/reference/` pin what they say to the figures of the lectures.
"""

import importlib
import pkgutil
from collections.abc import Iterator

from stemma.errors import InputError

__all__ = ["explain", "lessons"]


def lessons() -> list[str]:
    """The names of all worked examples."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def explain(name: str) -> Iterator[str]:
    """Tell a worked example, line by line."""
    if name not in lessons():
        raise InputError(f"no worked example {name!r}; there are {', '.join(lessons())}")
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    lines: Iterator[str] = module.explain()
    return lines
