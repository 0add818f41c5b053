"""Clean clones of this project with the smoke profile, for tests that need the real graph."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from stemma.adapters import dvc

ROOT = Path(__file__).parent.parent
_LEFT_OUT = ("tests/", "docs/", "benchmarks/")


@dataclass(frozen=True, kw_only=True)
class Engines:
    """Two clean clones with their own caches and scratch folders, each run by one engine. Copy before you change one."""

    by_dvc: Path
    by_flow: Path  # in a process tree that reaches nothing beyond loopback
    said_by_dvc: str
    said_by_flow: str
    refused: Path  # what was asked of the network, where a namespace is not allowed


def make_clone(folder: Path) -> Path:
    """This checkout as it is, edits and all, as a repository of its own: nothing run, nothing cached."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in sorted(set(listing.splitlines())):
        source, target = ROOT / name, folder / name
        if name != "dvc.lock" and not name.startswith(_LEFT_OUT) and source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    shutil.copy(ROOT / "profiles" / "smoke.yaml", folder / "params.yaml")
    for command in (
        ["init", "-q", "-b", "main"],
        ["config", "user.email", "t@example.org"],
        ["config", "user.name", "t"],
    ):
        git(folder, *command)
    commit(folder, "The project with the smoke profile")
    return folder


def copy_clone(clone: Path, target: Path) -> Path:
    """Copy of a clone with all that it has run; where the file system can, without copying bytes."""
    subprocess.run(["cp", "-a", "--reflink=auto", str(clone), str(target)], check=True)
    return target


def environment(clone: Path, **variables: str) -> dict[str, str]:
    """The environment of a user of the clone: its own code, its own state, one thread a process."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STEMMA_", "PREFECT_", "MLFLOW_", "DVC_"))
    }
    threads = {"OMP_NUM_THREADS": "1", "STEMMA_DATA_THREADS": "1"}
    path = f"{Path(sys.executable).parent}:{kept['PATH']}"
    site = {"DVC_SITE_CACHE_DIR": str(clone / ".stemma" / "dvc"), "DVC_NO_ANALYTICS": "1"}
    return {**kept, **threads, **site, "PATH": path, "PYTHONPATH": str(clone / "src"), **variables}


def run_dvc(clone: Path, *arguments: str, check: bool = True, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run DVC in a clone, without tracking."""
    result = subprocess.run(
        dvc.command(*arguments),
        cwd=clone,
        env=environment(clone, STEMMA_TRACKING="off", **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or result.returncode == 0, f"dvc {' '.join(arguments)}\n{result.stdout}\n{result.stderr}"
    return result


def started(output: str) -> list[str]:
    """The stages that a `dvc repro` started, in order."""
    return [line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage '")]


def change(clone: Path, key: str, value: object) -> None:
    """Set one setting of params.yaml, without its comments."""
    path = clone / "params.yaml"
    settings = yaml.safe_load(path.read_text())
    *parents, last = key.split(".")
    group = settings
    for name in parents:
        group = group[name]
    assert last in group
    group[last] = value
    path.write_text(yaml.safe_dump(settings, sort_keys=False))


def commit(clone: Path, message: str) -> None:
    git(clone, "add", "--all")
    git(clone, "commit", "-q", "-m", message)


def git(clone: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=clone, check=True, capture_output=True, text=True).stdout
