"""`stemma translate`: lines in, lines out; or one line that says why not."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from stemma.adapters import translate
from stemma.adapters.translate import load_model_translator, translate_lines
from stemma.cli import app
from stemma.errors import InputError
from tests import toy_nnlm, toy_transformer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_transformer.pretrain(tmp_path_factory.mktemp("transformer"))[0]


def test_a_line_for_every_line(model: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b\n\nc d\n" * 100)
    lines = list(translate_lines(model, text, None))
    assert len(lines) == 300
    assert lines[:3] * 100 == lines
    assert lines[1] == ""
    translator = load_model_translator(model)
    assert lines[::2][0] == translator.translate(["a b"])[0]
    assert list(translate_lines(model, text, 1))[:3] == translator.translate(["a b", "", "c d"], beam=1)


def test_what_can_not_translate_is_named(model: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b\n")
    with pytest.raises(InputError, match=r"family\.json is missing"):
        list(translate_lines(tmp_path, text, None))
    with pytest.raises(InputError, match=r"missing\.txt: no such file"):
        list(translate_lines(tmp_path, tmp_path / "missing.txt", None))
    neural, _ = toy_nnlm.pretrain(tmp_path)
    with pytest.raises(InputError, match="family 'nnlm' does not translate"):
        list(translate_lines(neural, text, None))


def test_the_command_reads_standard_input(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stdin").write_text("a b\nf\n")
    monkeypatch.setattr(translate, "STANDARD_INPUT", tmp_path / "stdin")
    wanted = load_model_translator(model).translate(["a b", "f"], beam=2)
    for arguments in (["-", "--beam", "2"], ["--beam", "2"], [str(tmp_path / "stdin"), "--beam", "2"]):
        done = CliRunner().invoke(app, ["translate", str(model), *arguments])
        assert done.exit_code == 0
        assert done.stdout.splitlines() == wanted
