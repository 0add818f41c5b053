"""Text files as numbered lines and checked JSON, with errors that name the file and the line."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stemma.data.compression import open_binary
from stemma.errors import InputError

__all__ = ["check_text", "read_json_lines", "read_json_text", "read_lines"]

_BYTE_ORDER_MARK = "\ufeff"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def read_lines(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, plain or compressed, with their numbers from 1; an empty file is an error."""
    number = 0
    with open_binary(path, name) as file:
        for number, line in enumerate(file, start=1):
            text = _decode(line, f"{name}:{number}").rstrip("\r\n")
            yield number, text.removeprefix(_BYTE_ORDER_MARK) if number == 1 else text
    if number == 0:
        raise InputError(f"{name}: the file is empty")


def read_json_lines(path: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON lines file with their line numbers; blank lines are passed over."""
    for number, line in read_lines(path, name):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{name}:{number}: not valid JSON: {error.msg} at column {error.colno}") from None
        if not isinstance(value, dict):
            raise InputError(f"{name}:{number}: expected a JSON object, found {type(value).__name__}")
        yield number, value


def read_json_text(path: Path, name: str) -> Any:
    """The value of a whole JSON file."""
    with open_binary(path, name) as file:
        data = file.read()
    if not data.strip():
        raise InputError(f"{name}: the file is empty")
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}:{line}: not valid UTF-8 at byte {error.start} of the file") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}: not valid JSON: {error.msg} at column {error.colno}") from None


def check_text(value: object, where: str) -> str:
    """A value that must be text; null becomes empty text, for validation to refuse that row by itself.

    A lone surrogate, which JSON can spell but UTF-8 can't, becomes the replacement character for the same reason.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{where}: expected text, found {type(value).__name__}")
    return _LONE_SURROGATE.sub("\ufffd", value)


def _decode(line: bytes, where: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not valid UTF-8 at byte {error.start + 1} of the line") from None
