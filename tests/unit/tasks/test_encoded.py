"""Inputs that are made once: the same bits, whatever happens to the folder that keeps them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tokenizers

from stemma.files import MANIFEST
from stemma.tasks import encoded
from stemma.tasks.encoded import encode_once
from stemma.tasks.features import Features, encode_rows
from stemma.text.segmentation import chinese_pre_tokenizer
from tests import toy_bert
from tests.unit.tasks.test_features import TOKENIZER, make_rows, make_task
from tests.unit.tasks.test_predictor import KINDS, random_rows


@pytest.fixture(autouse=True)
def scratch(monkeypatch, tmp_path):
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))
    return tmp_path / "scratch" / "encoded"


@pytest.fixture
def calls(monkeypatch):
    """How often rows were really encoded."""
    seen: list[int] = []

    def count(rows: pa.Table, *rest: Any) -> Features:
        seen.append(len(rows))
        return encode_rows(rows, *rest)

    monkeypatch.setattr(encoded, "encode_rows", count)
    return seen


def flat(value: Any) -> dict[str, Any]:
    """All arrays and numbers of features, by name."""
    if not hasattr(value, "__dataclass_fields__"):
        return {"": value}
    return {
        f"{field.name}.{name}": item
        for field in fields(value)
        for name, item in flat(getattr(value, field.name)).items()
    }


def assert_equal(one: Features, other: Features) -> None:
    assert flat(one).keys() == flat(other).keys()
    for name, value in flat(one).items():
        np.testing.assert_array_equal(value, flat(other)[name], err_msg=name)
        assert getattr(value, "dtype", None) == getattr(flat(other)[name], "dtype", None), name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 60])
def test_what_is_kept_is_what_was_made(scratch, calls, kind, count):
    rows, task = random_rows(kind, count), make_task(kind, stride=4)
    wanted = encode_rows(rows, task, TOKENIZER, 24)
    assert_equal(encode_once(rows, task, TOKENIZER, 24), wanted)
    again = toy_bert.tokenizer()  # another object, the same tokenizer
    assert_equal(encode_once(pa.concat_tables([rows.slice(0, 7), rows.slice(7)]), task, again, 24), wanted)
    assert calls == [count]
    assert len(list(scratch.iterdir())) == 1


def test_all_that_inputs_depend_on_names_the_folder(scratch, calls, monkeypatch):
    rows, task = random_rows("span", 30), make_task("span", stride=4)
    other = tokenizers.Tokenizer.from_str(TOKENIZER.to_str().replace('"##a"', '"##A"'))
    literal = tokenizers.Tokenizer.from_str(TOKENIZER.to_str())
    literal.encode_special_tokens = not TOKENIZER.encode_special_tokens
    encode_once(rows, task, TOKENIZER, 24)
    encode_once(rows.slice(1), task, TOKENIZER, 24)
    encode_once(rows, make_task("span", stride=5), TOKENIZER, 24)
    encode_once(rows, task, TOKENIZER, 20)
    encode_once(rows, task, other, 24)
    encode_once(rows, task, literal, 24)
    monkeypatch.setattr(encoded, "code_digest", lambda _: "edited")
    encode_once(rows, task, TOKENIZER, 24)
    assert len(calls) == len(list(scratch.iterdir())) == 7


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: flip(folder / "ids.values.npy"),
        lambda folder: os.truncate(folder / "rows.npy", 100),
        lambda folder: (folder / "words.offsets.npy").unlink(),
        lambda folder: (folder / "counts.json").write_text('{"num_rows": 1, "together": 1}'),
        lambda folder: (folder / MANIFEST).unlink(),
        lambda folder: os.truncate(folder / MANIFEST, 50),
        lambda folder: (folder / MANIFEST).write_text('{"files": {}}'),
    ],
)
def test_damage_is_seen_and_mended(scratch, calls, caplog, damage: Callable[[Path], object]):
    rows, task = random_rows("tagging", 40), make_task("tagging")
    wanted = encode_once(rows, task, TOKENIZER, 24)
    (folder,) = scratch.iterdir()
    damage(folder)
    assert_equal(encode_once(rows, task, TOKENIZER, 24), wanted)
    assert "is damaged" in caplog.text
    assert_equal(encode_once(rows, task, TOKENIZER, 24), wanted)
    assert len(calls) == 2, "and then it is whole again"


def test_what_a_killed_process_left_is_no_entry(scratch, calls):
    rows, task = random_rows("tagging", 40), make_task("tagging")
    encode_once(rows, task, TOKENIZER, 24)
    (folder,) = scratch.iterdir()
    folder.rename(scratch / f".{folder.name}.999999999.tmp")
    encode_once(rows, task, TOKENIZER, 24)
    assert len(calls) == 2
    assert list(scratch.iterdir()) == [folder]


def test_no_room_is_said_and_costs_only_time(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "file"))
    rows, task = random_rows("tagging", 5), make_task("tagging")
    assert_equal(encode_once(rows, task, TOKENIZER, 24), encode_rows(rows, task, TOKENIZER, 24))
    assert "could not be written" in caplog.text


def test_a_tokenizer_that_cant_be_written_down_keeps_nothing(scratch):
    tokenizer = toy_bert.tokenizer()
    tokenizer.pre_tokenizer = chinese_pre_tokenizer()
    rows = make_rows("tagging", [{"tokens": ["a", "bc"], "tags": ["O", "O"]}])
    assert encode_once(rows, make_task("tagging"), tokenizer, 24).ids.values.tolist() == [2, 5, 6, 17, 3]
    assert not scratch.exists()


WORKER = """
import sys, time
from pathlib import Path
from stemma.tasks.encoded import encode_once
from tests.unit.tasks.test_encoded import TOKENIZER, assert_equal, encode_rows, make_task, random_rows
folder = Path(sys.argv[1])
kinds = [("tagging", 100), ("span", 100), ("choice", 50), ("classification", 100)]
made = [(random_rows(kind, count), make_task(kind)) for kind, count in kinds]
wanted = [encode_rows(rows, task, TOKENIZER, 24) for rows, task in made]
(folder / sys.argv[2]).touch()
while not (folder / "go").exists():
    time.sleep(0.001)
for (rows, task), expected in zip(made, wanted):
    for _ in range(3):
        assert_equal(encode_once(rows, task, TOKENIZER, 24), expected)
"""


def test_two_processes_may_make_the_same_at_once(tmp_path, scratch):
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path), f"ready-{number}"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path.cwd())])},
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    while len(list(tmp_path.glob("ready-*"))) < 2:
        assert all(worker.poll() is None for worker in workers), [worker.communicate() for worker in workers]
        time.sleep(0.01)
    (tmp_path / "go").touch()
    errors = [worker.communicate()[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], errors
    assert len(list(scratch.iterdir())) == 4, "four entries, and nothing half written"
