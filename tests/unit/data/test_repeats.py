"""Rows whose key stood before, against a dictionary."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stemma.data.repeats import Places, find_repeats
from stemma.data.workspace import Workspace, open_workspace
from stemma.errors import InputError, SettingsError


@pytest.mark.parametrize("memory_limit", [1, 1 << 20])
def test_finds_what_a_dictionary_finds(tmp_path: Path, memory_limit: int) -> None:
    rng = random.Random(1)
    keys = [f"key {rng.randint(0, 400)}" for _ in range(1000)]
    blocks = [keys[start : start + 70] for start in range(0, len(keys), 70)]
    repeats = find_repeats(blocks, Workspace(tmp_path, memory_limit))
    firsts: dict[str, int] = {}
    expected = [(row, first) for row, key in enumerate(keys) if (first := firsts.setdefault(key, row)) != row]
    assert list(zip(repeats.rows.tolist(), repeats.firsts.tolist(), strict=True)) == expected
    assert list(repeats.within(100, 300)) == [pair for pair in expected if 100 <= pair[0] < 300]
    assert repeats.count(100, 300) == len(list(repeats.within(100, 300)))
    assert not list(tmp_path.iterdir()), "no scratch files are left"


def test_no_rows_repeat_nothing(tmp_path: Path) -> None:
    assert len(find_repeats([], Workspace(tmp_path, 1000))) == 0


def test_places_name_rows_across_files_also_after_an_empty_one(tmp_path: Path) -> None:
    for name, count in [("test", 0), ("validation", 3), ("train", 2)]:
        pq.write_table(pa.table({"id": ["x"] * count}), tmp_path / f"{name}.parquet")
    paths = [tmp_path / f"{name}.parquet" for name in ("test", "validation", "train")]
    places = Places.of(paths)
    assert [places.name_row(row) for row in (0, 2, 3)] == [
        "validation.parquet row 0",
        "validation.parquet row 2",
        "train.parquet row 0",
    ]
    repeats = find_repeats([["a", "b", "a", "b", "c"]], Workspace(tmp_path, 1 << 20))
    assert places.describe(repeats, 0, 5).to_pylist() == [
        None,
        None,
        "validation.parquet row 0",
        "validation.parquet row 1",
        None,
    ]
    assert places.across_files(repeats).rows.tolist() == [3]


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"train\.parquet: no such file"):
        Places.of([tmp_path / "train.parquet"])
    (tmp_path / "train.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match=r"train\.parquet: not readable as parquet"):
        Places.of([tmp_path / "train.parquet"])


def test_the_memory_limit_is_a_number_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path))
    monkeypatch.setenv("STEMMA_MEMORY_LIMIT", "1000")
    with open_workspace("validate") as workspace:
        assert workspace.memory_limit == 1000
        assert workspace.folder.is_relative_to(tmp_path)
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv("STEMMA_MEMORY_LIMIT", "1 GB")
    with (
        pytest.raises(SettingsError, match="STEMMA_MEMORY_LIMIT: '1 GB' is not a number of bytes"),
        open_workspace("x"),
    ):
        pass
