"""GloVe's training: it learns, it repeats, and it goes on where it was."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest

from stemma.errors import TrainingError
from stemma.families.glove.family import FAMILY
from stemma.text.vectors import load_vectors
from tests import killing, toy_counts


@pytest.fixture
def folder(tmp_path):
    toy_counts.write_corpus(tmp_path)
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "out").iterdir())}


def test_words_of_a_kind_come_together(folder):
    metrics = FAMILY.pretrain(toy_counts.pretraining("glove", folder, epochs=100, learning_rate=0.2))
    vectors = load_vectors(folder / "out")
    assert list(vectors.words) == list(toy_counts.WORDS)
    assert vectors.matrix.shape == (len(toy_counts.WORDS), 4)
    assert {word for word, _ in vectors.neighbours("cat", 3)} <= {*toy_counts.ANIMALS, "barn", "yard", "nest"}
    with (folder / "out" / "curve.csv").open() as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    assert len(losses) == 100
    assert losses[-1] < 0.1 * losses[0]
    assert metrics["loss"] == pytest.approx(losses[-1])


def test_metrics_say_what_was_spent(folder):
    metrics = FAMILY.pretrain(toy_counts.pretraining("glove", folder))
    words = len(toy_counts.WORDS)
    assert metrics["tokens"] == 60 * 5 * 5
    assert metrics["vocabulary_size"] == words
    assert metrics["parameters"] == 2 * words * (4 + 1)
    assert metrics["flops"] == 6 * 4 * metrics["pairs"] * 6


def test_the_seed_decides_alone(folder):
    results = []
    for seed in (1, 1, 2):
        shutil.rmtree(folder / "scratch", ignore_errors=True)
        FAMILY.pretrain(toy_counts.pretraining("glove", folder, seed=seed))
        results.append(files(folder))
    assert results[0] == results[1]
    assert results[0]["vectors.safetensors"] != results[2]["vectors.safetensors"]


def test_smaller_batches_take_more_steps_and_get_further(folder):
    losses = []
    for batch_size in (10, 10_000):
        shutil.rmtree(folder / "scratch", ignore_errors=True)
        losses.append(FAMILY.pretrain(toy_counts.pretraining("glove", folder, batch_size=batch_size))["loss"])
    assert losses[0] < losses[1]


def test_a_second_run_trains_no_finished_epoch_again(folder):
    FAMILY.pretrain(toy_counts.pretraining("glove", folder))
    before, watch = files(folder), killing.Watch()
    FAMILY.pretrain(toy_counts.pretraining("glove", folder, progress=watch))
    assert watch.steps == [60 * 5 * 5], "tokens were counted, no batch was trained"
    assert files(folder) == before


def test_a_loss_that_is_not_finite_is_refused_by_batch(folder):
    with np.errstate(all="ignore"), pytest.raises(TrainingError, match=r"loss is (inf|nan) in epoch \d+, batch \d+"):
        FAMILY.pretrain(toy_counts.pretraining("glove", folder, learning_rate=1e30))
