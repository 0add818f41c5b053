"""Write the parts of README.md that the code knows better: tree, stages, command line, results. `--check` only compares.

Each part stands between `<!-- NAME -->` and `<!-- /NAME -->`.
"""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
METRICS = ROOT / "reports" / "evaluation" / "metrics.json"
TOP = {
    "dvc.yaml": "the graph: the only place where files meet stages",
    "params.yaml": "every setting that changes a result",
    "profiles/": "the same settings at other scales",
    "data/": "stage outputs, versioned by DVC",
    "flows/": "",
    "src/stemma/": "",
    "tests/": "unit, reference, contract, pipeline, faults",
    "scripts/": "",
    "docs/": "results and decisions",
}
LISTED = ("flows/", "src/stemma/", "scripts/")


def main() -> int:
    """Rewrite README.md, or say which parts are stale."""
    path = ROOT / "README.md"
    text = old = path.read_text(encoding="utf-8")
    for name, write in PARTS.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not pattern.search(text):
            raise SystemExit(f"README.md: no <!-- {name} --> … <!-- /{name} -->")
        body = write()
        text = pattern.sub(lambda match, body=body: f"{match[1]}{body}\n{match[2]}", text)  # type: ignore[misc]
    if "--check" in sys.argv:
        print("README.md is stale; run `make docs`" if text != old else "README.md agrees with the code")
        return int(text != old)
    path.write_text(text, encoding="utf-8")
    return 0


def tree() -> str:
    """The tree, with the first line of each module's docstring."""
    rows: list[tuple[str, str]] = []
    for name, purpose in TOP.items():
        rows.append((name, purpose or _docstring(ROOT / name / "__init__.py")))
        if name in LISTED:
            rows.extend(_modules(ROOT / name, 1))
    width = max(len(name) for name, _ in rows) + 2
    return "```\n" + "\n".join(f"{name:<{width}}{purpose}".rstrip() for name, purpose in rows) + "\n```"


def stages() -> str:
    """The stages of dvc.yaml: what each makes, from what, under which settings."""
    lines = ["| stage | makes | from | settings |", "|---|---|---|---|"]
    for name, stage in yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"].items():
        body = stage.get("do", stage)
        title = f"`{name}@…`" if "do" in stage else f"`{name}`"
        outs = [next(iter(out)) if isinstance(out, dict) else out for out in body["outs"]]
        deps = [dep for dep in body["deps"] if not dep.startswith("src/")]
        cells = [_paths(outs), _paths(deps), _paths(body.get("params", []))]
        lines.append(f"| {title}<br>{body['desc']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def command_line() -> str:
    """What `stemma --help` prints."""
    environment = {**os.environ, "COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb", "TTY_COMPATIBLE": "0"}
    shown = subprocess.run(
        [sys.executable, "-m", "stemma", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=ROOT,
    )
    return "```\n" + "\n".join(line.rstrip() for line in shown.stdout.strip().splitlines()) + "\n```"


def results() -> str:
    """The table of the last evaluation."""
    from stemma.tasks.report import results_table

    return results_table(METRICS)


def _modules(folder: Path, depth: int) -> Iterator[tuple[str, str]]:
    indent = "  " * depth
    for path in sorted(folder.iterdir()):
        if path.is_dir() and (path / "__init__.py").exists():
            yield f"{indent}{path.name}/", _docstring(path / "__init__.py")
            yield from _modules(path, depth + 1)
        elif path.suffix == ".py" and path.name != "__init__.py":
            yield f"{indent}{path.name}", _docstring(path)


def _docstring(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) if path.exists() else None
    return (text or "").split("\n", maxsplit=1)[0]


def _paths(values: list[str]) -> str:
    return " ".join(f"`{value}`" for value in values)


PARTS: dict[str, Callable[[], str]] = {"results": results, "tree": tree, "stages": stages, "help": command_line}

if __name__ == "__main__":
    sys.exit(main())
