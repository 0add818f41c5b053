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

from tests import toy_bert, toy_counts, toy_elmo, toy_gpt, toy_nnlm, toy_static, toy_tasks, toy_transformer, toy_vectors

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The inputs of both stages."""
    folder = tmp_path_factory.mktemp("inputs")
    toy_tasks.write_pretrained(folder)
    toy_tasks.write_task(folder / "task", "first")
    return folder


def run(stage: str, folder: Path, *moments: str) -> dict[str, Any]:
    """Kill a stage at some moments, or at all that are known of it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "STEMMA_SCRATCH": str(folder / "scratch")}
    command = [sys.executable, "-m", "tests.killing", stage, str(folder), *moments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr.decode()
    report: dict[str, Any] = json.loads(done.stdout)
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
    steps = assert_as_if_never_killed(run("pretrain", tmp_path))
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
    steps = assert_as_if_never_killed(run("finetune", tmp_path))
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
    steps = assert_as_if_never_killed(run("grid", tmp_path))
    assert {moment: (taken[:1], len(taken)) for moment, taken in steps.items()} == {
        "in the first point": ([1], 48),
        "in the second point": ([9], 8 + 24),
        "while the first point's result is kept": ([1], 16 + 24),
        "before the second's is": ([1], 24),
        "in the second seed": ([9], 8),
        "while the result is written": ([], 0),
    }, "finished points and seeds are not trained again"


@pytest.mark.parametrize("variant", ["bert-no-nsp", "bert-left-to-right"])
def test_ablations_of_bert_end_with_the_same_bits(tmp_path, variant):
    toy_bert.write_corpus(tmp_path)
    steps = assert_as_if_never_killed(run(variant, tmp_path))
    assert {moment: taken[:1] for moment, taken in steps.items()} == {
        "between two checkpoints": [5],
        "while the tensors of the second are written": [5],
        "at the last step": [9],
        "while the result is written": [],
    }, "each goes on from its newest checkpoint"


def test_fine_tuning_on_a_frozen_encoder_ends_with_the_same_bits(tmp_path):
    toy_tasks.write_pretrained(tmp_path, tune="frozen", bilstm=True)
    toy_tasks.write_task(tmp_path / "task", "first")
    steps = assert_as_if_never_killed(run("finetune", tmp_path, "in the second epoch", "in the second seed"))
    assert {moment: taken[:1] for moment, taken in steps.items()} == {
        "in the second epoch": [9],
        "in the second seed": [9],
    }, "finished epochs and seeds are not trained again"


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
    ("family", "toy"), [("nnlm", toy_nnlm), ("gpt", toy_gpt), ("elmo", toy_elmo), ("transformer", toy_transformer)]
)
def test_a_neural_language_model_ends_with_the_same_bits(tmp_path, family, toy):
    """ELMo's checkpoints hold the state that its streams are read on with."""
    toy.pretraining(tmp_path)
    steps = assert_as_if_never_killed(run(family, tmp_path))
    num_validated = steps["at the last step"][-1]
    assert {moment: taken[0] for moment, taken in steps.items()} == {
        "between two checkpoints": 5,
        "while the tensors of the second are written": 5,
        "at the last step": 9,
        "while the result is written": num_validated,
    }, "each goes on from its newest checkpoint"
