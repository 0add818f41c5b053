"""`stemma predict`: text, pairs, spans and tags from JSON lines; what is wrong is named by file and line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stemma.adapters.predict import model_folder, predict_file
from stemma.adapters.questions import FIELDS, ask, question_rows
from stemma.errors import CorruptionError, InputError
from stemma.families.bert.network import load_encoder
from stemma.files import write_json, write_manifest
from stemma.protocols import HeadKind
from stemma.tasks.base import PREDICTION_SCHEMAS
from stemma.tasks.predictor import load_predictor
from tests import toy_tasks


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An untrained toy BERT with a head for each kind of task."""
    root = tmp_path_factory.mktemp("models")
    encoder = load_encoder(toy_tasks.write_pretrained(root / "bert"))
    folders = {}
    for name, task in toy_tasks.TASKS.items():
        folder = root / f"bert-{name}" / "seed-1"
        folder.mkdir(parents=True)
        encoder.save(encoder.with_head(task.kind, task.labels, seed=1), folder)
        about = {"task": name, "family": "bert", "variant": "bert", "seed": 1}
        write_json(folder / "task.json", {**about, **task.model_dump(mode="json")})
        write_manifest(folder)
        folders[name] = folder
    return folders


def write_lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("task", "records"),
    [
        ("first", [{"text": "a bc"}, {"text": "j", "label": "not asked"}]),
        ("first", [{"text": "a", "text_pair": "b c"}, {"text": "a", "text_pair": None}, {"text": ""}]),
        ("where", [{"context": "a bc d", "question": "bc"}, {"context": "j", "question": "a b"}]),
        ("letters", [{"tokens": ["a", "bc"]}, {"tokens": []}, {"tokens": ["j"]}]),
        (
            "pick",
            [{"context": "a", "choices": ["b", "c", "d"]}, {"context": "a", "question": "b", "choices": [*"cde"]}],
        ),
    ],
    ids=["text", "pair", "span", "tags", "choices"],
)
def test_every_line_gets_the_models_answer(
    models: dict[str, Path], tmp_path: Path, task: str, records: list[dict[str, Any]]
) -> None:
    predict_file(str(models[task]), write_lines(tmp_path / "in.jsonl", *records), tmp_path / "out.jsonl")
    answers = read_lines(tmp_path / "out.jsonl")
    predictor = load_predictor(models[task])
    direct = predictor.predict(question_rows(predictor.kind, records, [""] * len(records)))
    assert [answer | {"id": ""} for answer in answers] == [answer | {"id": ""} for answer in direct.to_pylist()]
    assert [answer["id"] for answer in answers] == [str(number) for number in range(1, len(records) + 1)]
    assert list(answers[0]) == PREDICTION_SCHEMAS[predictor.kind].names


def test_the_askers_ids_come_back_also_when_they_repeat(models: dict[str, Path], tmp_path: Path) -> None:
    records: list[dict[str, object]] = [
        {"id": "x", "context": "a b", "question": "b"},
        {"id": "x", "context": "c", "question": "c"},
        {"id": 7},
    ]
    records[2] |= {"context": "d e", "question": "e"}
    predict_file(str(models["where"]), write_lines(tmp_path / "in.jsonl", *records), tmp_path / "out.jsonl")
    assert [answer["id"] for answer in read_lines(tmp_path / "out.jsonl")] == ["x", "x", "7"]


def test_many_lines_go_through_a_few_at_a_time(models: dict[str, Path], tmp_path: Path) -> None:
    records = [{"text": "a" * (1 + number % 3)} for number in range(600)]
    predict_file(str(models["first"]), write_lines(tmp_path / "in.jsonl", *records), tmp_path / "out.jsonl")
    answers = read_lines(tmp_path / "out.jsonl")
    assert [answer["id"] for answer in answers] == [str(number) for number in range(1, 601)]
    assert answers[0]["probabilities"] == pytest.approx(answers[597]["probabilities"], abs=1e-6)


def test_lines_of_one_document_are_read_together(models: dict[str, Path], tmp_path: Path) -> None:
    """Also where there are more than go through at a time otherwise."""
    folder = tmp_path / "model"
    shutil.copytree(models["letters"], folder)
    task = json.loads((folder / "task.json").read_text())
    write_json(folder / "task.json", {**task, "document_context": True})
    write_manifest(folder)
    rows = [{"tokens": ["abc"[number % 3]] * (1 + number % 5), "document": str(number // 30)} for number in range(300)]
    predict_file(str(folder), write_lines(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl")
    whole = load_predictor(folder).predict(question_rows("tagging", rows, [""] * len(rows)))
    assert [answer["tags"] for answer in read_lines(tmp_path / "out.jsonl")] == whole["tags"].to_pylist()


def test_standard_output(models: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    predict_file(str(models["first"]), write_lines(tmp_path / "in.jsonl", {"text": "a"}), None)
    assert json.loads(capsys.readouterr().out)["label"] in ("no", "yes")


@pytest.mark.parametrize(
    ("task", "content", "message"),
    [
        ("first", b'{"text": "a"}\n{"text": \n', r"in\.jsonl:2: not valid JSON"),
        ("first", b'{"text": "a"}\n["a"]\n', r"in\.jsonl:2: expected a JSON object"),
        ("first", b'{"text": "a"}\n\n{"txet": "a"}\n', r"in\.jsonl:3: no 'text'; there is 'id', 'txet'"),
        ("first", b'{"text": null}\n', r"in\.jsonl:1: no 'text'"),
        ("first", b'{"text": 3}\n', r"in\.jsonl:1: 'text' must be text, not int"),
        ("first", b'{"text": "a", "text_pair": ["b"]}\n', r"in\.jsonl:1: 'text_pair' must be text, not list"),
        ("where", b'{"context": "a"}\n', r"in\.jsonl:1: no 'question'"),
        ("letters", b'{"tokens": "a b"}\n', r"in\.jsonl:1: 'tokens' must be a list of words"),
        ("letters", b'{"tokens": ["a", 1]}\n', r"in\.jsonl:1: 'tokens' must be a list of words"),
        ("pick", b'{"context": "a", "choices": "b"}\n', r"in\.jsonl:1: 'choices' must be a list of texts"),
        ("pick", b'{"context": "a"}\n', r"in\.jsonl:1: no 'choices'"),
        ("first", b'{"text": "\xff"}\n', r"in\.jsonl:1: not valid UTF-8"),
        ("first", b"", r"in\.jsonl: the file is empty"),
        ("first", b"\n\n", r"in\.jsonl: no rows"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(
    models: dict[str, Path], tmp_path: Path, task: str, content: bytes, message: str
) -> None:
    (tmp_path / "in.jsonl").write_bytes(content)
    (tmp_path / "out.jsonl").write_text("of an earlier run")
    with pytest.raises(InputError, match=message):
        predict_file(str(models[task]), tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == "of an earlier run"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_a_missing_file_is_named(models: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: no such file"):
        predict_file(str(models["first"]), tmp_path / "none.jsonl", None)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none", "no such folder"),
        ("bert-first", "choose one of seed-1 in it"),
        ("bert", "a fine-tuned model has a task"),
    ],
)
def test_a_folder_that_is_no_model_is_named(models: dict[str, Path], path: str, message: str) -> None:
    folder = models["first"].parent.parent / path
    with pytest.raises(InputError, match=message), model_folder(str(folder)):
        pass


def test_a_flipped_bit_is_found_before_an_answer_is_given(models: dict[str, Path], tmp_path: Path) -> None:
    weights = models["letters"] / "model.safetensors"
    whole = weights.read_bytes()
    try:
        weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(CorruptionError, match=r"model\.safetensors"):
            predict_file(str(models["letters"]), write_lines(tmp_path / "in.jsonl", {"tokens": ["a"]}), None)
    finally:
        weights.write_bytes(whole)


@pytest.mark.parametrize("kind", list(FIELDS))
def test_a_predictor_sees_positions_and_no_answers(kind: HeadKind) -> None:
    seen: list[pa.Table] = []

    def predict(rows: pa.Table) -> pa.Table:
        seen.append(rows)
        schema = PREDICTION_SCHEMAS[kind]
        blank = {field.name: pa.nulls(len(rows), field.type) for field in schema}
        return pa.table({**blank, "id": rows["id"]}, schema=schema)

    value: Callable[[str], object] = lambda name: ["a"] if name in ("tokens", "choices") else "a"  # noqa: E731
    record = {name: value(name) for name in FIELDS[kind]} | {"id": "z", "label": "x", "tags": ["O"], "answers": []}
    answers = ask(predict, kind, [record, record], ["one", "two"])
    assert seen[0].column_names == ["id", "document", *(name for name in FIELDS[kind] if name != "document")]
    assert seen[0]["id"].to_pylist() == ["0", "1"]
    assert answers["id"].to_pylist() == ["z", "z"]


def test_gaps_as_pandas_leaves_them(models: dict[str, Path]) -> None:
    rows = question_rows("classification", [{"text": "a", "text_pair": float("nan"), "id": None}], ["row 1"])
    assert rows["text_pair"].to_pylist() == [None]


def test_lone_surrogates_do_not_stop_a_model(models: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a \\ud800 b"}\n')
    predict_file(str(models["first"]), tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert len(read_lines(tmp_path / "out.jsonl")) == 1
