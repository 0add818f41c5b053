from pathlib import Path

import pytest

from stemma.data import lines
from stemma.data.lines import check_text, read_json_lines, read_lines
from stemma.errors import InputError


def write(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "file"
    path.write_bytes(data)
    return path


def test_lines_are_numbered_and_bare(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbfone\r\ntw\xc3\xb6\n\nlast")
    assert list(read_lines(path, "n")) == [(1, "one"), (2, "twö"), (3, ""), (4, "last")]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"n: the file is empty"),
        (b"good\nb\xffd\n", r"n:2: not valid UTF-8 at byte 2 of the line"),
        (b"good\ngood\nb\0d\n", r"n:3: a NUL byte at byte 2 of the line"),
        (b"good\n" + b"x" * 101, r"n:2: the line is longer than 100 bytes"),
    ],
)
def test_bad_files_are_named_with_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, message: str
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100)
    with pytest.raises(InputError, match=message):
        list(read_lines(write(tmp_path, data), "n"))


def test_json_lines_pass_blank_ones(tmp_path: Path) -> None:
    path = write(tmp_path, b'{"a": 1}\n\n{"a": 2}\n')
    assert list(read_json_lines(path, "n")) == [(1, {"a": 1}), (3, {"a": 2})]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1}\n{"a": \n', r"n:2: not valid JSON: .* at column"),
        (b'{"a": 1}\n[1]\n', r"n:2: expected a JSON object, found list"),
        (b"[" * 100_000, r"n:1: not valid JSON: nested too deep"),
    ],
)
def test_bad_json_is_named_with_the_line(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_json_lines(write(tmp_path, data), "n"))


def test_text_is_text() -> None:
    assert check_text("a\ud800b", "n") == "a\ufffdb"
    assert check_text(None, "n") == ""
    with pytest.raises(InputError, match="n: expected text, found int"):
        check_text(3, "n")
