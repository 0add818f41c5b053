"""The stage `transfer`, and fine-tuning that starts from what it made: a tuned body, a fresh head, seed by seed."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from stemma.adapters.evidence import Sources, gather
from stemma.adapters.model_card import write_card
from stemma.config import Params
from stemma.errors import CorruptionError, InputError, SettingsError
from stemma.families import load_family
from stemma.files import read_json, verify_manifest, write_json, write_manifest
from stemma.progress import NullProgress
from stemma.stages import finetune, transfer
from stemma.tasks.tuning import Tuner
from stemma.training.tracker import NullTracker
from tests import toy_gpt, toy_release, toy_tasks

Weights = dict[str, torch.Tensor]


def make_params(family: str, donor: str, task: str) -> Params:
    """A pair on the donor task, a transfer from it, and a pair that starts there."""
    values = toy_tasks.params().model_dump()
    name = f"{family}-via-{donor}"
    values["transfers"] = {name: {"pair": f"{family}-{donor}", "variant": family, "family": family}}
    values["pairs"] = {
        f"{family}-{donor}": {"variant": family, "family": family, "task": donor},
        f"{name}-{task}": {"variant": name, "family": family, "task": task},
    }
    return Params(**values)


def write_pretrained(folder: Path, family: str) -> Path:
    if family == "bert":
        return toy_tasks.write_pretrained(folder)
    out = toy_gpt.pretrain_on_pieces(folder, block="lstm" if family == "gpt-lstm" else "transformer", steps=1)
    write_json(out / "family.json", {"family": "gpt", "variant": "gpt"})
    write_manifest(out)
    return out


def run_finetune(params: Params, name: str, pretrained: Path, folder: Path) -> Path:
    data, out = folder / f"task-{name}", folder / f"tuned-{name}"
    toy_tasks.write_task(data, params.pairs[name].task)
    finetune.run(name, params, NullTracker(), NullProgress(), pretrained=pretrained, task=data, out=out)
    return out


def run_transfer(params: Params, pretrained: Path, tuned: Path, out: Path) -> Path:
    name = next(iter(params.transfers))
    transfer.run(name, params, NullProgress(), pretrained=pretrained, tuned=tuned, out=out)
    return out


@pytest.fixture(autouse=True)
def _scratch(monkeypatch, tmp_path):
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Params, Path, Path]:
    """Settings, a pretrained BERT and its models tuned on a first task."""
    folder = tmp_path_factory.mktemp("made")
    params = make_params("bert", "first", "pick")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEMMA_SCRATCH", str(folder / "scratch"))
        pretrained = write_pretrained(folder / "bert", "bert")
        return params, pretrained, run_finetune(params, "bert-first", pretrained, folder)


def body(model: Any) -> Weights:
    """What is not the task's: of GPT without the vectors of the three tokens that a task adds."""
    if hasattr(model.network, "bert"):
        weights: Weights = model.network.bert.state_dict()
        return weights
    added = ("tokens_embed.weight", "lm_head.weight")
    return {
        name: tensor[:-3] if name.endswith(added) else tensor for name, tensor in model.network.state_dict().items()
    }


def head(model: Any) -> torch.Tensor:
    weight: torch.Tensor = (model.network.classifier if hasattr(model.network, "bert") else model.head).weight
    return weight


def same(one: Weights, other: Weights) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("network", ["bert", "gpt", "gpt-lstm"])
def test_the_body_is_the_donors_and_the_head_is_fresh(tmp_path, network):
    name = network.partition("-")[0]
    params, family = make_params(name, "first", "pick"), load_family(name)
    assert family.load_encoder is not None
    assert family.load_tuned is not None
    pretrained = write_pretrained(tmp_path / name, network)
    donors = run_finetune(params, f"{name}-first", pretrained, tmp_path)
    out = run_transfer(params, pretrained, donors, tmp_path / "via")
    assert sorted(path.name for path in out.iterdir()) == ["seed-1", "seed-2"]
    for seed in (1, 2):
        verify_manifest(out / f"seed-{seed}")
        donor = family.load_tuned(donors / f"seed-{seed}", "classification")
        begun = family.load_encoder(out / f"seed-{seed}").with_head("classification", ["no", "yes"], seed=seed)
        plain = family.load_encoder(pretrained).with_head("classification", ["no", "yes"], seed=seed)
        assert same(body(begun), body(donor))
        assert not same(body(begun), body(plain)), "it was tuned"
        assert torch.equal(head(begun), head(plain)), "drawn from the seed"
        assert not torch.equal(head(begun), head(donor))
    tuned = run_finetune(params, f"{name}-via-first-pick", out, tmp_path)
    about = read_json(tuned / "seed-2" / "task.json")
    assert (about["variant"], about["task"]) == (f"{name}-via-first", "pick")


def test_each_seed_is_tuned_from_the_same_seed(made, tmp_path, monkeypatch):
    params, pretrained, donors = made
    out = run_transfer(params, pretrained, donors, tmp_path / "via")
    begun: dict[int, Weights] = {}
    with_head = Tuner.with_head

    def watch(self: Tuner, seed: int) -> Any:
        model = with_head(self, seed)
        begun[seed] = {name: tensor.clone() for name, tensor in body(model).items()}
        return model

    monkeypatch.setattr(Tuner, "with_head", watch)
    run_finetune(params, "bert-via-first-pick", out, tmp_path)
    load_tuned = load_family("bert").load_tuned
    assert load_tuned is not None
    for seed in (1, 2):
        assert same(begun[seed], body(load_tuned(donors / f"seed-{seed}", "classification"))), "before step 1"
    assert not same(begun[1], begun[2])


def test_what_the_donors_task_had_no_use_for_stays_as_it_was_pretrained(tmp_path):
    """A tagger has no pooled layer; a classification that starts from it needs one."""
    params, bert = make_params("bert", "letters", "first"), load_family("bert")
    pretrained = write_pretrained(tmp_path / "bert", "bert")
    donors = run_finetune(params, "bert-letters", pretrained, tmp_path)
    out = run_transfer(params, pretrained, donors, tmp_path / "via")
    assert bert.load_encoder is not None
    begun, plain = (
        body(bert.load_encoder(folder).with_head("classification", ["no", "yes"], seed=1))
        for folder in (out / "seed-1", pretrained)
    )
    same_names = {name for name in plain if torch.equal(begun[name], plain[name])}
    assert {name for name in plain if name.startswith("pooler")} <= same_names < plain.keys()


def test_it_is_a_row_of_the_table_and_has_a_card(tmp_path):
    """Through `evaluate`, the leaderboard and what a release looks at."""
    values = toy_release.make_project(tmp_path).model_dump()
    values["finetuning"] |= {"seeds": [1, 2], "epochs": 1}
    values["transfers"] = {"bert-via-first": {"pair": "bert-first", "variant": "bert", "family": "bert"}}
    values["pairs"]["bert-via-first-first"] = {"variant": "bert-via-first", "family": "bert", "task": "first"}
    params, pretrained = Params(**values), tmp_path / toy_release.PRETRAINED
    finetuned, tasks = tmp_path / toy_release.FINETUNED, tmp_path / toy_release.TASKS
    toy_release.tune(tmp_path, params, "first")
    via = run_transfer(params, pretrained / "bert", finetuned / "bert-first", pretrained / "bert-via-first")
    pair = "bert-via-first-first"
    where = {"pretrained": via, "task": tasks / "first", "out": finetuned / pair}
    finetune.run(pair, params, NullTracker(), NullProgress(), **where)
    toy_release.measure(tmp_path, params)
    table = read_json(tmp_path / "reports" / "leaderboard.json")
    assert [row["name"] for row in table["rows"] if "first" in row["cells"]][-2:] == ["bert", "bert-via-first"]
    compared = [{one["first"], one["second"]} for one in table["comparisons"]["first"]]
    assert {"bert", "bert-via-first"} in compared
    sources = Sources(
        tasks=tasks,
        finetuned=finetuned,
        evaluation=tmp_path / toy_release.REPORT,
        predictions=tmp_path / toy_release.PREDICTIONS,
    )
    card = gather(params, pair, sources)
    assert "Variant `bert-via-first` of the family `bert`" in write_card(params, card, 1, {})


def test_the_same_again_is_the_same_to_the_byte(made, tmp_path):
    def contents(out: Path) -> dict[str, bytes]:
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    params, pretrained, donors = made
    one, two = (run_transfer(params, pretrained, donors, tmp_path / name) for name in ("one", "two"))
    assert contents(one) == contents(two)


def test_a_missing_seed_is_named(made, tmp_path):
    params, pretrained, donors = made
    shutil.copytree(donors / "seed-1", tmp_path / "donors" / "seed-1")
    with pytest.raises(InputError, match=r"seed-2: no such folder; run `dvc repro finetune@bert-first`"):
        run_transfer(params, pretrained, tmp_path / "donors", tmp_path / "via")
    assert not (tmp_path / "via").exists()


def test_a_damaged_donor_is_refused(made, tmp_path):
    params, pretrained, donors = made
    shutil.copytree(donors, tmp_path / "donors")
    with (tmp_path / "donors" / "seed-2" / "model.safetensors").open("ab") as file:
        file.write(b"x")
    with pytest.raises(CorruptionError, match=r"model\.safetensors"):
        run_transfer(params, pretrained, tmp_path / "donors", tmp_path / "via")


def test_an_unknown_transfer_is_refused(made, tmp_path):
    params, pretrained, donors = made
    with pytest.raises(SettingsError, match="no transfer 'bert-via-nothing'; there are bert-via-first"):
        where = {"pretrained": pretrained, "tuned": donors, "out": tmp_path / "via"}
        transfer.run("bert-via-nothing", params, NullProgress(), **where)
