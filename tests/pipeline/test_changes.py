"""A change re-runs what depends on it and nothing else: on the real graph, with the smoke profile."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from stemma.adapters.plan import make_plan
from stemma.config import load_params
from stemma.families import families
from tests import clones
from tests.clones import Engines

pytestmark = [pytest.mark.xdist_group("smoke"), pytest.mark.timeout(1200)]

WORD = ["tokenizer@word", "tokenize@word", "pretrain@ngram", "evaluate"]


@pytest.fixture(scope="module")
def clone(engines: Engines, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a finished clone, to be changed and put back."""
    return clones.copy_clone(engines.by_dvc, tmp_path_factory.mktemp("changes") / "clone")


def would_run(clone: Path) -> list[str]:
    return [step.stage for step in make_plan(clone).steps]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("evaluation.bootstrap_draws", 50, ["evaluate"]),
        ("families.ngram.order", 2, ["pretrain@ngram", "evaluate"]),
        ("tokenizers.word.lowercase", False, WORD),
    ],
)
def test_a_setting_re_runs_exactly_its_descendants(clone: Path, key: str, value: object, expected: list[str]) -> None:
    clones.change(clone, key, value)
    assert would_run(clone) == sorted(expected, key=expected.index)
    assert clones.started(clones.run_dvc(clone, "repro").stdout) == expected
    assert would_run(clone) == []


def test_far_reaching_settings_reach_as_far_as_they_should(clone: Path) -> None:
    everything = set(make_graph(clone))
    for key, value, spared in (
        ("cleaning.unicode", "NFKC", {"ingest", "prepare", "validate"}),
        ("seed", 2, {"ingest"}),
        ("finetuning.learning_rate", 0.1, {stage for stage in everything if "tune" not in stage} - {"evaluate"}),
        ("release.max_regression", 0.5, everything),
    ):
        with edited(clone / "params.yaml"):
            clones.change(clone, key, value)
            assert everything - set(would_run(clone)) == spared, key


@pytest.mark.parametrize("family", families())
def test_editing_one_familys_files_re_runs_no_other_family(clone: Path, family: str) -> None:
    params = load_params(clone / "params.yaml")
    with ExitStack() as edits:
        for path in sorted((clone / "src/stemma/families" / family).glob("*.py")):
            edits.enter_context(edited(path)).write_text(path.read_text() + "\n# edited\n")
        run = set(would_run(clone))
    own = {f"pretrain@{name}" for name, variant in params.variants.items() if variant.family == family}
    own |= {f"finetune@{name}" for name, pair in params.pairs.items() if pair.family == family}
    assert own or family not in {"bert", "ngram"}, "of which the smoke profile has variants"
    assert run == own | {"evaluate"}


def test_editing_a_data_stage_re_runs_what_follows_and_not_what_comes_before(clone: Path) -> None:
    with edited(clone / "src/stemma/stages/tokenize.py") as path:
        path.write_text(path.read_text() + "\n# edited\n")
        run = set(would_run(clone))
    kept = {"ingest", "prepare", "validate", "clean", "tokenizer@word", "tokenizer@wordpiece"}
    assert run == set(make_graph(clone)) - kept


def test_an_edited_loss_uses_no_old_checkpoint(clone: Path) -> None:
    """The folder of checkpoints is named by all that the result depends on, the code of the loss included."""
    before = scratch_key(clone)
    assert scratch_key(clone) == before, "the same code goes on from its own checkpoint"
    with edited(clone / "src/stemma/families/bert/family.py") as path:
        path.write_text(path.read_text() + "\n# another loss\n")
        assert scratch_key(clone) != before


def scratch_key(clone: Path) -> str:
    code = (
        "from pathlib import Path; from stemma.training.checkpoint import scratch_dir;"
        "print(scratch_dir('pretrain-bert', settings={}, inputs=[Path('params.yaml')],"
        "modules=['stemma.families.bert.family', 'stemma.stages.pretrain'], seed=1).name)"
    )
    environment = clones.environment(clone)
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=clone, env=environment, check=True, capture_output=True, text=True
    )
    return result.stdout


def make_graph(clone: Path) -> list[str]:
    from stemma.adapters import dvc

    return list(dvc.read_graph(clone))


@contextmanager
def edited(path: Path) -> Iterator[Path]:
    """Put a file back as it was, to the nanosecond, so that DVC need not read it anew."""
    before, stat = path.read_bytes(), path.stat()
    try:
        yield path
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
