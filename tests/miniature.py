"""A project in miniature: a git and DVC repository whose stages take no time, for tests of what is true of any graph.

Its settings lie in mini.yaml; params.yaml is the project's own.

source -> side@slow -> both -> end
       -> side@quick -^
       -> alone
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from stemma.adapters import dvc

CODE = Path(__file__).parent.parent
WORK = '''
"""What every stage runs: python work.py NAME OUT INPUT..."""
import os, pathlib, sys, time
import yaml
from stemma.fence import die_with_parent
from stemma.progress import open_progress

die_with_parent()
name, out, *inputs = sys.argv[1:]
settings = yaml.safe_load(pathlib.Path("mini.yaml").read_text())
how = (settings["sides"] | settings["stages"]).get(name, {})
trace = pathlib.Path(".stemma/trace.log")
trace.parent.mkdir(exist_ok=True)
with trace.open("a") as file:
    print("start", name, os.getpid(), time.time(), os.environ.get("STEMMA_RUN_ID", "-"), file=file, flush=True)
print(f"this is {name} speaking", flush=True)
with open_progress(os.environ["DVC_STAGE"]) as progress:
    progress.start("waiting", 20, "turns")
    for turn in range(20):
        time.sleep(how.get("sleep", 0) / 20)
        progress.update(turn + 1, {"loss": 1 / (turn + 1)})
first, _, then = os.environ.get("MINI_ORDER", "").partition(" ")  # which of two that run side by side ends first
while name == then and f"end {first} " not in trace.read_text():
    time.sleep(0.02)
if "exit" in how:
    print(how.get("say", f"stemma: {name} can't"), file=sys.stderr)
    if not how.get("once") or not pathlib.Path(f".stemma/failed-{name}").exists():
        pathlib.Path(f".stemma/failed-{name}").touch()
        sys.exit(how["exit"])
texts = [file.read_text() for path in inputs for file in sorted(pathlib.Path(path).rglob("*")) if file.is_file()]
folder = pathlib.Path(out)
folder.mkdir(parents=True)
(folder / "text").write_text(f"{name} number {settings['number']} {how.get('word', '')} <- {texts}")
with trace.open("a") as file:
    print("end", name, os.getpid(), time.time(), file=file, flush=True)
'''

GRAPH = """
vars: [mini.yaml]
stages:
  end:
    cmd: python work.py end out/end out/both
    deps: [work.py, out/both]
    outs: [out/end]
  both:
    cmd: python work.py both out/both out/sides
    deps: [work.py, out/sides]
    params: [{mini.yaml: [stages.both]}]
    outs: [out/both]
  source:
    cmd: python work.py source out/source
    deps: [work.py]
    params: [{mini.yaml: [number, stages.source]}]
    outs: [out/source]
  side:
    foreach: ${sides}
    do:
      cmd: python work.py ${key} out/sides/${key} out/source
      deps: [work.py, out/source]
      params:
        - mini.yaml: ["sides.${key}"]
      outs: ["out/sides/${key}"]
  alone:
    cmd: python work.py alone out/alone out/source
    deps: [work.py, out/source]
    params: [{mini.yaml: [stages.alone]}]
    outs: [out/alone]
"""

SETTINGS: dict[str, Any] = {
    "number": 1,
    "sides": {"slow": {"word": "a", "sleep": 0.6}, "quick": {"word": "b"}},
    "stages": {"both": {}, "source": {}, "alone": {}},
}
ORDER = ["source", "side@slow", "side@quick", "both", "end", "alone"]


def make_project(folder: Path) -> Path:
    """Create the repository with everything committed and nothing run."""
    folder.mkdir(parents=True)
    (folder / "work.py").write_text(WORK)
    (folder / "dvc.yaml").write_text(GRAPH)
    (folder / ".gitignore").write_text("/out\n/.stemma\n")
    write_settings(folder, SETTINGS)
    shutil.copy(CODE / "params.yaml", folder)
    for command in (["init", "-q"], ["config", "user.email", "t@example.org"], ["config", "user.name", "t"]):
        git(folder, *command)
    run_dvc(folder, "init", "-q")
    run_dvc(folder, "config", "core.analytics", "false")
    commit(folder)
    return folder


def copy_project(project: Path, target: Path) -> Path:
    """Copy of a project, with the hashes that DVC keeps of its files."""
    shutil.copytree(project, target, symlinks=True)
    return target


def write_settings(project: Path, settings: dict[str, Any]) -> None:
    (project / "mini.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))


def change(project: Path, key: str, value: object) -> None:
    """Set one setting: `change(project, "sides.slow.word", "z")`."""
    settings = yaml.safe_load((project / "mini.yaml").read_text())
    *parents, last = key.split(".")
    group = settings
    for name in parents:
        group = group[name]
    group[last] = value
    write_settings(project, settings)


def commit(project: Path) -> None:
    git(project, "add", "--all")
    git(project, "commit", "-q", "-m", "State")


def git(project: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=project, check=True, capture_output=True, text=True).stdout


def run_dvc(project: Path, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    command = dvc.command(*arguments)
    return subprocess.run(command, cwd=project, env=environment(project), check=check, capture_output=True, text=True)


def run_flow(project: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """`make run` in a project: the pipeline flow in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "flows.pipeline"],
        cwd=project,
        env={**environment(project), **variables},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def environment(project: Path) -> dict[str, str]:
    """The environment of a user who has just opened a shell, with this checkout's code on the path."""
    ours = ("DVC_", "MLFLOW_", "PREFECT_", "STEMMA_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    state = {"DVC_SITE_CACHE_DIR": str(project / ".stemma" / "dvc"), "STEMMA_TRACKING": "off"}
    path = f"{Path(sys.executable).parent}:{kept['PATH']}"
    return {**kept, **state, "PATH": path, "PYTHONPATH": f"{CODE}:{CODE / 'src'}"}


def ran(project: Path) -> list[str]:
    """The stages that were started since the last look, in order."""
    trace = project / ".stemma" / "trace.log"
    lines = trace.read_text().splitlines() if trace.exists() else []
    trace.unlink(missing_ok=True)
    return [line.split()[1] for line in lines if line.startswith("start ")]
