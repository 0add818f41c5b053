"""Write each stage's code deps into dvc.yaml: the closure of its imports. `--check` only compares.

A stage that expands over families names its own family's folder as `families/${item.family}`; `evaluate` reads all of them.
"""

import sys
from pathlib import Path

from ruamel.yaml import YAML

from stemma.code import closure
from stemma.families import families, family_module

ROOT = Path(__file__).resolve().parent.parent
PER_FAMILY = {"pretrain", "transfer", "finetune"}
ALL_FAMILIES = {"evaluate"}
FOLDER = "src/stemma/families"


def main() -> int:
    """Rewrite dvc.yaml, or say which stages' deps are not what their imports ask for."""
    path = ROOT / "dvc.yaml"
    yaml = YAML()
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    document = yaml.load(path.read_text(encoding="utf-8"))
    stale = []
    for name, stage in document["stages"].items():
        body = stage.get("do", stage)
        wanted = code_deps(name) + [dep for dep in body.get("deps", []) if not str(dep).startswith("src/")]
        if list(body.get("deps", [])) != wanted:
            stale.append(name)
            body["deps"] = wanted
    if "--check" in sys.argv:
        print(
            f"code deps are stale in dvc.yaml: {', '.join(stale)}; run `make deps`" if stale else "code deps are right"
        )
        return 1 if stale else 0
    with path.open("w", encoding="utf-8") as file:
        yaml.dump(document, file)
    print(f"dvc.yaml: rewrote {', '.join(stale) or 'nothing'}")
    return 0


def code_deps(stage: str) -> list[str]:
    """A stage's source files, as dvc.yaml names them."""
    files = {_relative(file) for file in closure(f"stemma.stages.{stage}")}
    if stage in PER_FAMILY | ALL_FAMILIES:
        files |= {_relative(file) for family in families() for file in closure(family_module(family))}
    if stage in PER_FAMILY:
        own = {file for file in files if file.rpartition("/")[0] in {f"{FOLDER}/{family}" for family in families()}}
        files = (files - own) | {f"{FOLDER}/${{item.family}}"}
    if stage in ALL_FAMILIES:
        files = {file for file in files if not file.startswith(f"{FOLDER}/")} | {FOLDER}
    return sorted(files)


def _relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    sys.exit(main())
