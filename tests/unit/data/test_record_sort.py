"""The external sort: the same records in the same order, whatever the memory and the threads."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemma.data.record_sort import Columns, RecordSorter, sort_order


def _sorted(folder: Path, blocks: Iterable[Columns], **options: Any) -> Columns:
    sorter = RecordSorter(folder, **options)
    for block in blocks:
        sorter.add(*block)
    pieces = list(sorter.blocks())
    assert not [path for path in folder.rglob("*") if path.is_file()], "scratch files are left behind"
    return tuple(np.concatenate(columns) for columns in zip(*pieces, strict=True)) if pieces else ()


def _records(seed: int, size: int, *, high: int, low: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, high, size, np.uint64), rng.integers(0, low, size, np.uint64)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("memory", [1, 40_000, 1 << 24])  # many runs of the least size, some, and none
def test_sorts_by_all_key_columns_and_carries_values(tmp_path: Path, memory: int, threads: int) -> None:
    high, low = _records(1, 5000, high=50, low=1 << 63)
    values = np.arange(5000, dtype=np.float64)
    blocks = [(high[:10], low[:10], values[:10]), (high[10:], low[10:], values[10:])]

    result = _sorted(tmp_path / "s", blocks, widths=(6, 63), values=(np.float64,), memory=memory, threads=threads)

    order = np.lexsort((low, high))
    for column, expected in zip(result, (high, low, values), strict=True):
        np.testing.assert_array_equal(column, expected[order])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("memory", [1, 40_000, 1 << 24])
@pytest.mark.parametrize("num_keys", [1, 2])
def test_tallies_each_key_once(tmp_path: Path, memory: int, threads: int, num_keys: int) -> None:
    keys = _records(2, 5000, high=40, low=9)[:num_keys]

    *columns, counts = _sorted(
        tmp_path / "s", [keys], widths=(6, 4)[:num_keys], tally=True, memory=memory, threads=threads
    )

    expected, expected_counts = np.unique(np.stack(keys, axis=1), axis=0, return_counts=True)
    np.testing.assert_array_equal(np.stack(columns, axis=1), expected)
    np.testing.assert_array_equal(counts, expected_counts)


def test_nothing_added_gives_nothing(tmp_path: Path) -> None:
    assert _sorted(tmp_path / "s", [], widths=(64,), tally=True, memory=1000) == ()


def test_memory_bounds_what_is_sorted_at_once(tmp_path: Path) -> None:
    keys = np.arange(100_000, dtype=np.uint64)[::-1].copy()
    sorter = RecordSorter(tmp_path / "s", widths=(64,), values=(), memory=64_000)
    sorter.add(keys)
    assert max(len(block) for (block,) in sorter.blocks()) <= 1000  # at 64 bytes and more a record


@given(
    st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**20 - 1)), max_size=60),
    st.integers(0, 4),
)
@settings(deadline=None)
def test_order_is_the_stable_order_of_the_rows(rows: list[tuple[int, int]], repeat: int) -> None:
    rows = rows * repeat
    first = np.array([row[0] for row in rows], np.uint64)
    second = np.array([row[1] for row in rows], np.uint64)
    expected = sorted(range(len(rows)), key=lambda index: rows[index])
    assert sort_order((first, second), (64, 20)).tolist() == expected


def test_a_step_of_a_merge_takes_nearly_all_that_is_in_memory(tmp_path: Path) -> None:
    """Many runs at once are merged in few steps: the time grows with the records alone."""
    keys = np.random.default_rng(3).integers(0, 1 << 60, 400_000, np.uint64)
    sorter = RecordSorter(tmp_path / "s", widths=(60,), memory=64 * 10_000)
    sorter.add(keys)
    sizes = [len(block) for (block,) in sorter.blocks()]
    assert sum(sizes) == len(keys)
    assert len(sizes) <= 1.5 * len(keys) / max(sizes)
