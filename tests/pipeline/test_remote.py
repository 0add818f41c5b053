"""With a DVC remote: another machine gets the results without running anything, and the past comes back byte for byte."""

import json
from pathlib import Path

import pytest

from stemma.files import digest_tree
from tests import clones
from tests.clones import Engines

pytestmark = [pytest.mark.xdist_group("smoke"), pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def clone(engines: Engines, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished clone with its results committed and pushed to a remote that checks what it is given."""
    folder = tmp_path_factory.mktemp("remote")
    clone = clones.copy_clone(engines.by_dvc, folder / "clone")
    clones.run_dvc(clone, "remote", "add", "--default", "store", str(folder / "store"))
    clones.run_dvc(clone, "remote", "modify", "store", "verify", "true")
    clones.commit(clone, "Results")
    clones.run_dvc(clone, "push")
    return clone


def test_a_fresh_clone_pulls_and_has_nothing_to_run(clone: Path, tmp_path: Path) -> None:
    clones.git(clone, "clone", "-q", str(clone), str(tmp_path / "fresh"))
    fresh = tmp_path / "fresh"
    clones.run_dvc(fresh, "pull")
    result = clones.run_dvc(fresh, "repro")
    assert clones.started(result.stdout) == []
    assert "Data and pipelines are up to date." in result.stdout
    for folder in ("models", "data/tokens", "reports/predictions"):
        assert digest_tree([fresh / folder]) == digest_tree([clone / folder])


def test_a_damaged_object_in_the_remote_is_refused(clone: Path, tmp_path: Path) -> None:
    store = clone.parent / "store" / "files" / "md5"
    model = next(path for path in store.rglob("*") if path.is_file() and path.stat().st_size > 10_000)
    kept = model.read_bytes()
    model.chmod(0o644)
    model.write_bytes(bytes([kept[0] ^ 1]) + kept[1:])
    try:
        clones.git(clone, "clone", "-q", str(clone), str(tmp_path / "fresh"))
        result = clones.run_dvc(tmp_path / "fresh", "pull", check=False)
        assert result.returncode != 0
    finally:
        model.write_bytes(kept)


def test_the_old_checkpoint_comes_back_byte_for_byte(clone: Path, tmp_path: Path) -> None:
    work = clones.copy_clone(clone, tmp_path / "work")
    model = work / "models/pretrained/bert"
    before = digest_tree([model])
    clones.change(work, "families.bert.learning_rate", 0.003)
    assert clones.started(clones.run_dvc(work, "repro", "pretrain@bert").stdout) == ["pretrain@bert"]
    assert digest_tree([model]) != before
    clones.commit(work, "Another learning rate")
    clones.git(work, "checkout", "-q", "HEAD~1")
    clones.run_dvc(work, "checkout", "--force")
    assert digest_tree([model]) == before
    assert clones.started(clones.run_dvc(work, "repro").stdout) == []


def test_experiments_and_metrics_diff_work(clone: Path, tmp_path: Path) -> None:
    work = clones.copy_clone(clone, tmp_path / "work")
    result = clones.run_dvc(work, "exp", "run", "-S", "families.ngram.order=1", "--name", "unigrams")
    assert "Ran experiment(s): unigrams" in result.stdout
    difference = json.loads(clones.run_dvc(work, "metrics", "diff", "--json").stdout)
    changed = set(difference["reports/evaluation/summary.json"])
    assert changed
    assert all("ngram" in key for key in changed), difference
    assert "unigrams" in clones.run_dvc(work, "exp", "list", "--name-only").stdout
