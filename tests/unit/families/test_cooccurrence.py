"""Vectors by counting: from a token store to neighbours."""

import pytest

from stemma.errors import TrainingError
from stemma.families.cooccurrence.family import FAMILY
from stemma.text.vectors import load_vectors
from tests import toy_counts


@pytest.fixture
def folder(tmp_path):
    toy_counts.write_corpus(tmp_path)
    return tmp_path


def test_words_of_a_kind_come_together(folder):
    metrics = FAMILY.pretrain(toy_counts.pretraining("cooccurrence", folder))
    vectors = load_vectors(folder / "out")
    assert list(vectors.words) == list(toy_counts.WORDS)
    assert {word for word, _ in vectors.neighbours("cat", 3)} == {"dog", "cow", "hen"}
    assert {word for word, _ in vectors.neighbours("gold", 3)} == {"iron", "zinc", "lead"}
    assert metrics["tokens"] == 60 * 5 * 5
    assert metrics["parameters"] == 4 * len(toy_counts.WORDS)
    assert 0 < metrics["positive_pairs"] < metrics["pairs"]
    assert 0 < metrics["explained_share"] < 1
    assert metrics["flops"] > 0


def test_two_runs_give_the_same_bytes(folder, monkeypatch):
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("STEMMA_DATA_THREADS", threads)
        FAMILY.pretrain(toy_counts.pretraining("cooccurrence", folder))
        results.append((folder / "out" / "vectors.safetensors").read_bytes())
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"size": 16}, "size: 16 words have fewer than 16"), ({"shift": 1e6}, "shift: no two words")],
)
def test_what_the_corpus_cannot_give_is_refused(folder, changes, message):
    with pytest.raises(TrainingError, match=message):
        FAMILY.pretrain(toy_counts.pretraining("cooccurrence", folder, **changes))
