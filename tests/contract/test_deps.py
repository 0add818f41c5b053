"""Each item's deps in dvc.yaml cover the files that its process runs."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.write_deps import code_deps
from stemma.code import closure
from stemma.families import family_module

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
        modules.append(family_module(family))
    needed = [file.relative_to(ROOT) for file in closure(*modules)]
    covered = {Path(dep) for dep in deps}
    assert [file for file in needed if not covered & {file, *file.parents}] == [], "run `make deps`"


@pytest.mark.parametrize(("name", "family", "deps"), items(), ids=lambda value: value if isinstance(value, str) else "")
def test_an_item_depends_on_no_other_familys_files(name: str, family: str, deps: list[str]) -> None:
    if not family:
        return
    folders = {dep for dep in deps if "families/" in dep and not dep.endswith(("__init__.py", "base.py"))}
    assert folders == {f"src/stemma/families/{family}"}


def test_the_deps_are_those_that_make_deps_writes() -> None:
    document = yaml.safe_load((ROOT / "dvc.yaml").read_text())
    for name, stage in document["stages"].items():
        written = [dep for dep in stage.get("do", stage)["deps"] if dep.startswith("src/")]
        assert written == code_deps(name), f"{name}: run `make deps`"


def test_a_forgotten_dep_would_be_found() -> None:
    """The closure is not empty, and holds what a stage imports through another module."""
    names = {file.name for file in closure("stemma.stages.pretrain", "stemma.families.bert.family")}
    assert {"pretrain.py", "family.py", "network.py", "loop.py", "checkpoint.py", "token_store.py"} <= names
