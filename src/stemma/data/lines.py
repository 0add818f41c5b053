"""Text files as numbered lines, and lines of JSON, with errors that name the file and the line."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from stemma.data.compression import open_binary
from stemma.errors import InputError

__all__ = ["MAX_LINE_BYTES", "check_text", "read_json_lines", "read_lines"]

MAX_LINE_BYTES: Final = 16 << 20  # a longer one is no line of text, and would have to be held in memory
_BYTE_ORDER_MARK: Final = "\ufeff"
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def read_lines(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, plain or compressed, with their numbers from 1; an empty file is an error."""
    number = 0
    with open_binary(path, name) as file:
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            text = _decode(line, f"{name}:{number}").rstrip("\r\n")
            yield number, text.removeprefix(_BYTE_ORDER_MARK) if number == 1 else text
    if number == 0:
        raise InputError(f"{name}: the file is empty")


def read_json_lines(path: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON lines file with their line numbers; blank lines are passed over."""
    for number, line in read_lines(path, name):
        if not line or line.isspace():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{name}:{number}: not valid JSON: {error.msg} at column {error.colno}") from None
        except RecursionError:
            raise InputError(f"{name}:{number}: not valid JSON: nested too deep") from None
        if not isinstance(value, dict):
            raise InputError(f"{name}:{number}: expected a JSON object, found {type(value).__name__}")
        yield number, value


def check_text(value: object, where: str) -> str:
    """A value that must be text; null becomes empty text, for validation to refuse that row by itself.

    A lone surrogate, which JSON can spell but UTF-8 can't, becomes the replacement character for the same reason.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{where}: expected text, found {type(value).__name__}")
    try:
        value.encode()  # many times faster than the pattern
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", value)
    return value


def _decode(line: bytes, where: str) -> str:
    if len(line) > MAX_LINE_BYTES:
        raise InputError(f"{where}: the line is longer than {MAX_LINE_BYTES:,} bytes; is this a text file?")
    nul = line.find(0)
    if nul >= 0:
        raise InputError(f"{where}: a NUL byte at byte {nul + 1} of the line; is this a text file?")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not valid UTF-8 at byte {error.start + 1} of the line") from None
