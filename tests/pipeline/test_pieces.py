"""A run in pieces on a real graph: from a clone fixed at a commit, killed, gone on with, and what it leaves to commit."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts.real_run import fixed_clone
from stemma.errors import InputError
from stemma.files import read_json
from tests import miniature


@pytest.fixture
def project(tmp_path: Path) -> Path:
    here = miniature.make_project(tmp_path / "project")
    (here / "profiles").mkdir()
    (here / "profiles" / "mini.yaml").write_text((here / "params.yaml").read_text())
    (here / "data" / "external").mkdir(parents=True)
    (here / "data" / "external" / "corpus.txt").write_text("text")
    miniature.change(here, "sides.slow.sleep", 20)
    miniature.commit(here)
    return here


def start(project: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "scripts.real_run", "mini", "--clone", str(project.parent / "clone")]
    return subprocess.Popen(
        command,
        cwd=project,
        env=miniature.environment(project),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_killed_piece_is_gone_on_with_and_leaves_its_results(project: Path) -> None:
    clone, results = project.parent / "clone", project / "docs" / "results" / "mini"
    first = start(project)
    trace = clone / ".stemma" / "trace.log"
    deadline = time.monotonic() + 120
    while not (trace.exists() and "start slow" in trace.read_text()) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    assert "slow" in miniature.ran(clone)
    commit = read_json(clone / ".stemma" / "real-run.json")["commit"]
    (clone / "work.py").write_text((clone / "work.py").read_text() + "# changed\n")
    with pytest.raises(InputError, match=rf"clone: is no longer as commit {commit[:10]} has it"):
        fixed_clone(project, clone, "mini")
    miniature.git(clone, "checkout", "work.py")
    miniature.change(clone, "sides.slow.sleep", 0)
    miniature.git(clone, "update-index", "--assume-unchanged", "mini.yaml")  # the test has no 20 seconds
    second = start(project)
    said, _ = second.communicate(timeout=240)
    assert second.returncode == 0, said
    assert "source" not in miniature.ran(clone)  # it was done in the first piece
    run = read_json(results / "run.json")
    assert run["commit"] == commit == miniature.git(project, "rev-parse", "HEAD").strip()
    assert run["left"] == []
    assert set(run["stages"]) == set(miniature.ORDER)
    assert run["stages"]["side@slow"]["pieces"] == [1, 2]
    assert run["stages"]["side@slow"]["state"] == "done"
    assert "All stages are done; 2 pieces" in (results / "README.md").read_text()
    assert (clone / "data" / "external" / "corpus.txt").read_text() == "text"
