"""A tuned folder answers rows by itself."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stemma.errors import CorruptionError, InputError
from stemma.families.bert.family import FAMILY as BERT
from stemma.families.bert.network import load_encoder
from stemma.files import write_json, write_manifest
from stemma.tasks.base import ANSWERS, PREDICTION_SCHEMAS
from stemma.tasks.predictor import load_predictor
from tests import toy_bert
from tests.unit.tasks.test_features import make_rows, make_task

KINDS = ["classification", "regression", "span", "tagging", "choice"]


def random_rows(kind: str, count: int) -> pa.Table:
    rng = np.random.default_rng(0)

    def row() -> dict[str, Any]:
        text = toy_bert.sentence(rng, int(rng.integers(1, 30)))
        if kind == "classification":
            return {"text": text, "text_pair": toy_bert.sentence(rng, 3) if rng.random() < 0.5 else None, "label": "no"}
        if kind == "regression":
            return {"text": text, "text_pair": toy_bert.sentence(rng, 3), "score": 1.0}
        if kind == "span":
            return {"context": text, "question": toy_bert.sentence(rng, 3), "answers": []}
        if kind == "choice":
            question = toy_bert.sentence(rng, 2) if rng.random() < 0.5 else None
            choices = [toy_bert.sentence(rng, int(rng.integers(1, 12))) for _ in range(3)]
            return {"context": text, "question": question, "choices": choices, "label": "a"}
        return {"tokens": text.split(), "tags": ["O"] * len(text.split())}

    return make_rows(kind, [row() for _ in range(count)])


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A folder a kind of task, of a network as it was drawn."""
    folder = tmp_path_factory.mktemp("tuned")
    job = toy_bert.pretraining(folder / "bert", steps=0)
    BERT.pretrain(job)
    encoder = load_encoder(job.out)
    for kind in KINDS:
        task = make_task(kind, stride=4)
        out = folder / kind
        encoder.save(encoder.with_head(task.kind, task.labels, seed=1), out)
        about = {"task": f"a-{kind}", "family": "bert", "variant": "bert", "seed": 1}
        write_json(out / "task.json", {**about, **task.model_dump(mode="json")})
        write_manifest(out)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_one_answer_a_row_in_order(tuned, kind):
    predictor = load_predictor(tuned / kind)
    assert (predictor.kind, predictor.task_name, predictor.labels) == (kind, f"a-{kind}", make_task(kind).labels)
    rows = random_rows(kind, 150)
    answers = predictor.predict(rows)
    assert answers.schema == PREDICTION_SCHEMAS[kind]
    assert answers["id"].to_pylist() == rows["id"].to_pylist()
    assert predictor.predict(rows).equals(answers)
    assert load_predictor(tuned / kind).predict(rows).equals(answers)
    backwards = predictor.predict(rows.take(list(range(len(rows)))[::-1]))
    assert backwards["id"].to_pylist() == rows["id"].to_pylist()[::-1]


def test_spans_are_pieces_of_their_context(tuned):
    rows = random_rows("span", 150)
    answers = load_predictor(tuned / "span").predict(rows).to_pylist()
    contexts = rows["context"].to_pylist()
    assert all(
        answer["text"] == context[answer["start"] : answer["end"]]
        for answer, context in zip(answers, contexts, strict=True)
    )
    assert len({answer["start"] for answer in answers}) > 5


def test_every_word_gets_a_tag(tuned):
    rows = random_rows("tagging", 150)
    answers = load_predictor(tuned / "tagging").predict(rows)
    assert [len(tags) for tags in answers["tags"].to_pylist()] == [len(words) for words in rows["tokens"].to_pylist()]


def test_the_best_choice_is_told_with_its_text(tuned):
    predictor, rows = load_predictor(tuned / "choice"), random_rows("choice", 150)
    for row, answer in zip(rows.to_pylist(), predictor.predict(rows).to_pylist(), strict=True):
        best = int(np.argmax(answer["probabilities"]))
        assert (answer["label"], answer["text"]) == (predictor.labels[best], row["choices"][best])
        assert sum(answer["probabilities"]) == pytest.approx(1)


def test_a_row_with_too_few_choices_is_named(tuned):
    rows = make_rows("choice", [{"context": "a", "choices": ["b", "c"], "label": "a"}])
    with pytest.raises(InputError, match="row 'r0': 2 choices, expected 3"):
        load_predictor(tuned / "choice").predict(rows)


@pytest.mark.parametrize("kind", ["classification", "choice"])
def test_the_answer_to_a_row_does_not_depend_on_its_company(tuned, kind):
    predictor = load_predictor(tuned / kind)
    rows = random_rows(kind, 60)
    together = predictor.predict(rows)["probabilities"].to_pylist()
    alone = [predictor.predict(rows.slice(number, 1))["probabilities"][0].as_py() for number in range(len(rows))]
    np.testing.assert_allclose(together, alone, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_no_labels_are_needed_and_no_rows_are_no_answers(tuned, kind):
    predictor = load_predictor(tuned / kind)
    rows = random_rows(kind, 5).drop_columns([ANSWERS[kind], "document"])
    assert len(predictor.predict(rows)) == 5
    assert predictor.predict(rows.slice(0, 0)).schema == PREDICTION_SCHEMAS[kind]


def test_special_tokens_in_a_text_are_words(tuned):
    """A text can't end its own segment."""
    predictor = load_predictor(tuned / "classification")
    ids = predictor.tokenizer.encode("a [SEP] b").ids
    assert ids.count(3) == 1


def test_a_row_without_id_is_refused(tuned):
    with pytest.raises(InputError, match="column 'id'"):
        load_predictor(tuned / "classification").predict(pa.table({"text": ["a"]}))


def test_a_changed_file_is_refused(tuned, tmp_path):
    folder = copy(tuned / "span", tmp_path / "model")
    weights = folder / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(CorruptionError, match=r"model\.safetensors"):
        load_predictor(folder)


def test_a_family_that_answers_no_tasks_is_refused(tuned, tmp_path):
    folder = copy(tuned / "span", tmp_path / "model")
    record = json.loads((folder / "task.json").read_text())
    write_json(folder / "task.json", {**record, "family": "transformer"})
    write_manifest(folder)
    with pytest.raises(InputError, match="'transformer' has no models that answer tasks"):
        load_predictor(folder)


def copy(source: Path, target: Path) -> Path:
    target.mkdir()
    for file in source.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return target
