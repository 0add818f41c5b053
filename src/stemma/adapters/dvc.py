"""DVC through its command line: the graph, what is stale, and what `dvc.lock` and the cache hold.

DVC's own Python interface is left alone on purpose: the command line is what a user runs, and what its makers keep stable.
"""

import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, Final

import networkx as nx
import yaml
from ruamel.yaml import YAML

from stemma.errors import BusyError, InputError, StageError
from stemma.files import digest_bytes, write_text

__all__ = [
    "broken_objects",
    "command",
    "environment",
    "file_md5",
    "lock_hashes",
    "merged_order",
    "read_graph",
    "read_lock",
    "repro_order",
    "sort_lock",
    "status",
]

_DOT_LINE = re.compile(r'"(?P<stage>[^"]+)"(?: -> "(?P<follower>[^"]+)")?;')
_RUNNING = re.compile(r"Running stage '(?P<stage>.+)':")
_BUSY = re.compile(r"Unable to acquire lock|is busy, it is being blocked by")
_ATTEMPTS: Final = 3  # each waits for some seconds: what was just killed may take that long to let go


def command(*arguments: str) -> list[str]:
    """A DVC command line of this environment's DVC."""
    return [sys.executable, "-m", "dvc", *arguments]


def environment(root: Path) -> dict[str, str]:
    """The environment of a DVC process: our `python` first, no telemetry, and a private cache of hashes.

    DVC's default for the last is a world-writable folder with pickles in it.
    """
    variables = {"DVC_NO_ANALYTICS": "1", "DVC_SITE_CACHE_DIR": str(root.resolve() / ".stemma" / "dvc")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**variables, **os.environ, "PATH": path}


def read_graph(root: Path) -> "nx.DiGraph[str]":
    """The stages of `dvc.yaml`, expanded; an edge leads from a stage to one that uses its outs."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for line in _run(root, "dag", "--dot").splitlines():
        match = _DOT_LINE.fullmatch(line.strip())
        if match is None:
            if line.strip() not in ("strict digraph {", "strict digraph  {", "}", ""):
                raise StageError(f"dvc dag --dot: can't read the line {line!r}; has DVC's version changed?")
        elif match["follower"] is None:
            graph.add_node(match["stage"])
        else:
            graph.add_edge(match["stage"], match["follower"])
    return graph


def status(root: Path) -> dict[str, list[Any]]:
    """What DVC holds for stale, by stage: changed deps, changed outs, changed command. Empty when nothing is."""
    report = json.loads(_run(root, "status", "--json") or "{}")
    assert isinstance(report, dict)
    return report


def repro_order(root: Path) -> list[str]:
    """Every stage in the order in which `dvc repro` would run it on an empty workspace."""
    output = _run(root, "repro", "--dry", "--force")
    return [match["stage"] for line in output.splitlines() if (match := _RUNNING.fullmatch(line))]


def read_lock(root: Path) -> dict[str, dict[str, Any]]:
    """The stages of `dvc.lock`, in its order; none before the first run."""
    path = root / "dvc.lock"
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except FileNotFoundError:
        return {}
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}; restore it with git") from None
    stages: dict[str, dict[str, Any]] = document.get("stages") or {}
    return stages


def merged_order(before: Sequence[str], order: Sequence[str], names: Iterable[str]) -> list[str]:
    """Where `dvc repro` would put `names` in a lock that began as `before`: what is there stays, what is new follows."""
    rank = {name: position for position, name in enumerate(dict.fromkeys([*before, *order]))}
    return sorted(names, key=lambda name: rank.get(name, len(rank)))


def sort_lock(root: Path, before: Sequence[str], order: Sequence[str]) -> None:
    """Bring `dvc.lock` into the order that `dvc repro` would have left, whatever order the stages ended in."""
    path = root / "dvc.lock"
    with _repository_lock(root):
        if not path.exists():
            return
        text = path.read_text(encoding="utf-8")
        document_format = YAML()  # as DVC itself writes it
        document_format.default_flow_style = False
        document: Any = document_format.load(text)
        stages: Any = document["stages"]
        wanted = merged_order(before, order, stages)
        if list(stages) != wanted:
            for name in wanted:
                stages.move_to_end(name)
            stream = StringIO()
            document_format.dump(document, stream)
            write_text(path, stream.getvalue())


def lock_hashes(paths: Iterable[Path], root: Path = Path()) -> dict[str, str]:
    """The content hash that DVC has for each path: an out of a stage, a file or folder inside one, or a folder of outs.

    A path that no stage has made yet is left out.
    """
    outs = {
        out["path"]: out["md5"] for stage in read_lock(root).values() for out in stage.get("outs", []) if "md5" in out
    }
    hashes = {path.as_posix(): _hash_of(path.as_posix(), outs, root) for path in paths}
    return {path: value for path, value in hashes.items() if value}


def broken_objects(root: Path) -> list[str]:
    """Hash every object in DVC's cache anew; the files whose bytes are not what their names say."""
    folder = _cache_dir(root)
    broken = []
    for path in sorted(folder.glob("[0-9a-f][0-9a-f]/*")):
        name = path.name.removesuffix(".dir")
        if len(name) == 30 and file_md5(path) != path.parent.name + name:
            broken.append(str(path.relative_to(root) if path.is_relative_to(root) else path))
    return broken


def _run(root: Path, *arguments: str) -> str:
    """The output of a DVC command that changes nothing, or why there is none, in plain words."""
    for _ in range(_ATTEMPTS):
        result = subprocess.run(
            command(*arguments), cwd=root, env=environment(root), capture_output=True, text=True, check=False
        )
        if result.returncode == 0:
            return result.stdout
        complaint = f"{result.stdout}\n{result.stderr}"
        if not _BUSY.search(complaint):
            raise StageError(f"dvc {' '.join(arguments)} failed: {' '.join(complaint.split())}")
    raise BusyError("DVC is busy: a stage is running in this project; wait until it ends, or stop it")


@contextmanager
def _repository_lock(root: Path) -> Iterator[None]:
    """DVC's own lock of the repository, which it takes whenever it writes (an exclusive `flock` of this file)."""
    path = root / ".dvc" / "tmp" / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _hash_of(path: str, outs: Mapping[str, str], root: Path) -> str:
    if path in outs:
        return outs[path]
    inside = {name: value for name, value in outs.items() if name.startswith(f"{path}/")}
    if inside:
        return _digest(inside)
    for out, value in outs.items():
        if path.startswith(f"{out}/") and value.endswith(".dir"):
            return _hash_inside(path.removeprefix(f"{out}/"), value, root)
    return ""


def _hash_inside(path: str, directory: str, root: Path) -> str:
    """The hash of a file or folder inside a folder out, by the list of its files in the cache."""
    listing = _cache_dir(root) / directory[:2] / directory[2:]
    if not listing.exists():
        return ""
    files = {entry["relpath"]: entry["md5"] for entry in json.loads(listing.read_text(encoding="utf-8"))}
    return files.get(path) or _digest({name: value for name, value in files.items() if name.startswith(f"{path}/")})


def _digest(hashes: Mapping[str, str]) -> str:
    return digest_bytes(json.dumps(hashes, sort_keys=True).encode()) if hashes else ""


def _cache_dir(root: Path) -> Path:
    """Where DVC keeps objects by their md5: in the project unless its configuration says otherwise."""
    for name in ("config.local", "config"):
        path = root / ".dvc" / name
        if path.exists() and "cache" in path.read_text(encoding="utf-8"):
            return Path(_run(root, "cache", "dir").strip()) / "files" / "md5"
    return root / ".dvc" / "cache" / "files" / "md5"


def file_md5(path: Path) -> str:
    """The hash of a file as DVC makes it, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
