"""The family: settings, training, figures, scoring, vectors. Numbers: tests/reference/test_nnlm.py."""

import math
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from stemma.config import parse_settings
from stemma.data.token_store import TokenStore
from stemma.errors import CorruptionError, InputError, SettingsError
from stemma.families.nnlm.family import FAMILY, NnlmSettings, batch_source, objective
from stemma.families.nnlm.network import load_network
from stemma.families.nnlm.scorer import load_scorer
from stemma.families.nnlm.windows import read_windows
from stemma.files import digest_tree
from stemma.text.symbols import read_symbols
from tests import toy_nnlm

Model = tuple[Path, dict[str, float]]


@pytest.fixture(scope="module", params=["full", "adaptive"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A model with each of the last layers."""
    folder = tmp_path_factory.mktemp("nnlm")
    return toy_nnlm.pretrain(folder, softmax=request.param, steps=200, dropout=0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"context": 0}, "context: "),
        ({"softmax": "sampled"}, "softmax: "),
        ({"softmax": "adaptive", "cutoffs": []}, "cutoffs: give one or more rising"),
        ({"softmax": "adaptive", "cutoffs": [8, 4]}, "cutoffs: give one or more rising"),
        ({"dropout": 1.0}, "dropout: "),
        ({"heads": 2}, "heads: unknown key"),
    ],
)
def test_settings_that_can_not_be(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_settings(NnlmSettings, toy_nnlm.SETTINGS | change, "params.yaml: variants.x")


@pytest.mark.parametrize(
    ("cutoffs", "message"),
    [
        ([12], "the last is 12, but there are 12 words to predict"),
        ([4, 8], "2 classes, .* are too many for 7 features"),
    ],
)
def test_cutoffs_that_do_not_fit_are_refused(tmp_path: Path, cutoffs: list[int], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        toy_nnlm.pretrain(tmp_path, softmax="adaptive", cutoffs=cutoffs)


def test_it_learns(model: Model) -> None:
    _, metrics = model
    assert metrics["validation_perplexity"] < 8  # 12 events; each letter is one of three
    assert metrics["steps"] == 200
    curve = (model[0] / "curve.csv").read_text().splitlines()
    assert curve[0] == "step,loss"
    assert float(curve[-1].split(",")[1]) < float(curve[1].split(",")[1])


def test_counts_are_those_of_the_network(tmp_path: Path) -> None:
    _, metrics = toy_nnlm.pretrain(tmp_path, direct=True)
    ids, events, x, hidden = 17, 12, 3 * 5, 6
    assert metrics["parameters"] == ids * 5 + (x * hidden + hidden) + events * (x + hidden + 1)
    assert metrics["tokens"] == 12 * 32
    assert metrics["flops"] == 6 * (x * hidden + events * (x + hidden + 1)) * 12 * 32


def test_the_score_of_a_text_is_the_loss_on_it(model: Model) -> None:
    folder, metrics = model
    sentences = toy_nnlm.sentences(2, 20)
    scores = load_scorer(folder).score(sentences)
    network, symbols = load_network(folder), read_symbols(folder)
    store = TokenStore.open(folder.parent / "tokens/validation")
    windows = torch.from_numpy(np.concatenate([part[:] for part in read_windows(store, symbols, 3)]))
    loss = objective(network, {"windows": windows})["loss"].item()
    assert scores.num_predictions.sum() == len(windows)
    assert scores.nats.sum() / len(windows) == pytest.approx(loss, rel=1e-6)
    assert metrics["validation_perplexity"] == pytest.approx(math.exp(loss), rel=1e-6)
    assert metrics["validation_bits_per_byte"] == pytest.approx(scores.nats.sum() / math.log(2) / store.num_bytes)


def test_scores_repeat_and_do_not_depend_on_the_company(model: Model) -> None:
    scorer = load_scorer(model[0])
    sentences = ["a b c", "", "j zz </s> [PAD]"]
    together = scorer.score(sentences)
    assert not scorer.pseudo
    assert together.num_predictions.tolist() == [4, 1, 5]
    assert together.num_unknown.tolist() == [0, 0, 3]
    assert scorer.score(sentences).nats.tolist() == together.nats.tolist()
    alone = [scorer.score([sentence]).nats[0] for sentence in sentences]
    assert together.nats.tolist() == pytest.approx(alone, rel=1e-5)
    assert scorer.score([]).nats.tolist() == []


def test_vectors_are_the_words_rows_of_the_table(model: Model) -> None:
    assert FAMILY.load_vectors is not None
    vectors = FAMILY.load_vectors(model[0])
    assert list(vectors.words) == list(toy_nnlm.LETTERS)
    assert np.array_equal(vectors.matrix, load_network(model[0]).vectors.detach().numpy()[7:])


@pytest.mark.parametrize("change", [{}, {"direct": True}, {"softmax": "adaptive"}], ids=str)
def test_the_same_twice(tmp_path: Path, change: dict[str, Any]) -> None:
    one, _ = toy_nnlm.pretrain(tmp_path / "one", **change)
    other, _ = toy_nnlm.pretrain(tmp_path / "other", **change)
    assert digest_tree([one]) == digest_tree([other])


def test_dropout_is_for_training_alone(tmp_path: Path) -> None:
    job = toy_nnlm.pretraining(tmp_path, dropout=0.5)
    FAMILY.pretrain(job)
    (job.out / "tokenizer.json").write_bytes((job.tokenizer / "tokenizer.json").read_bytes())
    network = load_network(job.out)
    windows = batch_source(job, read_symbols(job.tokenizer))(0).passes[0]["windows"]
    assert network.nats(windows).tolist() == network.nats(windows).tolist()
    network.train()
    assert network.nats(windows).tolist() != network.nats(windows).tolist()


def test_steps_can_be_taken_one_by_one(tmp_path: Path) -> None:
    assert FAMILY.steps is not None
    assert list(islice(FAMILY.steps(toy_nnlm.pretraining(tmp_path)), 3)) == [32, 32, 32]


def test_a_folder_without_a_model_and_a_damaged_one_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"network\.json is missing"):
        load_network(tmp_path)
    folder, _ = toy_nnlm.pretrain(tmp_path)
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(CorruptionError, match=r"model\.safetensors: bytes do not match"):
        load_scorer(folder)
