from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from stemma.config import NearDuplicates
from stemma.data.dedup import document_dtype, exact_duplicates, near_duplicates
from stemma.data.minhash import MinHash
from stemma.data.spool import RowFile
from stemma.data.workspace import Workspace

Hashes = npt.NDArray[np.uint64]
NEAR = NearDuplicates(threshold=0.8, permutations=128, shingle=1)
MINHASH = MinHash(128, 1)


@contextmanager
def store(folder: Path, documents: list[Hashes]) -> Iterator[RowFile]:
    with RowFile(folder / "rows", document_dtype(128)) as rows:
        for words in documents:
            row = np.zeros(1, dtype=document_dtype(128))
            row["digest"] = [hash(tuple(words.tolist())) % 2**64, len(words)]
            row["signature"] = MINHASH.signature(words)
            rows.append(row)
        yield rows


def near(folder: Path, documents: list[Hashes], memory: int = 1 << 24, skipped: list[int] | None = None) -> list[int]:
    flags = np.isin(np.arange(len(documents)), skipped or [])
    with store(folder, documents) as rows:
        return np.flatnonzero(near_duplicates(rows, flags, NEAR, Workspace(folder, memory))).tolist()


def exact(folder: Path, documents: list[Hashes], memory: int = 1 << 24) -> list[int]:
    with store(folder, documents) as rows:
        return np.flatnonzero(exact_duplicates(rows, Workspace(folder, memory))).tolist()


def document(seed: int, size: int = 2000) -> Hashes:
    return np.random.default_rng(seed).integers(0, 1 << 63, size, dtype=np.uint64)


def changed(words: Hashes, share: float, seed: int) -> Hashes:
    words = words.copy()
    count = int(len(words) * share)
    words[:count] = document(seed, count)
    return words


@pytest.mark.parametrize("memory", [1, 1 << 20])
def test_exact_duplicates_keep_the_first(tmp_path: Path, memory: int) -> None:
    texts = [0, 1, 0, 2, 1, 0, *range(10, 300), 299]
    documents = [np.array([n], dtype=np.uint64) for n in texts]
    assert exact(tmp_path, documents, memory) == [2, 4, 5, len(texts) - 1]


def test_near_duplicates_keep_the_first(tmp_path: Path) -> None:
    one, two = document(1), document(2)
    texts = [one, two, changed(one, 0.03, 3), document(4), changed(two, 0.03, 5), changed(one, 0.03, 6)]
    assert near(tmp_path, texts) == [2, 4, 5]


def test_what_is_below_the_threshold_stays(tmp_path: Path) -> None:
    one = document(1)
    assert near(tmp_path, [one, changed(one, 0.3, 2), changed(one, 0.5, 3)]) == []


def test_the_far_end_of_a_chain_stays(tmp_path: Path) -> None:
    one = document(1)
    middle = one.copy()
    middle[:160] = document(2, 160)  # like both its neighbours, which are not like each other
    far = middle.copy()
    far[1000:1160] = document(3, 160)
    assert near(tmp_path, [one, middle, far]) == [1]


def test_skipped_documents_are_not_compared(tmp_path: Path) -> None:
    one = document(1)
    assert near(tmp_path, [one, changed(one, 0.01, 2)], skipped=[0]) == []


def test_sorting_on_disk_changes_nothing(tmp_path: Path) -> None:
    originals = [document(seed, 300) for seed in range(60)]
    texts = originals + [changed(words, 0.02, 1000 + n) for n, words in enumerate(originals) if n % 3 == 0]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    found = near(tmp_path / "a", texts)
    assert found == list(range(60, 80))
    assert near(tmp_path / "b", texts, memory=1) == found


def test_a_wall_of_equal_signatures_takes_linear_time(tmp_path: Path) -> None:
    one = document(1, 50)
    assert near(tmp_path, [one] * 3000) == list(range(1, 3000))


def test_nothing_is_no_duplicate(tmp_path: Path) -> None:
    assert near(tmp_path, []) == []
    assert exact(tmp_path, []) == []
