"""A packed model answers through MLflow's own scoring server, for every kind of task, as the predictor does."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stemma.adapters import packing
from stemma.adapters.questions import ask
from stemma.errors import ReleaseError
from stemma.families.bert.network import load_encoder
from stemma.files import write_json, write_manifest
from stemma.tasks.base import ANSWERS, PREDICTION_SCHEMAS, ROW_SCHEMAS
from stemma.tasks.predictor import load_predictor
from tests import toy_tasks


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_tasks.write_pretrained(tmp_path_factory.mktemp("bert"))


def write_model(pretrained: Path, name: str, folder: Path, **changes: object) -> Path:
    task, encoder = toy_tasks.TASKS[name].model_copy(update=changes), load_encoder(pretrained)
    folder.mkdir()
    encoder.save(encoder.with_head(task.kind, task.labels, seed=1), folder)
    about = {"task": name, "family": "bert", "variant": "bert", "seed": 1}
    write_json(folder / "task.json", {**about, **task.model_dump(mode="json")})
    write_manifest(folder)
    return folder


def rows_of(name: str, count: int) -> pa.Table:
    rng = np.random.default_rng(5)
    rows = [toy_tasks.make_row(name, number, rng) for number in range(count)]
    return pa.Table.from_pylist(rows, schema=ROW_SCHEMAS[toy_tasks.TASKS[name].kind])


@pytest.mark.parametrize("name", list(toy_tasks.TASKS))
def test_the_scoring_server_gives_the_predictors_answers(pretrained: Path, tmp_path: Path, name: str) -> None:
    kind, rows = toy_tasks.TASKS[name].kind, rows_of(name, 20)
    model = write_model(pretrained, name, tmp_path / "seed-1")
    packing.pack(model, kind, rows.slice(0, 2), "# A card\n", tmp_path / "no.lock", tmp_path / "packed")
    expected = load_predictor(model).predict(rows.drop_columns([ANSWERS[kind]]))
    assert packing.difference(expected, packing.load_back(str(tmp_path / "packed"), kind, rows)) == ""

    client = scoring_client(tmp_path / "packed")
    records = json.loads(packing.to_frame(kind, rows).to_json(orient="records"))
    answer = client.post("/invocations", json={"dataframe_records": records})
    assert answer.status_code == 200, answer.text
    given = pa.Table.from_pylist(answer.json()["predictions"], schema=PREDICTION_SCHEMAS[kind])
    assert packing.difference(expected, given) == ""
    split = {"columns": list(records[0]), "data": [list(record.values()) for record in records]}
    assert client.post("/invocations", json={"dataframe_split": split}).json() == answer.json()
    refused = client.post("/invocations", json={"dataframe_records": [{"id": "1"}]})
    assert refused.status_code == 400


def test_a_packed_model_sees_the_document_of_a_row(pretrained: Path, tmp_path: Path) -> None:
    rows = rows_of("letters", 20)
    rows = rows.set_column(1, rows.schema.field("document"), pa.array([f"d{row // 5}" for row in range(20)]))
    model = write_model(pretrained, "letters", tmp_path / "seed-1", document_context=True)
    packing.pack(model, "tagging", rows.slice(0, 2), "# A card\n", tmp_path / "no.lock", tmp_path / "packed")
    seen: list[pa.Table] = []
    predictor = load_predictor(model)

    def predict(given: pa.Table) -> pa.Table:
        seen.append(given)
        return predictor.predict(given)

    expected = predict(rows.drop_columns(["tags"]))
    assert packing.difference(expected, packing.load_back(str(tmp_path / "packed"), "tagging", rows)) == ""
    records = packing.to_frame("tagging", rows).to_dict("records")
    assert packing.difference(expected, ask(predict, "tagging", records, [""] * 20)) == ""
    assert seen[1]["document"].to_pylist() == rows["document"].to_pylist()


def scoring_client(packed: Path) -> Any:
    from starlette.testclient import TestClient

    with packing._pyfunc() as pyfunc:
        from mlflow.pyfunc import scoring_server

        return TestClient(scoring_server.init(pyfunc.load_model(str(packed))))


def test_weights_in_a_pickle_are_refused(pretrained: Path, tmp_path: Path) -> None:
    model = write_model(pretrained, "first", tmp_path / "seed-1")
    (model / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    write_manifest(model)
    with pytest.raises(ReleaseError, match=r"pytorch_model\.bin may hold pickles"):
        packing.pack(model, "classification", rows_of("first", 2), "", tmp_path / "no.lock", tmp_path / "packed")


def test_requirements_are_those_of_the_lock(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("# made by a command\ntorch==2.13.0\n\nmlflow==3.17.2\n")
    assert packing._requirements(lock) == ["torch==2.13.0", "mlflow==3.17.2"]
    assert "torch==2.13.0" in packing._requirements(tmp_path / "none.lock")


def test_the_first_answer_that_differs_is_named() -> None:
    schema = PREDICTION_SCHEMAS["tagging"]
    one = pa.Table.from_pylist([{"id": "a", "tags": ["O"]}, {"id": "b", "tags": ["O", "O"]}], schema=schema)
    other = pa.Table.from_pylist([{"id": "a", "tags": ["O"]}, {"id": "b", "tags": ["O", "B-A"]}], schema=schema)
    assert packing.difference(one, one) == ""
    assert packing.difference(one, other).startswith("row 1: {'id': 'b', 'tags': ['O', 'B-A']} instead of")
    assert packing.difference(one, other.slice(0, 1)) == "1 answers instead of 2"
