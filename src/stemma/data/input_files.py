"""The files that `params.yaml` names: found, not empty, and what their checksums say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stemma.config import resolve_path
from stemma.errors import InputError
from stemma.files import digest_file

__all__ = ["InputFile", "find_inputs"]


@dataclass(frozen=True)
class InputFile:
    """A file to read: where it lies, and its name in `params.yaml`, for messages, manifests and hashes."""

    path: Path
    name: str


def find_inputs(names: Sequence[str], sha256: Mapping[str, str], external: Path) -> list[InputFile]:
    """Find files and check them; one outside `external` needs its sha256, or a change of it would go unseen."""
    return [_find_input(name, sha256.get(name), external) for name in names]


def _find_input(name: str, expected: str | None, external: Path) -> InputFile:
    path = resolve_path(name)
    if not path.is_file():
        raise InputError(f"{name}: no such file")
    if path.stat().st_size == 0:
        raise InputError(f"{name}: the file is empty")
    if expected is None:
        if external.resolve() not in path.resolve().parents:
            raise InputError(
                f"{name}: lies outside {external}; state its sha256 ({digest_file(path)}), or move it there"
            )
    elif digest_file(path) != expected:
        raise InputError(
            f"{name}: its sha256 is {digest_file(path)}, expected {expected}; restore it or state the new one"
        )
    return InputFile(path, name)
