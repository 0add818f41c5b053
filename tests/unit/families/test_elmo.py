"""The family: settings, training, figures, scoring. Numbers: tests/reference/test_elmo.py."""

import math
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from stemma.config import parse_settings
from stemma.data.batches import Ragged
from stemma.data.token_store import TokenStore
from stemma.errors import CorruptionError, InputError, SettingsError
from stemma.families.elmo.family import FAMILY, ElmoSettings
from stemma.families.elmo.likelihood import document_nats, sentence_nats
from stemma.families.elmo.network import load_network
from stemma.families.elmo.scorer import load_scorer
from stemma.files import digest_tree
from stemma.text.symbols import read_symbols
from tests import toy_elmo, toy_nnlm

Model = tuple[Path, dict[str, float]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A model that has learned something."""
    return toy_elmo.pretrain(tmp_path_factory.mktemp("elmo"), steps=150, dropout=0.0, learning_rate=0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cells": 0}, "cells: "),
        ({"filters": []}, "filters: "),
        ({"filters": [[0, 4]]}, "filters"),
        ({"dropout": 1.0}, "dropout: "),
        ({"heads": 2}, "heads: unknown key"),
    ],
)
def test_settings_that_can_not_be(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_settings(ElmoSettings, toy_elmo.SETTINGS | change, "params.yaml: variants.x")


def test_it_learns_in_both_directions(model: Model) -> None:
    _, metrics = model
    assert metrics["validation_perplexity"] < 8  # 12 events; each letter is one of three
    assert metrics["validation_backward_perplexity"] < 8
    assert metrics["steps"] == 150
    curve = (model[0] / "curve.csv").read_text().splitlines()
    assert curve[0] == "step,loss"
    assert float(curve[-1].split(",")[1]) < float(curve[1].split(",")[1])


def test_counts_are_those_of_the_network(tmp_path: Path) -> None:
    _, metrics = toy_elmo.pretrain(tmp_path, length=8)
    characters, events, filters, size, cells = 262, 12, 10, 6, 8
    of_filters = 1 * 4 * 4 + 3 * 4 * 6
    of_lstms = 2 * 2 * (2 * size * 4 * cells + cells * size)  # layers, directions
    of_highway, of_projection = 2 * filters**2, filters * size
    biases = filters + 2 * filters + size + 2 * 2 * 4 * cells + events
    products = of_filters + of_lstms + of_highway + of_projection + events * size
    assert metrics["parameters"] == characters * 4 + products + biases
    assert metrics["tokens"] == 12 * 4 * 8
    mean_length = (16 * 3 + 2) / 17  # all tokens have one character and two marks, but for [PAD]
    flops = 6 * (of_filters * mean_length + of_lstms + of_highway + of_projection + 2 * events * size)
    assert metrics["flops"] == round(flops * 12 * 4 * 8)


def test_the_score_of_a_text_is_what_was_validated(model: Model) -> None:
    folder, metrics = model
    scores = load_scorer(folder).score(toy_nnlm.sentences(2, 20))
    store = TokenStore.open(folder.parent / "tokens/validation")
    count = store.num_tokens + store.num_sentences
    assert scores.num_predictions.sum() == count
    assert metrics["validation_perplexity"] == pytest.approx(math.exp(scores.nats.sum() / count), rel=1e-6)
    backward = scores.others["backward"].sum()
    assert metrics["validation_backward_perplexity"] == pytest.approx(math.exp(backward / count), rel=1e-6)
    assert metrics["validation_bits_per_byte"] == pytest.approx(
        scores.nats.sum() / math.log(2) / store.num_bytes, rel=1e-6
    )


def test_scores_repeat_and_do_not_depend_on_the_company(model: Model) -> None:
    scorer = load_scorer(model[0])
    sentences = ["a b c d e f", "", "j zz </s> [PAD]"]
    together = scorer.score(sentences)
    assert not scorer.pseudo
    assert together.num_predictions.tolist() == [7, 1, 5]
    assert together.num_unknown.tolist() == [0, 0, 3]
    assert scorer.score(sentences).nats.tolist() == together.nats.tolist()
    alone = [scorer.score([sentence]) for sentence in sentences]
    assert together.nats.tolist() == pytest.approx([one.nats[0] for one in alone], rel=1e-5)
    backward = [one.others["backward"][0] for one in alone]
    assert together.others["backward"].tolist() == pytest.approx(backward, rel=1e-5)
    assert scorer.score([]).nats.tolist() == []


def test_sentences_one_by_one(model: Model) -> None:
    """Both models' nats, written out: one sentence, one token at a time."""
    network, symbols = load_network(model[0]), read_symbols(model[0])
    sentences = [[7, 8, 9, 10], [], [16], [9, 9, 1, 7, 8, 9, 12, 13, 7, 7]]
    with torch.inference_mode():
        found = sentence_nats(network, Ragged.from_rows(sentences, np.int64), symbols)
        for number, sentence in enumerate(sentences):
            for direction, words in enumerate((sentence, sentence[::-1])):
                text = torch.tensor([symbols.end, *words, symbols.end])
                both = text[None, :-1, None].expand(2, -1, 1)
                tokens, places = torch.unique(both, return_inverse=True)
                top = network.read(tokens, places).layers[-1][direction, :, 0]
                assert found[direction, number] == pytest.approx(network.nats(top, text[1:]).sum().item(), rel=1e-5)


def test_running_text_goes_on_from_sentence_to_sentence(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document is one long text to both models, whichever texts are read beside it and however long its stretches are."""
    network, symbols = load_network(model[0]), read_symbols(model[0])
    sentences = Ragged.from_rows([[7, 8, 9, 10], [], [16], [9, 9, 1, 7, 8], [11]], np.int64)
    text = torch.tensor([6, 7, 8, 9, 10, 6, 6, 16, 6])
    with torch.inference_mode():
        whole = document_nats(network, sentences, np.array([0, 3, 5]), symbols)
        for direction, given in enumerate((text, text.flip(0))):
            tokens, places = torch.unique(given[None, :-1, None].expand(2, -1, 1), return_inverse=True)
            top = network.read(tokens, places).layers[-1][direction, :, 0]
            assert whole[direction, 0] == pytest.approx(network.nats(top, given[1:]).sum().item(), rel=1e-5)
        monkeypatch.setattr("stemma.families.elmo.likelihood._STEPS", 3)
        assert document_nats(network, sentences, np.array([0, 3, 5]), symbols) == pytest.approx(whole, rel=1e-5)
        alone = sentence_nats(network, sentences, symbols)
    assert not np.isclose(whole[:, 0], alone[:, :3].sum(axis=1), rtol=1e-4).any()


def test_running_scores_are_what_was_validated(model: Model) -> None:
    folder, metrics = model
    texts = toy_nnlm.sentences(2, 20)
    documents = [texts[:10], texts[10:]]  # as the store has them
    scorer = load_scorer(folder)
    scores, alone = scorer.score_running(documents), scorer.score(texts)
    assert scores.num_predictions.tolist() == [alone.num_predictions[:10].sum(), alone.num_predictions[10:].sum()]
    assert scores.num_unknown.tolist() == [0, 0]
    perplexity = math.exp(scores.nats.sum() / scores.num_predictions.sum())
    assert metrics["validation_running_perplexity"] == pytest.approx(perplexity, rel=1e-6)
    assert scorer.score_running([["a b zz"], []]).num_unknown.tolist() == [1, 0]


def test_the_same_twice(tmp_path: Path) -> None:
    one, _ = toy_elmo.pretrain(tmp_path / "one")
    other, _ = toy_elmo.pretrain(tmp_path / "other")
    assert digest_tree([one]) == digest_tree([other])


def test_word_pieces_are_read_as_words_are(tmp_path: Path) -> None:
    folder, metrics = toy_elmo.pretrain(tmp_path, pieces=True)
    assert math.isfinite(metrics["validation_perplexity"])
    scores = load_scorer(folder).score(["abc", "a b c", "!"])
    assert scores.num_predictions.tolist() == [4, 4, 2]
    assert scores.num_unknown.tolist() == [0, 0, 1]
    assert scores.nats[0] != scores.nats[1], "a piece inside a word is not the one that begins it"


def test_dropout_is_for_training_alone(tmp_path: Path) -> None:
    folder, _ = toy_elmo.pretrain(tmp_path, dropout=0.5)
    network = load_network(folder)
    tokens, places = torch.tensor([6, 7]), torch.tensor([0, 1, 1]).view(1, 3, 1).expand(2, 3, 1)

    def loss() -> float:
        return network.loss(network.read(tokens, places), torch.full((2, 3, 1), 7)).item()

    assert loss() == loss()
    network.train()
    assert loss() != loss()


def test_steps_can_be_taken_one_by_one(tmp_path: Path) -> None:
    assert FAMILY.steps is not None
    assert list(islice(FAMILY.steps(toy_elmo.pretraining(tmp_path)), 3)) == [48, 48, 48]


def test_a_folder_without_a_model_and_a_damaged_one_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"network\.json is missing"):
        load_network(tmp_path)
    folder, _ = toy_elmo.pretrain(tmp_path)
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(CorruptionError, match=r"model\.safetensors: bytes do not match"):
        load_scorer(folder)
