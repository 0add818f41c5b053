"""Pretraining GPT: settings, budget, outputs, scoring, determinism. Numbers: tests/reference/test_gpt.py."""

import math
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from stemma.config import parse_settings
from stemma.data.token_store import TokenStore
from stemma.errors import CorruptionError, InputError, SettingsError
from stemma.families.gpt.family import FAMILY, GptExamples, GptSettings
from stemma.families.gpt.network import build_network, load_network
from stemma.families.gpt.scorer import load_scorer
from stemma.files import digest_tree
from stemma.text.symbols import read_symbols
from tests import toy_bert, toy_gpt, toy_nnlm

Model = tuple[Path, dict[str, float]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return toy_gpt.pretrain(tmp_path_factory.mktemp("gpt"), steps=150, dropout=0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 15}, "multiple of heads"),
        ({"max_length": 4}, "max_length"),
        ({"steps": -1}, "steps"),
        ({"dropout": 1.0}, "dropout"),
        ({"masking": "dynamic"}, "masking: unknown key"),
    ],
)
def test_settings_that_can_not_be(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_settings(GptSettings, toy_gpt.SETTINGS | change, "params.yaml: variants.gpt")


def test_it_learns(model: Model) -> None:
    folder, metrics = model
    assert metrics["validation_perplexity"] < 8  # 12 events; each letter is one of three
    curve = (folder / "curve.csv").read_text().splitlines()
    assert curve[0] == "step,loss"
    assert len(curve) == 151
    assert float(curve[-1].split(",")[1]) < float(curve[1].split(",")[1])


def test_what_it_took(model: Model) -> None:
    folder, metrics = model
    assert metrics["steps"] == 150
    assert 150 * 60 < metrics["tokens"] <= 150 * 64, "four rows a step; few are short"
    weights = load_file(folder / "model.safetensors")
    assert metrics["parameters"] == sum(tensor.numel() for tensor in weights.values())
    assert metrics["flops"] == 6 * metrics["tokens"] * (12 * 16 * 16 + 2 * 16 * 16 + 16 * 17)


def test_validation_is_the_scorers_own(model: Model) -> None:
    folder, metrics = model
    sentences = toy_nnlm.sentences(2, 20)
    scorer = load_scorer(folder)
    alone = scorer.score(sentences)
    store = TokenStore.open(folder.parent / "tokens/validation")
    predictions = store.num_tokens + store.num_sentences
    assert alone.num_predictions.sum() == predictions
    assert metrics["validation_perplexity"] == pytest.approx(math.exp(alone.nats.sum() / predictions), rel=1e-6)
    assert metrics["validation_bits_per_byte"] == pytest.approx(alone.nats.sum() / math.log(2) / store.num_bytes)
    running = scorer.score_running([sentences[:10], sentences[10:]])  # as documents lie in the store
    assert running.num_predictions.sum() == predictions
    assert metrics["validation_running_perplexity"] == pytest.approx(
        math.exp(running.nats.sum() / predictions), rel=1e-6
    )
    assert running.nats.sum() != pytest.approx(alone.nats.sum(), rel=1e-4)


def test_scores_repeat_and_do_not_depend_on_the_company(model: Model) -> None:
    scorer = load_scorer(model[0])
    sentences = ["a b c", "", "j zz </s> [PAD]", "a b c d e f g h i j " * 5]
    together = scorer.score(sentences)
    assert not scorer.pseudo
    assert together.num_predictions.tolist() == [4, 1, 5, 51]
    assert together.num_unknown.tolist() == [0, 0, 3, 0]
    assert scorer.score(sentences).nats.tolist() == together.nats.tolist()
    alone = [scorer.score([sentence]).nats[0] for sentence in sentences]
    assert together.nats.tolist() == pytest.approx(alone, rel=1e-5)
    assert scorer.score([]).nats.tolist() == []


def test_no_steps_saves_the_network_as_drawn(tmp_path: Path) -> None:
    folder, metrics = toy_gpt.pretrain(tmp_path, steps=0, seed=5)
    assert (metrics["steps"], metrics["tokens"], metrics["flops"]) == (0, 0, 0)
    drawn = build_network(toy_gpt.settings(), read_symbols(folder), seed=5).state_dict()
    assert all(torch.equal(tensor, drawn[name]) for name, tensor in load_file(folder / "model.safetensors").items())
    with pytest.raises(SettingsError, match="steps: 0"):
        next(FAMILY.steps(toy_gpt.pretraining(tmp_path, steps=0)))  # type: ignore[misc]


def test_the_same_twice_and_another_with_another_seed(tmp_path: Path) -> None:
    one, two, other = (
        toy_gpt.pretrain(tmp_path / name, seed=seed, steps=6)[0]
        for name, seed in (("one", 1), ("two", 1), ("other", 2))
    )
    assert digest_tree([one]) == digest_tree([two])
    assert (one / "model.safetensors").read_bytes() != (other / "model.safetensors").read_bytes()


def test_no_validation_documents_is_no_figure(tmp_path: Path) -> None:
    job = toy_gpt.pretraining(tmp_path, steps=1)
    for file in (job.tokens / "validation").iterdir():
        file.unlink()
    toy_bert.write_store(job.tokens / "validation", [])
    assert FAMILY.pretrain(job).keys() == {"steps", "tokens", "parameters", "flops"}


def test_steps_can_be_taken_one_by_one(tmp_path: Path) -> None:
    assert FAMILY.steps is not None
    taken = list(islice(FAMILY.steps(toy_gpt.pretraining(tmp_path)), 3))
    assert taken == [64, 64, 64]


def test_rows_are_full_and_passes_have_no_more_tokens_than_set(model: Model) -> None:
    store = TokenStore.open(model[0].parent / "tokens/train")
    examples = GptExamples(store, read_symbols(model[0]), toy_gpt.settings(batch_size=6, tokens_per_pass=32), seed=1)
    for step in range(4):
        for tensors in examples.batch_at(step).passes:
            assert tensors["input_ids"].shape[0] <= 2
            assert tensors["input_ids"].shape[1] == 16
            assert len(tensors["words"]) == len(tensors.get("asked", tensors["input_ids"].flatten()))
            assert ("asked" in tensors) == (len(tensors["words"]) < tensors["input_ids"].numel()), "at a shard's end"
    two = GptExamples(store, read_symbols(model[0]), toy_gpt.settings(tokens_per_pass=1000, processes=2), seed=1)
    assert {len(two.batch_at(step).passes) for step in range(40)} == {2}


def test_every_batch_is_full_and_an_epoch_has_every_row(model: Model) -> None:
    store = TokenStore.open(model[0].parent / "tokens/train")
    examples = GptExamples(store, read_symbols(model[0]), toy_gpt.settings(batch_size=7, tokens_per_pass=1000), seed=1)
    steps = -(-len(examples.rows) // 7)
    assert len(examples.rows) % 7
    batches = [examples.batch_at(step).passes[0]["input_ids"] for step in range(steps)]
    assert {len(batch) for batch in batches} == {7}
    seen = {tuple(row.tolist()) for batch in batches for row in batch}
    expected = {tuple(row[:-1].tolist()) for row in examples.rows.build(np.arange(len(examples.rows)), 0)}
    assert {row for row in expected if len(row) == 16} <= seen


def test_a_tokenizer_without_own_boundaries_lends_others(tmp_path: Path) -> None:
    folder = toy_gpt.pretrain_on_pieces(tmp_path, steps=1)
    scores = load_scorer(folder).score(["abc de", "a"])
    assert scores.num_predictions.tolist() == [6, 2]


def test_a_folder_without_a_model_and_a_damaged_one_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no GPT model here \(config.json is missing\)"):
        load_network(tmp_path)
    folder, _ = toy_gpt.pretrain(tmp_path, steps=1)
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(CorruptionError, match=r"model\.safetensors: bytes do not match"):
        load_scorer(folder)
