"""Each item's deps in dvc.yaml cover the files that its process runs."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.write_deps import code_deps
from stemma.code import closure

ROOT = Path(__file__).parents[2]


def items() -> list[tuple[str, str, list[str]]]:
    """Every item of the graph: its name, its family if it has one, and its deps as DVC would resolve them."""
    document = yaml.safe_load((ROOT / "dvc.yaml").read_text())
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())
    found = []
    for name, stage in document["stages"].items():
        if "foreach" not in stage:
            found.append((name, "", stage["deps"]))
            continue
        for key, item in settings[stage["foreach"].strip("${}")].items():
            deps = [resolve(dep, key, item) for dep in stage["do"]["deps"]]
            found.append((f"{name}@{key}", item.get("family", ""), deps))
    return found


def resolve(text: str, key: str, item: dict[str, Any]) -> str:
    return re.sub(r"\$\{item\.(\w+)\}", lambda match: str(item[match[1]]), text.replace("${key}", key))


@pytest.mark.parametrize(("name", "family", "deps"), items(), ids=lambda value: value if isinstance(value, str) else "")
def test_an_items_deps_cover_the_closure_of_its_imports(name: str, family: str, deps: list[str]) -> None:
    modules = [f"stemma.stages.{name.partition('@')[0]}"]
    if family:
        modules.append(f"stemma.families.{family}")
    needed = {file.relative_to(ROOT).as_posix() for file in closure(*modules)}
    assert needed - set(deps) == set(), "run `make deps`"


@pytest.mark.parametrize(("name", "family", "deps"), items(), ids=lambda value: value if isinstance(value, str) else "")
def test_an_item_depends_on_no_other_familys_file(name: str, family: str, deps: list[str]) -> None:
    if not family:
        return
    others = {f"src/stemma/families/{other}.py" for other in ("bert", "ngram")} - {f"src/stemma/families/{family}.py"}
    assert not others & set(deps)


def test_the_deps_are_those_that_make_deps_writes() -> None:
    document = yaml.safe_load((ROOT / "dvc.yaml").read_text())
    for name, stage in document["stages"].items():
        written = [dep for dep in stage.get("do", stage)["deps"] if dep.startswith("src/")]
        assert written == code_deps(name), f"{name}: run `make deps`"


def test_a_forgotten_dep_would_be_found() -> None:
    """The closure is not empty, and holds what a stage imports through another module."""
    names = {file.name for file in closure("stemma.stages.pretrain", "stemma.families.bert")}
    assert {"pretrain.py", "bert.py", "loop.py", "checkpoint.py", "token_store.py"} <= names
