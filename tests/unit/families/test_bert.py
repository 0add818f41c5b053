"""Pretraining BERT: settings, budget, outputs, determinism."""

import csv
from collections.abc import Iterator

import pytest
import torch
from safetensors.torch import load_file

from stemma.config import parse_settings
from stemma.data.token_store import TokenStore
from stemma.errors import SettingsError
from stemma.families.bert.family import FAMILY as BERT
from stemma.families.bert.family import BertExamples, BertSettings
from stemma.families.bert.network import build_network
from stemma.training.loop import Batch
from tests import toy_bert


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    job = toy_bert.pretraining(tmp_path_factory.mktemp("bert"), steps=60)
    return job, BERT.pretrain(job)


def test_metrics_and_curve(trained):
    job, metrics = trained
    assert metrics["steps"] == 60
    assert metrics["tokens"] > 60 * 4 * 10
    of_the_block = 6 * metrics["tokens"] * (4 * 16 * 16 + 2 * 16 * 32)
    assert of_the_block < metrics["flops"] < 3 * of_the_block
    weights = load_file(job.out / "model.safetensors")
    assert metrics["parameters"] == sum(tensor.numel() for tensor in weights.values())
    with (job.out / "curve.csv").open() as file:
        curve = list(csv.DictReader(file))
    assert list(curve[0]) == ["step", "loss", "mlm", "nsp"]
    assert len(curve) == 60
    for row in curve:
        assert float(row["loss"]) == pytest.approx(float(row["mlm"]) + float(row["nsp"]))


def test_it_learns(tmp_path):
    """Every document is one letter over and over: what is hidden can be seen beside it. Chance is 3.1."""
    job = toy_bert.pretraining(tmp_path, steps=100, batch_size=16, learning_rate=0.02, dropout=0.0)
    for split in ("train", "validation"):
        for file in (job.tokens / split).iterdir():
            file.unlink()
        toy_bert.write_store(job.tokens / split, [[[letter] * 6] * 20 for letter in range(5, 15)])
    assert BERT.pretrain(job)["validation_mlm_loss"] < 1.5


@pytest.mark.parametrize(("direction", "loss"), [("both", "mlm"), ("left-to-right", "lm")])
def test_without_next_sentences_it_learns_words_alone(tmp_path, direction, loss):
    """Every document is one letter over and over, as above; from left to right all but the first word can be known."""
    changes = {"next_sentence": False, "direction": direction}
    job = toy_bert.pretraining(tmp_path, steps=60, batch_size=16, learning_rate=0.02, dropout=0.0, **changes)
    for split in ("train", "validation"):
        for file in (job.tokens / split).iterdir():
            file.unlink()
        toy_bert.write_store(job.tokens / split, [[[letter] * 6] * 20 for letter in range(5, 15)])
    metrics = BERT.pretrain(job)
    assert metrics[f"validation_{loss}_loss"] < 1.5
    assert "validation_nsp_accuracy" not in metrics
    assert (job.out / "curve.csv").read_text().startswith(f"step,loss,{loss}\n")
    words = metrics["tokens"] - 60 * 16 if direction == "left-to-right" else 0.15 * metrics["tokens"]
    rest = 6 * metrics["tokens"] * (4 * 16 * 16 + 2 * 16 * 32 + 2 * 16 * 32)
    assert metrics["flops"] == round(rest + 6 * words * (16 * 16 + 16 * 27))


def test_no_steps_saves_the_network_as_drawn(tmp_path):
    job = toy_bert.pretraining(tmp_path, steps=0, seed=5)
    metrics = BERT.pretrain(job)
    assert (metrics["steps"], metrics["tokens"], metrics["flops"]) == (0, 0, 0)
    drawn = build_network(job.settings, toy_bert.tokenizer(), seed=5).state_dict()
    saved = load_file(job.out / "model.safetensors")
    assert all(torch.equal(tensor, drawn[name]) for name, tensor in saved.items())
    assert (job.out / "curve.csv").read_text() == "step,loss,mlm,nsp\n"


def test_the_same_again_is_the_same_to_the_byte(tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        BERT.pretrain(toy_bert.pretraining(folder))
    one, two = ({path.name: path.read_bytes() for path in (folder / "out").iterdir()} for folder in folders)
    assert one == two


def test_another_seed_is_another_network(tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for seed, folder in enumerate(folders):
        BERT.pretrain(toy_bert.pretraining(folder, seed=seed, steps=2))
    one, two = ((folder / "out" / "model.safetensors").read_bytes() for folder in folders)
    assert one != two


def test_no_validation_documents_is_no_figure(tmp_path):
    job = toy_bert.pretraining(tmp_path, steps=1)
    for file in (job.tokens / "validation").iterdir():
        file.unlink()
    toy_bert.write_store(job.tokens / "validation", [])
    assert BERT.pretrain(job).keys() == {"steps", "tokens", "parameters", "flops"}


def test_static_masks_come_back_each_epoch_and_dynamic_ones_do_not(trained):
    job, _ = trained
    store = TokenStore.open(job.tokens / "train")
    for masking, same in (("static", True), ("dynamic", False)):
        settings = toy_bert.settings(masking=masking, batch_size=10_000)
        examples = BertExamples(store, toy_bert.tokenizer(), settings, seed=1)
        first, second = (sorted(masked_examples(examples.batch_at(step))) for step in (0, 1))
        assert (first == second) == same


def masked_examples(batch: Batch) -> Iterator[list[int]]:
    """The ids of every example of a batch, as they go into the network."""
    for tensors in batch.passes:
        ids = tensors["input_ids"]
        examples = tensors.get("examples", torch.arange(len(ids))[:, None].expand_as(ids))
        yield from (ids[examples == number].tolist() for number in torch.unique(examples) if number >= 0)


def test_batches_have_little_padding_and_passes_no_more_tokens_than_set(tmp_path):
    settings = toy_bert.settings(batch_size=32)
    documents = toy_bert.random_documents(3, 200, max_sentences=5, max_words=5)
    store = TokenStore.open(toy_bert.write_store(tmp_path / "short", documents))
    examples = BertExamples(store, toy_bert.tokenizer(), settings, seed=1)
    for step in (0, 2):  # the first of two epochs
        batch = examples.batch_at(step)
        assert len(list(masked_examples(batch))) == 32
        assert sum(int((tensors["input_ids"] != 0).sum()) for tensors in batch.passes) == batch.num_tokens
        places = [tensors["input_ids"].numel() for tensors in batch.passes]
        assert max(places) <= settings.tokens_per_pass
        assert batch.num_tokens / sum(places) > 0.7, "one a row would be at most 0.65"


def test_rows_that_need_no_mask_have_none(trained):
    job, _ = trained
    examples = BertExamples(TokenStore.open(job.tokens / "train"), toy_bert.tokenizer(), job.settings, seed=1)
    for step in range(10):
        for tensors in examples.batch_at(step).passes:
            alone = (tensors["input_ids"] == 2).sum(1) == 1  # one [CLS]
            full = (tensors["input_ids"] != 0).all(1)
            assert ("examples" in tensors) == (not bool((alone & full).all()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 15}, "multiple of heads"),
        ({"mask_token_share": 0.95}, "together are more than 1"),
        ({"mask_probability": 0.0}, "mask_probability"),
        ({"steps": -1}, "steps"),
        ({"masking": "sometimes"}, "masking"),
        ({"direction": "left-to-right"}, "set next_sentence to false"),
        ({"direction": "right-to-left", "next_sentence": False}, "direction"),
        ({"hidden_size": 15, "heads": 3, "bilstm": True}, "15 is odd"),
        ({"tune": "half"}, "tune"),
        ({"features": "sum-last-four", "layers": 4}, "set bilstm to true"),
        ({"features": "concat-last-four", "layers": 3, "bilstm": True}, "needs four layers, and there are 3"),
        ({"batchsize": 4}, "batchsize: unknown key"),
    ],
)
def test_settings_that_cannot_be_are_refused(change, message):
    with pytest.raises(SettingsError, match=message):
        parse_settings(BertSettings, toy_bert.SETTINGS | change, "params.yaml: variants.bert")
