from collections import Counter

import pytest

from stemma.config import Splits
from stemma.data.documents import document_id
from stemma.data.splits import split_of

SPLITS = Splits(validation=0.1, test=0.2)


def test_the_splits_of_ids_are_pinned() -> None:
    pinned = ["train", "train", "test", "train", "train", "train", "test", "validation"]
    assert [split_of(f"document {n}", SPLITS) for n in range(8)] == pinned


def test_shares_are_about_what_was_asked() -> None:
    counts = Counter(split_of(str(n), SPLITS) for n in range(20_000))
    assert counts["test"] / 20_000 == pytest.approx(0.2, abs=0.01)
    assert counts["validation"] / 20_000 == pytest.approx(0.1, abs=0.01)


def test_another_validation_share_moves_no_test_document() -> None:
    more = Splits(validation=0.3, test=0.2)
    ids = [str(n) for n in range(2000)]
    assert [i for i in ids if split_of(i, SPLITS) == "test"] == [i for i in ids if split_of(i, more) == "test"]


def test_no_share_means_no_document() -> None:
    assert {split_of(str(n), Splits(validation=0.0, test=0.0)) for n in range(1000)} == {"train"}


def test_a_split_that_the_id_says_is_kept_whatever_the_shares() -> None:
    for name in ("train", "validation", "test"):
        ids = [document_id("source", str(n), name) for n in range(50)]
        assert {split_of(i, SPLITS) for i in ids} == {name}
        assert len(set(ids)) == 50
    assert document_id("source", "1", "train").endswith(document_id("source", "1"))
