"""Where saying nothing begins: the threshold against a search of all, and that a tuned model keeps it."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemma.families.bert.network import load_encoder
from stemma.files import write_json, write_manifest
from stemma.progress import NullProgress
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.metrics import score
from stemma.tasks.null_threshold import best_threshold
from stemma.tasks.predictor import Predictor, load_predictor
from stemma.tasks.tuning import Tuner
from stemma.training.tracker import NullTracker
from tests import toy_bert, toy_tasks

TASK = toy_tasks.TASKS["where"].model_copy(update={"unanswerable": True})


def made(cases: list[tuple[bool, bool, float]]) -> tuple[pa.Table, pa.Table, np.ndarray]:
    """Rows that have an answer or not, spans that are right or not, and margins."""
    ids = [str(number) for number in range(len(cases))]
    answers = [[{"text": "a", "start": 0}] if has else [] for has, _, _ in cases]
    spans = pa.table({"id": ids, "text": ["a" if right else "b" for _, right, _ in cases]})
    return pa.table({"id": ids, "answers": answers}), spans, np.array([margin for _, _, margin in cases])


def with_threshold(spans: pa.Table, margins: np.ndarray, threshold: float) -> pa.Table:
    texts = [
        "" if margin > threshold else text for text, margin in zip(spans["text"].to_pylist(), margins, strict=True)
    ]
    return pa.table({"id": spans["id"], "text": texts})


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(-4, 4).map(float)), min_size=1, max_size=12))
@settings(max_examples=200, deadline=None)
def test_no_threshold_is_better(cases):
    rows, spans, margins = made(cases)

    def total(threshold: float) -> float:
        return score("span", rows, with_threshold(spans, margins, threshold), [])["f1"]

    found = best_threshold("f1", rows, spans, margins)
    assert total(found) == pytest.approx(max(total(candidate) for candidate in np.arange(-5.5, 6, 0.5)))
    assert found not in margins, "a margin is never just at it"


def questions(count: int, seed: int) -> pa.Table:
    """A third asks for a word that is not there."""
    rng = np.random.default_rng(seed)
    rows = [toy_tasks.make_row("where", number, rng) for number in range(count)]
    for row in rows[::3]:
        row["question"], row["answers"] = toy_bert.sentence(rng, 1), []
    return pa.Table.from_pylist(rows, schema=ROW_SCHEMAS["span"])


def test_a_tuned_model_keeps_its_threshold(tmp_path: Path) -> None:
    encoder = load_encoder(toy_tasks.write_pretrained(tmp_path / "pretrained"))
    train, validation = questions(60, 1), questions(40, 2)
    finetuning = toy_tasks.FINETUNING.model_copy(update={"epochs": 1})
    tuner = Tuner(encoder, "where", TASK, finetuning, train=train, validation=validation)
    tuned = tuner.tune(1, scratch=tmp_path / "scratch", tracker=NullTracker(), progress=NullProgress())
    threshold = tuned.best.null_threshold
    assert threshold is not None
    folder = tmp_path / "tuned"
    folder.mkdir()
    encoder.save(tuned.model, folder)
    about = {"task": "where", "family": "bert", "variant": "bert", "seed": 1, "null_threshold": threshold}
    write_json(folder / "task.json", {**about, **TASK.model_dump(mode="json")})
    write_manifest(folder)
    answers = load_predictor(folder).predict(validation)
    assert score("span", validation, answers, []) == pytest.approx(tuned.best.scores)
    assert "" in answers["text"].to_pylist(), "a third of the questions can't be answered"
    always = Predictor(task_name="where", task=TASK, model=tuned.model, tokenizer=encoder.tokenizer)
    assert "" not in always.predict(validation)["text"].to_pylist()
    assert tuned.best.scores["f1"] >= score("span", validation, always.predict(validation), [])["f1"]
