"""The public surface: every module's `__all__` names what is there, every error has its place in the drawn tree."""

import ast
import inspect
from pathlib import Path

import pytest

from stemma import errors

SOURCE = Path(__file__).resolve().parents[2] / "src" / "stemma"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__main__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_all_is_what_the_module_defines(path: Path) -> None:
    tree = ast.parse(path.read_text())
    exported = next(
        (
            {constant.value for constant in ast.walk(node.value) if isinstance(constant, ast.Constant)}
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        ),
        None,
    )
    public = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_") and path.name != "cli.py"
    }
    if not public and exported is None:
        return
    assert exported is not None, "no __all__"
    defined = {name for node in ast.walk(tree) for name in _names(node)}
    assert exported <= defined
    assert public <= exported


def _names(node: ast.AST) -> set[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name):
            return {name}
        case _:
            return set()


def test_every_error_is_drawn_in_the_tree() -> None:
    assert errors.__doc__ is not None
    for name, error in inspect.getmembers(errors, inspect.isclass):
        assert name in errors.__doc__
        assert issubclass(error, errors.StemmaError)
        assert error.__doc__
