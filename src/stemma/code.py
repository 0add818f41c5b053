"""Which source files a stage runs: the closure of its imports, found without importing anything.

A stage's `deps` in `dvc.yaml` must cover it (a contract test compares them, `make deps` writes them), and its digest is
part of a checkpoint's key, so that an edited loss never goes on from an old checkpoint.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import grimp

from stemma.files import digest_tree

__all__ = ["closure", "code_digest"]

_PACKAGE = Path(__file__).parent


@cache
def closure(*modules: str) -> tuple[Path, ...]:
    """The files of some `stemma` modules and of every `stemma` module that they import, directly or not, sorted."""
    graph = _import_graph()
    names = set(modules)
    for module in modules:
        names |= graph.find_upstream_modules(module)
    names |= {parent for name in names for parent in _parents(name)}
    return tuple(sorted(_file(name) for name in names))


def code_digest(modules: Iterable[str]) -> str:
    """One sha256 over the closure of `modules`."""
    return digest_tree(closure(*sorted(modules)))


@cache
def _import_graph() -> grimp.ImportGraph:
    return grimp.build_graph("stemma", cache_dir=None)


def _parents(name: str) -> Iterable[str]:
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts)))


def _file(name: str) -> Path:
    path = _PACKAGE.joinpath(*name.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
