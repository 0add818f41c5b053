"""`kill -9` at several moments of pretraining and fine-tuning, then a re-run: the same bits as without the kill."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stemma.config import load_params
from tests import toy_bert, toy_counts, toy_elmo, toy_gpt, toy_nnlm, toy_static, toy_tasks, toy_transformer, toy_vectors

ROOT = Path(__file__).parent.parent.parent
BERT_VARIANTS = {
    name: variant.overrides
    for name, variant in load_params(ROOT / "profiles/ablations.yaml").variants.items()
    if variant.family == "bert" and variant.overrides.get("steps", 1) > 0
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The inputs of both stages."""
    folder = tmp_path_factory.mktemp("inputs")
    toy_tasks.write_pretrained(folder)
    toy_tasks.write_task(folder / "task", "first")
    return folder


def run(stage: str, folder: Path, *moments: str, **overrides: Any) -> dict[str, Any]:
    """Kill a stage at some moments, or at all that are known of it."""
    return run_cases(stage, {folder: overrides}, *moments)[str(folder)]


def run_cases(stage: str, cases: dict[Path, dict[str, Any]], *moments: str) -> dict[str, dict[str, Any]]:
    """Kill a stage in several folders, each with overrides of its own; one process imports the libraries for all."""
    asked = {
        "stage": stage,
        "cases": {str(folder): overrides for folder, overrides in cases.items()},
        "chosen": moments,
    }
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.killing", json.dumps(asked)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr.decode()
    report: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return report


def assert_as_if_never_killed(report: dict[str, Any]) -> dict[str, list[int]]:
    status, whole = report.pop("whole")
    assert status == 0
    resumed = {}
    for moment, ((killed, _), (ended, again)) in report.items():
        assert killed == -signal.SIGKILL, f"{moment}: not killed"
        assert ended == 0, f"{moment}: the second run failed"
        assert again["files"] == whole["files"], f"{moment}: other bytes"
        resumed[moment] = again["steps"]
    return resumed


@pytest.mark.slow
def test_pretraining_ends_with_the_same_bits(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    steps = assert_as_if_never_killed(run("bert", tmp_path))
    assert {moment: taken[:1] for moment, taken in steps.items()} == {
        "before the first checkpoint": [1],
        "between two checkpoints": [5],
        "while the tensors of the second are written": [5],
        "before its manifest": [5],
        "before the oldest is removed": [],
        "and the newest checkpoint is truncated": [5],
        "and the newest checkpoint has a flipped bit": [5],
        "at the last step": [9],
        "while the result is written": [],
    }, "each goes on from its newest whole checkpoint"


@pytest.mark.slow
def test_fine_tuning_ends_with_the_same_bits(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    steps = assert_as_if_never_killed(run("bert-finetune", tmp_path))
    assert {moment: (taken[:1], len(taken)) for moment, taken in steps.items()} == {
        "in the first epoch": ([1], 48),
        "in the second epoch": ([9], 16 + 24),
        "while validation rows are scored": ([9], 16 + 24),
        "while the checkpoint of an epoch is written": ([9], 16 + 24),
        "in the second seed": ([9], 16),
        "while the result is written": ([], 0),
    }, "finished epochs and seeds are not trained again"


def test_fine_tuning_with_a_grid_ends_with_the_same_bits(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    steps = assert_as_if_never_killed(run("bert-finetune-grid", tmp_path))
    assert {moment: (taken[:1], len(taken)) for moment, taken in steps.items()} == {
        "in the first point": ([1], 48),
        "in the second point": ([9], 8 + 24),
        "while the first point's result is kept": ([1], 16 + 24),
        "before the second's is": ([1], 24),
        "in the second seed": ([9], 8),
        "while the result is written": ([], 0),
    }, "finished points and seeds are not trained again"


@pytest.mark.slow
@pytest.mark.xdist_group("variants of bert")
@pytest.mark.parametrize("variant", BERT_VARIANTS)
def test_every_variant_of_bert_ends_with_the_same_bits(variants, variant):
    steps = assert_as_if_never_killed(variants[variant])
    assert {moment: taken[:1] for moment, taken in steps.items()} == {
        "between two checkpoints": [5],
        "while the tensors of the second are written": [5],
    }, "each goes on from its newest checkpoint"


@pytest.fixture(scope="module")
def variants(tmp_path_factory):
    """The killed pretraining of every variant."""
    folder = tmp_path_factory.mktemp("variants")
    cases = {folder / name: overrides for name, overrides in BERT_VARIANTS.items()}
    for of_variant in cases:
        toy_bert.write_corpus(of_variant)
    report = run_cases("bert", cases, "between two checkpoints", "while the tensors of the second are written")
    return {Path(name).name: of_variant for name, of_variant in report.items()}


@pytest.mark.slow
def test_fine_tuning_variants_of_bert_ends_with_the_same_bits(tmp_path):
    """Those whose tasks are learned in another way: frozen, with a BiLSTM, one-way."""
    other = {"direction", "bilstm", "tune", "features"}
    chosen = {tmp_path / name: overrides for name, overrides in BERT_VARIANTS.items() if other & overrides.keys()}
    for folder, overrides in chosen.items():
        toy_tasks.write_pretrained(folder, **overrides)
        toy_tasks.write_task(folder / "task", "first")
    for report in run_cases("bert-finetune", {folder: {} for folder in chosen}, "in the second seed").values():
        assert assert_as_if_never_killed(report)["in the second seed"][0] == 9, "finished epochs are not trained again"
    assert len(chosen) >= 4, "or the profile has lost some"


@pytest.mark.parametrize(
    ("family", "overrides"), [("gpt", {}), ("elmo", {"tune": "frozen"}), ("elmo", {"tune": "whole"})]
)
def test_fine_tuning_of_a_language_model_ends_with_the_same_bits(tmp_path, family, overrides):
    """GPT beside its language modelling (λ = 0.5), ELMo under a network of the task's own."""
    if family == "gpt":
        toy_gpt.pretrain_on_pieces(tmp_path, steps=1)
    else:
        toy_elmo.pretrain(tmp_path, pieces=True, steps=1, **overrides)
    toy_tasks.write_task(tmp_path / "task", "first")
    moments = ("in the second epoch", "in the second seed")
    steps = assert_as_if_never_killed(run(f"{family}-finetune", tmp_path, *moments))
    assert {moment: taken[:1] for moment, taken in steps.items()} == {moment: [9] for moment in moments}


@pytest.mark.parametrize(
    ("family", "task", "network", "tune"),
    [("word2vec", "first", "bilstm", "whole"), ("fasttext", "letters", "cbow", "frozen")],
)
def test_fine_tuning_on_word_vectors_ends_with_the_same_bits(tmp_path, family, task, network, tune):
    toy_static.write_pretrained(tmp_path / "out", family, task_network=network, tune=tune, crf=True)
    toy_tasks.write_task(tmp_path / "task", task)
    moments = ("in the second epoch", "in the second seed")
    steps = assert_as_if_never_killed(run(f"{family}-finetune", tmp_path, *moments))
    assert {moment: taken[:1] for moment, taken in steps.items()} == {moment: [9] for moment in moments}


def test_glove_ends_with_the_same_bits(tmp_path):
    toy_counts.write_corpus(tmp_path)
    steps = assert_as_if_never_killed(run("glove", tmp_path))
    assert {moment: taken[:2] for moment, taken in steps.items()} == {
        "while pairs are counted": [1500, 1],
        "before the first checkpoint": [1500, 1],
        "between two checkpoints": [1500, 7],
        "while the tensors of the second are written": [1500, 7],
        "while the result is written": [1500],
    }, "pairs are counted again, finished epochs are not trained again"


@pytest.mark.parametrize("family", ["word2vec", "fasttext"])
def test_word_vectors_end_with_the_same_bits(tmp_path, family):
    toy_vectors.job(tmp_path, None)
    steps = assert_as_if_never_killed(run(family, tmp_path))
    assert steps == {
        "while the text is written": [1, 2, 3],
        "in the first epoch": [1, 2, 3],
        "while the checkpoint of the second is written": [2, 3],
        "after the second": [3],
        "and the newest checkpoint has a flipped bit": [2, 3],
        "while the result is written": [],
    }, "finished epochs are not trained again"


@pytest.mark.parametrize(
    ("family", "toy", "overrides"),
    [
        ("nnlm", toy_nnlm, {}),
        ("gpt", toy_gpt, {}),
        ("gpt", toy_gpt, {"block": "lstm"}),
        ("elmo", toy_elmo, {}),
        ("transformer", toy_transformer, {}),
    ],
    ids=["nnlm", "gpt", "gpt-lstm", "elmo", "transformer"],
)
def test_a_neural_language_model_ends_with_the_same_bits(tmp_path, family, toy, overrides):
    """ELMo's checkpoints hold the state that its streams are read on with."""
    toy.pretraining(tmp_path)
    steps = assert_as_if_never_killed(run(family, tmp_path, **overrides))
    num_validated = steps["at the last step"][-1]
    assert {moment: taken[0] for moment, taken in steps.items()} == {
        "between two checkpoints": 5,
        "while the tensors of the second are written": 5,
        "at the last step": 9,
        "while the result is written": num_validated,
    }, "each goes on from its newest checkpoint"
