"""Every encoder has a head of one score, which learns, and which a folder gives back."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from stemma.families import load_family
from stemma.files import write_json, write_manifest
from stemma.progress import NullProgress
from stemma.tasks.metrics import score
from stemma.tasks.predictor import Predictor, load_predictor
from stemma.tasks.tuning import Tuner
from stemma.training.tracker import NullTracker
from tests import toy_elmo, toy_gpt, toy_tasks

TASK = toy_tasks.TASKS["how-many"]


def pretrained(family: str, folder: Path) -> Path:
    if family == "bert":
        return toy_tasks.write_pretrained(folder)
    return toy_gpt.pretrain_on_pieces(folder, steps=2) if family == "gpt" else toy_elmo.pretrain(folder, steps=2)[0]


@pytest.mark.parametrize("family", ["bert", "gpt", "elmo"])
def test_a_score_is_learned_and_given_back(tmp_path: Path, family: str) -> None:
    load_encoder = load_family(family).load_encoder
    assert load_encoder is not None
    encoder = load_encoder(pretrained(family, tmp_path / "pretrained"))
    data = toy_tasks.write_task(tmp_path / "task", "how-many", train=150)
    train, validation = (pq.read_table(data / f"{split}.parquet") for split in ("train", "validation"))
    settings = toy_tasks.FINETUNING.model_copy(update={"epochs": 2})
    tuner = Tuner(encoder, "how-many", TASK, settings, train=train, validation=validation)
    tuned = tuner.tune(1, scratch=tmp_path / "scratch", tracker=NullTracker(), progress=NullProgress())
    assert tuned.best.scores["spearman"] > 0.2
    folder = tmp_path / "tuned"
    folder.mkdir()
    encoder.save(tuned.model, folder)
    write_json(
        folder / "task.json",
        {"task": "how-many", "family": family, "variant": family, "seed": 1, **TASK.model_dump(mode="json")},
    )
    write_manifest(folder)
    there = Predictor(task_name="how-many", task=TASK, model=tuned.model, tokenizer=encoder.tokenizer)
    again = load_predictor(folder).predict(validation)
    expected = there.predict(validation)
    assert again["id"].equals(expected["id"])  # weights in a file lie otherwise in memory, which may move the last bit
    np.testing.assert_allclose(again["score"].to_numpy(), expected["score"].to_numpy(), rtol=0, atol=1e-6)
    assert score("regression", validation, again, []) == pytest.approx(tuned.best.scores)
