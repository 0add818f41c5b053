"""`stemma calibrate`: steps that fit a CPU time, in a settings file that otherwise stays as it was."""

import difflib
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from stemma.adapters.calibrate import Pace, calibrate, measure_pace, set_steps
from stemma.config import load_params
from stemma.errors import InputError, SettingsError
from tests import toy_nnlm
from tests.toy_ngrams import save_corpus

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """This project's settings, committed, and tokens as the pipeline leaves them."""
    shutil.copy(ROOT / "profiles/laptop.yaml", tmp_path / "params.yaml")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "params.yaml")
    git(tmp_path, "commit", "-qm", "x")
    tokens, tokenizer = save_corpus(tmp_path / "made", toy_nnlm.LETTERS, toy_nnlm.sentences(1, 60), ["a b"])
    tokens.rename(tmp_path / "tokens-of-word")
    (tmp_path / "tokens").mkdir()
    (tmp_path / "tokens-of-word").rename(tmp_path / "tokens/word")
    (tmp_path / "tokenizers").mkdir()
    tokenizer.rename(tmp_path / "tokenizers/word")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=folder, check=True)


def run(project: Path, variant: str, minutes: float = 1.0, *, write: bool = True) -> list[str]:
    folders = {"tokens": project / "tokens", "tokenizers": project / "tokenizers"}
    return list(calibrate(project, variant, minutes, seconds=0.1, write=write, **folders))


def changes(before: str, after: str) -> list[str]:
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line[0] in "+-"]


def test_steps_are_what_fits_by_a_known_clock() -> None:
    clock = iter(range(100))  # a second a step
    pace = measure_pace(iter([7] * 100), 5.0, lambda: next(clock))
    assert pace == Pace(tokens_per_second=7.0, tokens_per_step=7.0)
    assert pace.steps_in(2.0) == 120
    assert Pace(tokens_per_second=100.0, tokens_per_step=30.0).steps_in(1.0) == 200
    assert Pace(tokens_per_second=1.0, tokens_per_step=1000.0).steps_in(0.5) == 1


def test_the_budget_is_written_and_nothing_else_changes(project: Path) -> None:
    before = (project / "params.yaml").read_text()
    *_, fits, written = run(project, "nnlm")
    after = (project / "params.yaml").read_text()
    steps = load_params(project / "params.yaml").family_settings("nnlm")["steps"]
    assert changes(before, after) == ["+     overrides:", f"+       steps: {steps}"]
    assert f"1 minutes: {steps:,} steps" in fits
    assert written == f"params.yaml: variants.nnlm.overrides.steps is now {steps}"
    assert "# a family's settings, which a variant may override" in after


def test_a_dry_run_only_says_it(project: Path) -> None:
    before = (project / "params.yaml").read_text()
    assert len(run(project, "nnlm", write=False)) == 2
    assert (project / "params.yaml").read_text() == before


def test_an_override_that_is_there_is_replaced(project: Path) -> None:
    before = (project / "params.yaml").read_text()
    set_steps(project / "params.yaml", "bert-untrained", 77)
    assert changes(before, (project / "params.yaml").read_text()) == ["-       steps: 0", "+       steps: 77"]


def test_uncommitted_edits_are_a_reason_to_refuse(project: Path) -> None:
    params = project / "params.yaml"
    edited = params.read_text().replace("seed: 1\n", "seed: 2\n", 1)
    params.write_text(edited)
    with pytest.raises(SettingsError, match="edits that are not committed"):
        run(project, "nnlm")
    assert params.read_text() == edited
    assert len(run(project, "nnlm", write=False)) == 2


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("brt", "no variant 'brt'"),
        (
            "ngram",
            "family 'ngram' has no `steps` to calibrate; it goes through its corpus once: change corpora.stories",
        ),
        (
            "glove",
            "family 'glove' has no `steps` to calibrate; its budget is `epochs`: set variants.glove.overrides.epochs",
        ),
        ("bert-untrained", "no training step"),
    ],
)
def test_what_has_no_steps_names_what_to_change(project: Path, variant: str, message: str) -> None:
    (project / "tokens/wordpiece").mkdir()
    with pytest.raises(SettingsError, match=message):
        run(project, variant)


def test_missing_tokens_are_named(project: Path) -> None:
    with pytest.raises(InputError, match="run `dvc repro tokenize@wordpiece`"):
        run(project, "bert")


def test_a_setting_that_can_not_be_is_not_written(project: Path) -> None:
    values = yaml.safe_load((project / "params.yaml").read_text())
    before = (project / "params.yaml").read_text()
    with pytest.raises(SettingsError, match="steps"):
        set_steps(project / "params.yaml", "nnlm", -values["families"]["nnlm"]["steps"])
    assert (project / "params.yaml").read_text() == before
