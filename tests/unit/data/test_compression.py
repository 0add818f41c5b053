import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from stemma.data.compression import is_compressed, open_binary, plain_name
from stemma.errors import InputError

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
DATA = b"some lines\n" * 100_000


def read(path: Path) -> bytes:
    with open_binary(path, "name") as file:
        return file.read()


@pytest.mark.parametrize("suffix", PACK)
def test_what_was_packed_is_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"file.txt{suffix}"
    path.write_bytes(PACK[suffix](DATA))
    assert read(path) == DATA
    assert is_compressed(path) == bool(suffix)
    assert plain_name(path.name) == "file.txt"
    with open_binary(path, "name") as file:
        assert file.readline() == b"some lines\n"


@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
def test_files_in_several_pieces_are_read_to_the_end(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"file{suffix}"
    path.write_bytes(PACK[suffix](b"one ") + PACK[suffix](b"two"))
    assert read(path) == b"one two"


@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
def test_broken_files_are_named(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"file{suffix}"
    packed = PACK[suffix](bytes(range(256)) * 1000)
    for broken in (packed[: len(packed) // 2], b"not packed at all"):
        path.write_bytes(broken)
        with pytest.raises(InputError, match="name: can't be read"):
            read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name: no such file"):
        read(tmp_path / "nothing.gz")
