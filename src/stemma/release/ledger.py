"""An append-only record of every decision on a model, in which an edit shows.

A line is one entry in JSON; it holds the hash of the line before it, and its own. So a changed, removed or inserted line
breaks the chain, and the place can be named. Cutting off the end can't be seen from the file alone: the registry keeps
the hash of the entry that moved an alias, for whoever wants to compare.
"""

import fcntl
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, get_args

from stemma.errors import CorruptionError, ReleaseError
from stemma.files import digest_bytes

__all__ = ["LEDGER", "Entry", "Kind", "Ledger", "champions", "describe", "rolled_back"]

Kind = Literal["decision", "promotion", "rollback"]

LEDGER: Final = Path(".stemma/ledger.jsonl")
_FIRST: Final = "0" * 64
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One thing that was decided or done."""

    number: int
    time: str
    kind: Kind
    model: str
    facts: Mapping[str, Any]
    previous: str
    hash: str


class Ledger:
    """The ledger in one file."""

    def __init__(self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path, self._clock = path, clock

    def append(self, kind: Kind, model: str, facts: Mapping[str, Any]) -> Entry:
        """Add an entry at the end and see it safe on disk; refuses to go on after a broken chain."""
        with self._locked() as descriptor:
            entries = self.entries()
            values: dict[str, Any] = {
                "facts": dict(facts),
                "kind": kind,
                "model": model,
                "number": len(entries) + 1,
                "previous": entries[-1].hash if entries else _FIRST,
                "time": self._clock().isoformat(timespec="seconds"),
            }
            entry = Entry(**values, hash=_hash(values))
            line = (
                json.dumps({**values, "hash": entry.hash}, ensure_ascii=False, sort_keys=True, allow_nan=False) + "\n"
            )
            os.write(descriptor, line.encode())
            os.fsync(descriptor)
        return entry

    def entries(self) -> list[Entry]:
        """Every entry, oldest first; an error names the first line that is not what was written."""
        try:
            lines = self._path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return []
        entries: list[Entry] = []
        for number, line in enumerate(lines, start=1):
            if number == len(lines) and not line.endswith(b"\n"):
                _log.warning("%s:%d: an entry that a kill cut short is passed over", self._path, number)
                break
            previous = entries[-1].hash if entries else _FIRST
            entries.append(self._read(line, number, previous))
        return entries

    def _read(self, line: bytes, number: int, previous: str) -> Entry:
        where = f"{self._path}:{number}"
        try:
            values = json.loads(line)
            entry = Entry(**values)
        except (TypeError, ValueError):
            raise CorruptionError(f"{where}: not an entry of the ledger; restore the file") from None
        body = {name: value for name, value in values.items() if name != "hash"}
        if entry.hash != _hash(body) or entry.kind not in get_args(Kind):
            raise CorruptionError(f"{where}: this entry was edited; restore the file")
        if entry.previous != previous or entry.number != number:
            raise CorruptionError(f"{where}: entries before this one were removed, added or moved; restore the file")
        return entry

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The file, opened for appending by nobody else, without an unfinished line at its end."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            whole = self._path.read_bytes().rpartition(b"\n")
            os.ftruncate(descriptor, len(whole[0]) + len(whole[1]))
            yield descriptor
        finally:
            os.close(descriptor)


def champions(entries: Sequence[Entry], model: str) -> list[str]:
    """The versions that a rollback can go through, the present champion last."""
    stack: list[str] = []
    for entry in entries:
        if entry.model == model and entry.kind == "promotion":
            stack.append(str(entry.facts["version"]))
        elif entry.model == model and entry.kind == "rollback":
            if not stack:
                raise ReleaseError(f"ledger entry {entry.number} rolls {model} back from nothing; was the file cut?")
            stack.pop()
    return stack


def rolled_back(entries: Sequence[Entry], model: str) -> dict[str, int]:
    """The digests of bytes that were rolled back from, with the number of the entry that says so."""
    return {
        str(entry.facts["digest"]): entry.number
        for entry in entries
        if entry.model == model and entry.kind == "rollback"
    }


def describe(entry: Entry) -> str:
    """An entry for a person, with the reasons of a decision below it."""
    facts = entry.facts
    what = f"{entry.number}  {entry.time}  {entry.model} version {facts['version']}"
    match entry.kind:
        case "decision":
            verdict = "may be champion" if facts["promote"] else "refused"
            lines = [
                f"    {'passed' if one['passed'] else 'FAILED'}  {one['rule']}: {one['text']}"
                for one in facts["reasons"]
            ]
            return "\n".join([f"{what}: {verdict}", *lines])
        case "promotion":
            over = f" in place of version {facts['over']}" if facts["over"] else ""
            return f"{what}: became champion{over}{'; ' + facts['note'] if 'note' in facts else ''}"
        case "rollback":
            return f"{what}: rolled back to version {facts['to']}"


def _hash(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return digest_bytes(text.encode())
