"""Looking up n-grams: nodes, words, counts; and a model that is read back."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from stemma.files import read_json
from tests.toy_ngrams import block, model_of, settings

A, B, C, NEVER = 7, 8, 9, 10
BEGIN, END, UNKNOWN = 5, 6, 1
CORPUS = [[A, B, A], [A, B], [C], [UNKNOWN, A, B, A]]


def columns(*window: int) -> list[np.ndarray]:
    """One window, given in reading order."""
    return [np.array([word]) for word in reversed(window)]


def test_counts_are_to_be_had(tmp_path: Path) -> None:
    model = model_of(CORPUS, 4, settings("kneser-ney", 3), tmp_path)
    assert [count.tolist() for count in model.counts(columns(BEGIN, A, B))] == [[3], [3], [2]]  # B, A B, <s> A B
    assert [count.tolist() for count in model.counts(columns(A, B, C))] == [[1], [0], [0]]
    assert [count.tolist() for count in model.counts(columns(BEGIN))] == [[4]]
    assert [count.tolist() for count in model.counts(columns(NEVER, B, A))] == [[5], [2], [0]]
    assert [model.size(order) for order in (1, 2, 3)] == [6, 9, 7]


def test_words_of_nodes_lead_back_to_the_nodes(tmp_path: Path) -> None:
    model = model_of(CORPUS, 4, settings("laplace", 3), tmp_path)
    for order in (1, 2, 3):
        nodes = np.arange(model.size(order)) if order > 1 else np.array([A, B])
        words = model.words(order, nodes)
        assert model.nodes(words[::-1])[order - 1].tolist() == nodes.tolist()


def test_a_batch_is_scored_as_its_sentences_are(tmp_path: Path) -> None:
    model = model_of(CORPUS, 4, settings("kneser-ney", 4), tmp_path)
    sentences = [[A, B, A], [], [NEVER, C], [B] * 9]
    probabilities, tokens, starts = model.predict_sentences(*block(sentences))
    alone = [model.predict_sentences(*block([sentence])) for sentence in sentences]
    assert probabilities.tolist() == [p for part, _, _ in alone for p in part.tolist()]
    assert tokens.tolist() == [word for sentence in sentences for word in [*sentence, END]]
    assert starts.tolist() == [0, 4, 5, 8]


def test_a_token_is_predicted_from_its_own_sentence_only(tmp_path: Path) -> None:
    model = model_of(CORPUS, 4, settings("kneser-ney", 3), tmp_path)
    first = model.predict_sentences(*block([[A], [B]]))[0][2]
    assert first == pytest.approx(model.distribution([BEGIN])[B])
    assert first != pytest.approx(model.distribution([A])[B])


def test_a_longer_context_than_the_order_is_cut(tmp_path: Path) -> None:
    model = model_of(CORPUS, 4, settings("kneser-ney", 2), tmp_path)
    assert model.distribution([C, C, A]).tolist() == model.distribution([A]).tolist()
    unigram = model_of(CORPUS, 4, settings("kneser-ney", 1), tmp_path / "1")
    assert unigram.distribution([C, A]).tolist() == unigram.distribution([]).tolist()


def test_the_file_holds_every_array_by_order(tmp_path: Path) -> None:
    model_of(CORPUS, 4, settings("kneser-ney", 2), tmp_path)
    assert set(load_file(tmp_path / "model.safetensors")) == {
        *("counts.1", "probabilities.1", "backoffs.1"),
        *("keys.2", "counts.2", "probabilities.2"),
    }
    config = read_json(tmp_path / "ngram.json")
    assert config["order"] == 2
    assert len(config["discounts"]) == 2
