"""ELMo as features: rows and their padding, what is tuned and what is not, folders."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from torch import Tensor, nn

from stemma.families.elmo.encoder import (
    ElmoEncoder,
    TaskNetwork,
    load_encoder,
    load_tuned,
    read_layers,
)
from stemma.families.elmo.network import load_network
from stemma.files import write_json
from stemma.layers.crf import CrfTagger
from stemma.layers.lstm import Turn
from stemma.progress import NullProgress
from stemma.protocols import HeadKind
from stemma.tasks.tuning import Tuned, Tuner
from stemma.training.tracker import NullTracker
from tests import toy_elmo, toy_tasks

KINDS: list[HeadKind] = ["classification", "span", "tagging"]
LABELS = ["O", "B-A", "I-A"]
ROWS = [[2, 7, 8, 9, 3], [2, 5, 3, 16, 17, 26, 3], [2, 3], [2, 11, 3]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_elmo.pretrain(tmp_path_factory.mktemp("elmo"), pieces=True, size=8, cells=16, steps=30)[0]


@pytest.fixture
def encoder(folder: Path) -> ElmoEncoder:
    return load_encoder(folder)


@pytest.fixture
def encoder_for(folder: Path, tmp_path: Path) -> Callable[..., ElmoEncoder]:
    def load(tune: str, *, crf: bool = False) -> ElmoEncoder:
        for path in folder.iterdir():
            (tmp_path / path.name).write_bytes(path.read_bytes())
        settings = {"tune": tune, "task_size": 16, "task_dropout": 0.1, "task_learning_rate": 0.03, "crf": crf}
        write_json(tmp_path / "task_network.json", settings)
        return load_encoder(tmp_path)

    return load


def inputs(rows: list[list[int]], width: int) -> dict[str, Tensor]:
    """Rows as a task's features have them: a second text from the first [SEP] on, and padding."""
    ids, mask, types = torch.zeros(3, len(rows), width, dtype=torch.long)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
        mask[number, : len(row)] = 1
        types[number, row.index(3) + 1 : len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


def test_features_of_a_row_are_those_of_its_text_read_from_both_sides(folder: Path) -> None:
    network = load_network(folder)
    batch = inputs(ROWS, 8)
    with torch.inference_mode():
        layers = read_layers(network, batch["input_ids"].t(), Turn(batch["attention_mask"].sum(1), 8))
        for number, row in enumerate(ROWS):
            text = torch.tensor(row)
            tokens, places = torch.unique(torch.stack([text, text.flip(0)])[:, :, None], return_inverse=True)
            for ours, alone in zip(layers, network.read(tokens, places).layers, strict=True):
                expected = torch.cat([alone[0, :, 0], alone[1, :, 0].flip(0)], dim=1)
                torch.testing.assert_close(ours[: len(row), number], expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_does_not_depend_on_its_padding_nor_on_other_rows(encoder: ElmoEncoder, kind: HeadKind) -> None:
    model = encoder.with_head(kind, LABELS, seed=1).eval()
    with torch.inference_mode():
        together, wider = (model(**inputs(ROWS, width)) for width in (7, 16))
        for number, row in enumerate(ROWS):
            alone = model(**inputs([row], len(row)))[0]
            stop = slice(None) if kind == "classification" else slice(len(row))
            torch.testing.assert_close(together[number][stop], alone)
            torch.testing.assert_close(wider[number][stop], alone)
    assert together.shape == {"classification": (4, 3), "span": (4, 7, 2), "tagging": (4, 7, 3)}[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_no_gradient_goes_into_padding(encoder_for: Callable[[str], ElmoEncoder], kind: HeadKind) -> None:
    """The gradients of a batch with padding are those of its rows by themselves, through ELMo and all."""
    model = encoder_for("whole").with_head(kind, LABELS, seed=1).eval()

    def gradients(batches: list[list[list[int]]], width: int | None) -> dict[str, Tensor]:
        model.zero_grad()
        for rows in batches:
            batch = inputs(rows, width or len(rows[0]))
            logits = model(**batch)
            if kind != "classification":
                logits = logits[batch["attention_mask"] == 1]
            logits.square().sum().backward()
        return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}

    together, alone = gradients([ROWS], 9), gradients([[row] for row in ROWS], None)
    assert together.keys() == alone.keys()
    for name in together:
        torch.testing.assert_close(together[name], alone[name], rtol=1e-4, atol=1e-5)


def test_a_choice_is_one_logit_an_input(encoder: ElmoEncoder) -> None:
    model = encoder.with_head("choice", ["first", "second"], seed=1).eval()
    assert model(**inputs(ROWS, 7)).shape == (4, 1)


def test_networks_are_drawn_from_their_seed(encoder: ElmoEncoder) -> None:
    torch.manual_seed(0)
    state = torch.get_rng_state()
    one, same, other = (encoder.with_head("tagging", LABELS, seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state), "nobody else's random numbers are used up"
    assert all(torch.equal(one[name], same[name]) for name in one)
    differing = {name.partition(".")[0] for name in one if not torch.equal(one[name], other[name])}
    assert differing == {"lstm", "output"}


def tune(folder: Path, encoder: ElmoEncoder, task: str, *, train: int = 60, **changes: Any) -> Tuned:
    data = toy_tasks.write_task(folder / "task", task, train=train)
    tables = {split: pq.read_table(data / f"{split}.parquet") for split in ("train", "validation")}
    settings = toy_tasks.FINETUNING.model_copy(update=changes)
    tuner = Tuner(encoder, task, toy_tasks.TASKS[task], settings, **tables)
    return tuner.tune(1, scratch=folder / "scratch", tracker=NullTracker(), progress=NullProgress())


@pytest.mark.parametrize("mode", ["frozen", "whole"])
def test_only_what_is_to_be_tuned_is(
    tmp_path: Path, encoder_for: Callable[[str], ElmoEncoder], folder: Path, mode: str
) -> None:
    model = tune(tmp_path / "tuned", encoder_for(mode), "letters", epochs=1).model
    assert isinstance(model, TaskNetwork)
    before, after = load_network(folder).state_dict(), model.elmo.state_dict()
    same = {name for name in before if torch.equal(before[name], after[name])}
    unasked = {"weight", "bias"}  # the softmax over words
    assert same == (set(before) if mode == "frozen" else unasked)
    assert model.mix.scores.detach().any()
    model.train()
    assert model.elmo.training == (mode == "whole"), "what is frozen drops nothing"
    assert model.lstm.training


@pytest.mark.parametrize(("task", "mode"), [("first", "whole"), ("letters", "frozen")])
def test_it_learns(tmp_path: Path, encoder_for: Callable[[str], ElmoEncoder], task: str, mode: str) -> None:
    tuned = tune(tmp_path / "tuned", encoder_for(mode), task, train=300, epochs=6)
    assert tuned.best.scores[toy_tasks.TASKS[task].metric] > 0.9


def test_a_crf_stands_on_tags_alone(tmp_path: Path, encoder_for: Callable[..., ElmoEncoder]) -> None:
    encoder = encoder_for("frozen", crf=True)
    assert isinstance(encoder.with_head("classification", ["no", "yes"], seed=1), TaskNetwork)
    tuned = tune(tmp_path / "tuned", encoder, "letters", train=300, epochs=6)
    assert tuned.best.scores["entity_f1"] > 0.9
    model = tuned.model.eval()
    assert isinstance(model, CrfTagger)
    assert model.crf.transitions.detach().any()
    assert not model.train().network.elmo.training, "what is frozen drops nothing"  # type: ignore[union-attr]
    (tmp_path / "saved").mkdir()
    encoder.save(model.eval(), tmp_path / "saved")
    again = load_tuned(tmp_path / "saved", "tagging").eval()
    assert isinstance(again, CrfTagger)
    with torch.inference_mode():
        logits = [each(**inputs(ROWS, 8)) for each in (model, again)]
        asked = inputs(ROWS, 8)["attention_mask"] == 1
        assert torch.equal(model.best_tags(logits[0], asked), again.best_tags(logits[1], asked))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_answers_as_before(tmp_path: Path, encoder: ElmoEncoder, kind: HeadKind) -> None:
    model = encoder.with_head(kind, LABELS, seed=3).eval()
    encoder.save(model, tmp_path)
    again: nn.Module = load_tuned(tmp_path, kind).eval()
    with torch.inference_mode():
        assert torch.equal(again(**inputs(ROWS, 8)), model(**inputs(ROWS, 8)))
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".safetensors"}
    assert isinstance(again, TaskNetwork)
    assert again.labels == LABELS


def test_dropout_is_drawn_anew_while_training(encoder: ElmoEncoder) -> None:
    model = encoder.with_head("tagging", LABELS, seed=1).train()
    assert not torch.equal(model(**inputs(ROWS, 8)), model(**inputs(ROWS, 8)))
