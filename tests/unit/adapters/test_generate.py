"""`stemma generate`: a line in, a line out; or one line that says why not."""

import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stemma.adapters.generate import continue_lines, load_model_generator
from stemma.cli import app
from stemma.errors import InputError
from tests import toy_gpt, toy_nnlm

ASKED: dict[str, Any] = {"tokens": 6, "temperature": 1.0, "top_k": 5, "seed": 3}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_gpt.pretrain(tmp_path_factory.mktemp("gpt"), steps=20)[0]


def test_every_line_is_continued(model: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b\n\n c d \na b\n")
    lines = list(continue_lines(model, text, **ASKED))
    assert len(lines) == 4
    assert lines[0].startswith("a b")
    assert lines[2].startswith("c d")
    assert lines == list(continue_lines(model, text, **ASKED)), "the same again"
    text.write_text("j\n\nj\na b\n")
    assert list(continue_lines(model, text, **ASKED))[3] == lines[3], "whatever the other lines are"


def test_a_file_or_standard_input(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b\n")
    by_file = CliRunner().invoke(app, ["generate", str(model), str(text), "--tokens", "5"])
    assert by_file.exit_code == 0
    assert by_file.stdout.startswith("a b")
    reader, writer = os.pipe()
    os.write(writer, b"a b\n")
    os.close(writer)
    monkeypatch.setattr("stemma.adapters.generate.STANDARD_INPUT", Path(f"/dev/fd/{reader}"))
    by_input = CliRunner().invoke(app, ["generate", str(model), "--tokens", "5"])
    os.close(reader)
    assert by_input.stdout == by_file.stdout


def test_what_can_not_write_is_said(tmp_path: Path) -> None:
    folder, _ = toy_nnlm.pretrain(tmp_path)
    with pytest.raises(InputError, match="family 'nnlm' does not write text"):
        load_model_generator(folder)
    with pytest.raises(InputError, match=r"family\.json is missing"):
        load_model_generator(tmp_path)
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(InputError, match="the file is empty"):
        list(continue_lines(folder, tmp_path / "empty.txt", **ASKED))
