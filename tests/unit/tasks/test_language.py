"""Perplexity and bits per byte of known scorers."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stemma.progress import NullProgress
from stemma.protocols import Scores
from stemma.tasks.language import count_sentences, measure, read_ids, read_sentences, sample_sentences


class UniformScorer:
    """Each word and each sentence's end is one of eight; words with a capital are unknown."""

    def __init__(self, pseudo: bool = False, impossible: str = "") -> None:
        self.pseudo, self.impossible = pseudo, impossible
        self.batches: list[int] = []

    def score(self, sentences: Sequence[str]) -> Scores:
        self.batches.append(len(sentences))
        tokens = np.array([len(sentence.split()) + 1 for sentence in sentences])
        nats = tokens * math.log(8)
        nats[[sentence == self.impossible for sentence in sentences]] = math.inf
        unknown = np.array([sum(word[0].isupper() for word in sentence.split()) for sentence in sentences])
        return Scores(nats=nats, num_predictions=tokens, num_unknown=unknown)


def write_split(folder: Path, documents: dict[str, list[str]], parts: int = 1) -> Path:
    folder.mkdir(parents=True)
    names = list(documents)
    for part in range(parts):
        rows = [{"id": name, "source": "s", "sentences": documents[name]} for name in names[part::parts]]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"part-{part:05d}.parquet")
    return folder


def test_figures_of_a_uniform_model():
    figures = measure(UniformScorer(), ["ab cd", "Ab é"], NullProgress()).as_dict()
    assert figures == {
        "sentences": 2,
        "tokens": 6,
        "bytes": 5 + 5,  # é is two bytes
        "impossible_sentences": 0,
        "unknown_rate": pytest.approx(1 / 6),
        "perplexity": pytest.approx(8),
        "bits_per_byte": pytest.approx(6 * 3 / 10),
    }


def test_a_pseudo_likelihood_says_so_and_goes_in_small_batches():
    scorer = UniformScorer(pseudo=True)
    figures = measure(scorer, ["a b"] * 50, NullProgress()).as_dict()
    assert figures["pseudo_perplexity"] == pytest.approx(8)
    assert "perplexity" not in figures
    assert len(scorer.batches) > 1


def test_batches_do_not_change_the_figures():
    sentences = [f"a b{' c' * (i % 7)}" for i in range(2500)]
    scorer = UniformScorer()
    assert measure(scorer, iter(sentences), NullProgress()).sentences == 2500
    assert max(scorer.batches) <= 1000


def test_an_impossible_sentence_leaves_no_perplexity():
    figures = measure(UniformScorer(impossible="x"), ["a b", "x"], NullProgress()).as_dict()
    assert (figures["impossible_sentences"], figures["perplexity"], figures["bits_per_byte"]) == (1, None, None)


def test_sentences_are_read_in_order(tmp_path):
    split = write_split(tmp_path / "test", {"a": ["1", "2"], "b": [], "c": ["3"]}, parts=2)
    assert list(read_sentences(split)) == ["1", "2", "3"]
    assert count_sentences(split) == 3
    assert set(read_ids(split)) == {"a", "b", "c"}


def test_the_sample_depends_on_documents_not_on_files(tmp_path):
    documents = {f"d{i}": [f"{i}.{j}" for j in range(5)] for i in range(40)}
    one = sample_sentences(write_split(tmp_path / "one", documents), 20)
    other = sample_sentences(write_split(tmp_path / "other", documents, parts=3), 20)
    assert one == other
    assert len(set(one)) == 20
    assert one[:10] == sample_sentences(tmp_path / "one", 10)  # a smaller sample is part of a larger one
    assert len({sentence.split(".")[0] for sentence in one}) > 10  # from all over the split
    assert len(sample_sentences(tmp_path / "one", 1000)) == 200
