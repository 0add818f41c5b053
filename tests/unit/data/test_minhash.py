import numpy as np
import numpy.typing as npt
import pytest

from stemma.data.minhash import MinHash, choose_bands

RNG = np.random.default_rng(7)


def words(count: int) -> npt.NDArray[np.uint64]:
    return RNG.integers(0, 1 << 63, count, dtype=np.uint64)


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.8, 0.95])
def test_equal_places_estimate_the_jaccard_similarity(kept: float) -> None:
    minhash = MinHash(permutations=512, shingle=1)
    one = words(3000)
    other = np.concatenate([one[: int(3000 * kept)], words(3000 - int(3000 * kept))])
    jaccard = len(np.intersect1d(one, other)) / len(np.union1d(one, other))
    estimate = np.mean(minhash.signature(one) == minhash.signature(other))
    assert estimate == pytest.approx(jaccard, abs=4 * np.sqrt(jaccard * (1 - jaccard) / 512))


def test_shingles_know_the_order_of_words() -> None:
    one = words(500)
    shuffled = RNG.permutation(one)
    assert np.mean(MinHash(128, 1).signature(one) == MinHash(128, 1).signature(shuffled)) == 1.0
    assert np.mean(MinHash(128, 5).signature(one) == MinHash(128, 5).signature(shuffled)) < 0.1


def test_long_documents_are_done_in_steps() -> None:
    one = words(10_000)
    minhash = MinHash(64, 1)
    halves = np.minimum(minhash.signature(one[:5000]), minhash.signature(one[5000:]))
    assert np.array_equal(minhash.signature(one), halves)


def test_short_and_empty_documents_have_signatures() -> None:
    minhash = MinHash(16, 5)
    assert not np.array_equal(minhash.signature(words(2)), minhash.signature(words(2)))
    assert minhash.signature(words(0)).tolist() == [2**32 - 1] * 16


def test_signatures_are_pinned() -> None:
    assert MinHash(3, 2).signature(np.arange(10, dtype=np.uint64)).tolist() == [198521045, 206593211, 189663143]


@pytest.mark.parametrize(("permutations", "threshold"), [(128, 0.8), (128, 0.5), (64, 0.9), (256, 0.7)])
def test_bands_find_most_pairs_at_the_threshold(permutations: int, threshold: float) -> None:
    bands, rows = choose_bands(permutations, threshold)
    assert bands * rows <= permutations
    assert 1 - (1 - threshold**rows) ** bands >= 0.95
    assert 1 - (1 - (threshold / 2) ** rows) ** bands < 0.7


def test_band_keys_are_equal_where_all_rows_are() -> None:
    minhash = MinHash(8, 1)
    signatures = np.array(
        [[1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 9], [3, 4, 1, 2, 5, 6, 7, 8]], dtype=np.uint32
    )
    keys = minhash.band_keys(signatures, bands=4, rows=2)
    assert (keys[0] == keys[1]).tolist() == [True, True, True, False]
    assert (keys[0] == keys[2]).tolist() == [False, False, True, True]
    assert len(np.unique(keys[0])) == 4  # the same values in another band are another key
