"""The family: settings, pairs, training, figures, translating. Numbers: tests/reference/test_transformer.py."""

import math
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from stemma.config import parse_settings
from stemma.data.token_store import TokenStore
from stemma.errors import CorruptionError, InputError, SettingsError, TrainingError
from stemma.families.transformer.data import Pairs
from stemma.families.transformer.family import FAMILY, TransformerSettings
from stemma.families.transformer.network import load_network
from stemma.files import digest_tree
from stemma.protocols import Translator
from stemma.text.symbols import read_symbols
from tests import toy_ngrams, toy_transformer

Model = tuple[Path, dict[str, float]]
FIRST = toy_ngrams.FIRST_WORD


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A model that has learned to turn letters round."""
    folder = tmp_path_factory.mktemp("transformer")
    budget = {"train": 1500, "steps": 400, "batch_size": 64, "checkpoint_every": 400}
    return toy_transformer.pretrain(folder, **budget, dropout=0.0, hidden_size=32, intermediate_size=64)


@pytest.fixture(scope="module")
def translator(model: Model) -> Translator:
    assert FAMILY.load_translator is not None
    return FAMILY.load_translator(model[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": 0}, "layers: "),
        ({"heads": 3}, "hidden_size 16 is not a multiple of heads 3"),
        ({"schedule": "cosine"}, "schedule: "),
        ({"label_smoothing": 1.0}, "label_smoothing: "),
        ({"beam": 0}, "beam: "),
        ({"betas": [0.9]}, "betas"),
        ({"context": 2}, "context: unknown key"),
    ],
)
def test_settings_that_can_not_be(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_settings(TransformerSettings, toy_transformer.SETTINGS | change, "params.yaml: variants.x")


def test_it_learns_to_translate(model: Model, translator: Translator) -> None:
    _, metrics = model
    assert metrics["validation_perplexity"] < 1.6  # of 6 capitals and the end
    pairs = toy_transformer.pairs(3, 50)
    found = translator.translate([source for source, _ in pairs])
    right = sum(one == target for one, (_, target) in zip(found, pairs, strict=True))
    assert right >= 35  # by guessing, about one in a thousand of the longest
    curve = (model[0] / "curve.csv").read_text().splitlines()
    assert curve[0] == "step,loss"
    assert float(curve[-1].split(",")[1]) < float(curve[1].split(",")[1])


def test_translations_do_not_depend_on_the_company(translator: Translator) -> None:
    sentences = ["a b c d", "", "f", "zz ? a", "   "]
    together = translator.translate(sentences)
    assert [together[1], together[4]] == ["", ""]
    assert [translator.translate([sentence])[0] for sentence in sentences] == together
    assert translator.translate(sentences) == together
    assert translator.translate([]) == []
    assert not any("[" in one or "<" in one for one in together), "no marks, no unknown words"


def test_a_beam_may_be_given(model: Model, translator: Translator) -> None:
    sentences = [source for source, _ in toy_transformer.pairs(4, 20)]
    assert translator.translate(sentences) == translator.translate(sentences, beam=4), "the model's own"
    assert len(translator.translate(sentences, beam=1)) == 20


def test_the_validation_loss_is_that_of_single_pairs(model: Model) -> None:
    folder, metrics = model
    network, symbols = load_network(folder), read_symbols(folder)
    pairs = Pairs(TokenStore.open(folder.parent / "tokens/validation"), symbols, max_length=12)
    nats, count = 0.0, 0
    for number in range(len(pairs)):
        tensors = pairs.tensors(np.array([number]))
        words = tensors.pop("words")
        nats += float(cross_entropy(network.scores(network.predictions(**tensors)), words, reduction="sum").detach())
        count += len(words)
    assert metrics["validation_loss"] == pytest.approx(nats / count, rel=1e-4)
    assert metrics["validation_perplexity"] == pytest.approx(math.exp(nats / count), rel=1e-4)


def test_counts_are_those_of_the_network(tmp_path: Path) -> None:
    _, metrics = toy_transformer.pretrain(tmp_path, layers=2)
    size, inner, ids = 16, 32, 7 + 12
    attention, norm, forward = 4 * size**2 + 4 * size, 2 * size, 2 * size * inner + size + inner
    blocks = 2 * (attention + 2 * norm + forward) + 2 * (2 * attention + 3 * norm + forward)
    assert metrics["parameters"] == ids * size + blocks
    pairs = [(len(source.split()) + 1, len(target.split()) + 1) for source, target in toy_transformer.pairs(1, 60)]
    assert metrics["pairs"] == 60
    assert metrics["tokens"] == 3 * sum(map(sum, pairs)), "12 steps are three epochs"
    products = sum(
        2 * (s * (4 * size**2 + 2 * size * inner) + 2 * size * s * s)  # the encoder
        + 2 * (t * (4 * size**2 + 2 * size * inner) + 2 * size * t * t)  # the decoder's own
        + 2 * (2 * t * size**2 + 2 * s * size**2 + 2 * size * s * t)  # its look at the source
        + t * size * ids
        for s, t in pairs
    )
    assert metrics["flops"] == pytest.approx(6 * products * 3)


def store_of(folder: Path, documents: list[list[str]], **options: int) -> tuple[TokenStore, Any]:
    tokenizer = toy_ngrams.save_tokenizer(folder / "tokenizer", "abcdefABCDEF")
    toy_transformer.save_pairs(folder / "tokens", documents, tokenizer, **options)
    return TokenStore.open(folder / "tokens"), read_symbols(folder / "tokenizer")


def test_pairs_as_the_network_takes_them(tmp_path: Path) -> None:
    documents = [["a b", "B A x"], ["c", "C"], ["a b c d", "A"], ["a", ""], ["a b c d e", "A"]]
    store, symbols = store_of(tmp_path, documents, tokens_per_shard=4)
    assert len(list(store.shards())) > 1
    pairs = Pairs(store, symbols, max_length=4)
    assert (len(pairs), pairs.num_left_out) == (3, 2), "an empty side, and one that is too long"
    tensors = pairs.tensors(np.array([2, 0]))
    a, b, c, d = range(FIRST, FIRST + 4)
    begin, end, unknown = symbols.begin, symbols.end, symbols.unknown
    assert tensors["source"].tolist() == [[a, b, c, d, end], [a, b, end, end, end]]
    assert tensors["lengths"].tolist() == [5, 3]
    assert tensors["inside"].tolist() == [[True, True, False, False], [True] * 4]
    assert tensors["target"][tensors["inside"]].tolist() == [begin, a + 6, begin, b + 6, a + 6, unknown]
    assert tensors["words"].tolist() == [a + 6, end, b + 6, a + 6, unknown, end]


def test_documents_that_are_no_pairs_are_refused(tmp_path: Path) -> None:
    store, symbols = store_of(tmp_path, [["a", "A"], ["a", "b", "c"]])
    with pytest.raises(TrainingError, match=r"a document of 3 sentences.*kind 'parallel'"):
        Pairs(store, symbols, max_length=4)


def test_a_corpus_without_a_pair_that_fits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no pair of sentences to train on; raise max_length"):
        toy_transformer.pretrain(tmp_path / "long", max_length=1, train=2)


def test_without_validation_pairs_there_are_no_figures_of_them(tmp_path: Path) -> None:
    job = toy_transformer.pretraining(tmp_path)
    (job.tokens / "validation" / "index.json").write_text(
        '{"bytes": 0, "documents": 0, "dtype": "uint16", "sentences": 0, "shards": [], "tokens": 0}'
    )
    assert "validation_loss" not in FAMILY.pretrain(job)


def test_the_same_twice(tmp_path: Path) -> None:
    one, _ = toy_transformer.pretrain(tmp_path / "one")
    other, _ = toy_transformer.pretrain(tmp_path / "other")
    assert digest_tree([one]) == digest_tree([other])


def test_dropout_is_for_training_alone(tmp_path: Path) -> None:
    folder, _ = toy_transformer.pretrain(tmp_path, dropout=0.5)
    network = load_network(folder)
    pairs = Pairs(TokenStore.open(tmp_path / "tokens/train"), read_symbols(folder), max_length=12)
    tensors = pairs.tensors(np.arange(4))
    del tensors["words"]
    with torch.no_grad():
        assert torch.equal(network.predictions(**tensors), network.predictions(**tensors))
        network.train()
        assert not torch.equal(network.predictions(**tensors), network.predictions(**tensors))


def test_steps_can_be_taken_one_by_one(tmp_path: Path) -> None:
    assert FAMILY.steps is not None
    job = toy_transformer.pretraining(tmp_path)
    taken = list(islice(FAMILY.steps(job), 4))
    pairs = toy_transformer.pairs(1, 60)
    assert sum(taken) == sum(len(source.split()) + len(target.split()) + 2 for source, target in pairs), "one epoch"


def test_a_folder_without_a_model_and_a_damaged_one_are_named(tmp_path: Path) -> None:
    assert FAMILY.load_translator is not None
    with pytest.raises(InputError, match=r"network\.json is missing"):
        load_network(tmp_path)
    folder, _ = toy_transformer.pretrain(tmp_path)
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(CorruptionError, match=r"model\.safetensors: bytes do not match"):
        FAMILY.load_translator(folder)
