"""Files written whole or not at all, and their digests.

Everything that the project writes goes through here: beside the target, fsync, rename. A killed process leaves the old
state or the new one. Left out on purpose: reading, which needs no ceremony.
"""

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stemma.errors import CorruptionError, InputError

__all__ = [
    "MANIFEST",
    "atomic_dir",
    "atomic_path",
    "canonical_json",
    "digest_bytes",
    "digest_file",
    "digest_tree",
    "read_json",
    "verify_manifest",
    "write_json",
    "write_manifest",
    "write_text",
]

MANIFEST = "manifest.json"
_BLOCK = 1 << 20


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it is synced and renamed to `path`, on failure removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_native_id()}.tmp")
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_dir(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`; on success its files are synced and it takes the place of `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    old = path.with_name(f".{path.name}.{os.getpid()}.old.tmp")
    temporary.mkdir()
    try:
        yield temporary
        for file in _files_below(temporary):
            _sync(file)
        _sync(temporary)
        if path.exists():
            path.rename(old)
        temporary.rename(path)
        _sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: object) -> None:
    """Write `value` as canonical JSON, atomically."""
    write_text(path, canonical_json(value))


def canonical_json(value: object) -> str:
    """The one JSON text of a value: sorted keys, indented, UTF-8, no NaN, a final newline."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_json(path: Path) -> Any:
    """Read a JSON file, or say which file is missing or malformed, and where."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not valid UTF-8 at byte {error.start} of the file") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not valid JSON: {error.msg}") from None


def digest_bytes(data: bytes) -> str:
    """The sha256 of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def digest_file(path: Path) -> str:
    """The sha256 of a file's bytes, in hex, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def digest_tree(paths: Iterable[Path]) -> str:
    """One sha256 over files and folders: relative names and contents, in sorted order; independent of where they lie."""
    digest = hashlib.sha256()
    for root in paths:
        files = [root] if root.is_file() else list(_files_below(root))
        for file in files:
            name = file.name if file == root else file.relative_to(root).as_posix()
            digest.update(f"{name}\0{digest_file(file)}\n".encode())
    return digest.hexdigest()


def write_manifest(folder: Path, extra: Mapping[str, object] | None = None) -> None:
    """Write `manifest.json` with the sha256 and size of every other file in `folder`: the last file to be written."""
    files = {
        file.relative_to(folder).as_posix(): {"sha256": digest_file(file), "bytes": file.stat().st_size}
        for file in _files_below(folder)
        if file.relative_to(folder).as_posix() != MANIFEST
    }
    write_json(folder / MANIFEST, {"files": files, **(extra or {})})


def verify_manifest(folder: Path) -> dict[str, Any]:
    """Check every file of `folder` against its manifest and return the manifest, or say which file is wrong."""
    manifest: dict[str, Any] = read_json(folder / MANIFEST)
    for name, expected in manifest["files"].items():
        file = folder / name
        if not file.is_file():
            raise CorruptionError(f"{file}: named in the manifest but missing; restore it or run its stage again")
        if file.stat().st_size != expected["bytes"] or digest_file(file) != expected["sha256"]:
            raise CorruptionError(f"{file}: bytes do not match the manifest; restore it or run its stage again")
    return manifest


def _files_below(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        raise InputError(f"{folder}: no such file or folder")
    yield from sorted(path for path in folder.rglob("*") if path.is_file())


def _remove_leftovers(path: Path) -> None:
    """Remove what killed writers of `path` left beside it; a live process keeps its own."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        writer = leftover.name.removeprefix(f".{path.name}.").partition(".")[0]
        if writer == str(os.getpid()) or (writer.isdigit() and not Path("/proc", writer).exists()):
            shutil.rmtree(leftover, ignore_errors=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
