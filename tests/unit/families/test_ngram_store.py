"""Safetensors files that the safetensors library reads."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import load_file

from stemma.errors import CorruptionError
from stemma.families.ngram import store as ngram_store
from stemma.families.ngram.store import MappedTensors, Stream, stream_file, write_tensors


def test_the_library_reads_what_was_streamed(tmp_path: Path) -> None:
    raw = np.arange(600_000, dtype=np.float64) / 7
    raw.tofile(tmp_path / "raw")
    arrays: dict[str, npt.NDArray[Any]] = {
        "odd": np.array([1.5, 2.5, -3.5], np.float32),
        "wide": np.array([1 << 40, -1], np.int64),
        "counts": np.array([4_000_000_000], np.uint32),
        "empty": np.empty(0, np.uint64),
    }
    streams = {name: Stream(dtype=a.dtype, size=len(a), blocks=[a[:1], a[1:]]) for name, a in arrays.items()}
    streams["raw"] = Stream(dtype=np.float32, size=len(raw), blocks=stream_file(tmp_path / "raw", np.float64))

    write_tensors(tmp_path / "file.safetensors", streams)

    assert load_file(tmp_path / "file.safetensors").keys() == streams.keys()
    for loaded in (load_file(tmp_path / "file.safetensors"), MappedTensors(tmp_path / "file.safetensors")):
        for name, expected in (arrays | {"raw": raw.astype(np.float32)}).items():
            np.testing.assert_array_equal(loaded[name], expected)
            assert loaded[name].dtype == expected.dtype
            assert loaded[name].flags.aligned


def test_a_short_stream_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="x: 2 values instead of 3"):
        write_tensors(tmp_path / "f", {"x": Stream(dtype=np.int64, size=3, blocks=[np.array([1, 2])])})
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize("content", [b"", b"short", b"\x10\0\0\0\0\0\0\0{not json at all"])
def test_what_is_no_such_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(CorruptionError, match="not a safetensors file"):
        MappedTensors(tmp_path / "f")


@pytest.mark.parametrize("frugal", [False, True])
def test_finds_and_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frugal: bool) -> None:
    monkeypatch.setattr(ngram_store, "_PIECE", 7)
    keys = np.arange(0, 300, 3)
    streams = {
        "keys": Stream(dtype=np.int64, size=len(keys), blocks=[keys]),
        "values": Stream(dtype=np.float32, size=len(keys), blocks=[keys / 2]),
        "none": Stream(dtype=np.int64, size=0, blocks=[]),
    }
    write_tensors(tmp_path / "f", streams)
    tensors = MappedTensors(tmp_path / "f", frugal=frugal)
    wanted = np.array([297, 0, 1, 20, 21, 18, 299, 1000, -5, 21])
    places = tensors.find("keys", wanted)
    assert places.tolist() == [99, 0, -1, -1, 7, 6, -1, -1, -1, 7]
    assert tensors.take("values", places).tolist() == [148.5, 0, 0, 0, 10.5, 9, 0, 0, 0, 10.5]
    assert tensors.find("none", wanted).tolist() == [-1] * 10
    assert tensors.take("none", np.array([-1, -1])).tolist() == [0, 0]
    assert tensors.find("keys", wanted[:0]).tolist() == []
