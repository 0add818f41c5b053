"""The files of a source or probe: paths, folders and patterns of `params.yaml` as checked files, in one order everywhere."""

import hashlib
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

from stemma.config import FilesSource, ParallelFiles, ProbeFiles, resolve_path
from stemma.data.input_files import InputFile, find_inputs
from stemma.data.splits import Split
from stemma.errors import InputError, SettingsError
from stemma.files import digest_file

__all__ = ["PairedFiles", "describe_file", "find_paired_files", "find_source_files"]

_PATTERN: Final = re.compile(r"[*?\[]")


def find_source_files(source: FilesSource | ProbeFiles, external: Path) -> list[InputFile]:
    """Every file of a source or probe, checked; a folder means all files below it, and `*`, `?`, `**` are patterns.

    A folder or pattern outside `external` needs one sha256, over the names and contents of its files.
    """
    files: list[InputFile] = []
    exclude = source.exclude if isinstance(source, ProbeFiles) else []
    for entry in source.paths:
        if _PATTERN.search(entry) or resolve_path(entry).is_dir():
            files += _find_many(entry, source.sha256.get(entry), external, exclude)
        else:
            (file,) = find_inputs([entry], source.sha256, external)
            files.append(InputFile(file.path, _portable(entry)))
    _refuse_repeats(files)
    return files


class PairedFiles(NamedTuple):
    """Two aligned files, and the split that they are, if the source says so."""

    source: InputFile
    target: InputFile
    split: Split | None


def find_paired_files(source: ParallelFiles, external: Path) -> list[PairedFiles]:
    """Every two aligned files of a source, checked."""
    by_split = source.files if isinstance(source.files, dict) else {None: source.files}
    pairs = []
    for split, names in by_split.items():
        first, second = (
            InputFile(file.path, _portable(file.name)) for file in find_inputs(names, source.sha256, external)
        )
        pairs.append(PairedFiles(first, second, split))
    _refuse_repeats([file for pair in pairs for file in (pair.source, pair.target)])
    return pairs


def describe_file(file: InputFile) -> dict[str, object]:
    """A file as a manifest shows it."""
    return {"name": file.name, "sha256": digest_file(file.path), "bytes": file.path.stat().st_size}


def _find_many(entry: str, expected: str | None, external: Path, exclude: Sequence[str]) -> list[InputFile]:
    base, pattern = _split(entry)
    root = resolve_path(base)
    found = sorted(path for path in root.glob(pattern) if path.is_file()) if root.is_dir() else []
    paths = [path for path in found if not any(fnmatchcase(path.name, name) for name in exclude)]
    if not paths:
        raise InputError(f"{entry}: no files there")
    names = {path: path.relative_to(root).as_posix() for path in paths}
    for path, name in names.items():
        if path.stat().st_size == 0:
            raise InputError(f"{base}/{name}: the file is empty")
    inside = external.resolve() in (root.resolve(), *root.resolve().parents)
    if expected is not None or not inside:
        _check_digest(entry, _digest(names), expected, external)
    return [InputFile(path, f"{_portable(base)}/{name}") for path, name in names.items()]


def _split(entry: str) -> tuple[str, str]:
    """The folder of an entry and the pattern below it."""
    parts = entry.rstrip("/").split("/")
    first = next((number for number, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
    return "/".join(parts[:first]) or ".", "/".join(parts[first:]) or "**/*"


def _digest(names: dict[Path, str]) -> str:
    digest = hashlib.sha256()
    for path, name in names.items():
        digest.update(f"{name}\0{digest_file(path)}\n".encode())
    return digest.hexdigest()


def _check_digest(entry: str, found: str, expected: str | None, external: Path) -> None:
    if expected is None:
        raise InputError(f"{entry}: lies outside {external}; state its sha256 ({found}), or move it there")
    if found != expected:
        raise InputError(f"{entry}: its sha256 is {found}, expected {expected}; restore it or state the new one")


def _portable(name: str) -> str:
    """A name that does not say where this machine keeps the file: it goes into ids and manifests."""
    return Path(name).name if Path(name).is_absolute() else name


def _refuse_repeats(files: list[InputFile]) -> None:
    seen: set[str] = set()
    for file in files:
        if file.name in seen:
            raise SettingsError(f"sources: two files are named {file.name}; put them into one folder and name that")
        seen.add(file.name)
