"""The project's own graph, with the smoke profile: both engines do the same work once."""

import subprocess
import sys
from pathlib import Path

import pytest

from stemma.adapters import dvc
from tests import clones
from tests.clones import Engines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200), pytest.mark.xdist_group("smoke")]


def test_both_engines_leave_the_same_lock_and_nothing_for_the_other(engines: Engines, tmp_path: Path) -> None:
    assert (engines.by_flow / "dvc.lock").read_bytes() == (engines.by_dvc / "dvc.lock").read_bytes()
    assert len(clones.started(engines.said_by_dvc)) == len(dvc.read_lock(engines.by_dvc)) > 10
    flow = clones.copy_clone(engines.by_flow, tmp_path / "flow")
    assert clones.started(clones.run_dvc(flow, "repro").stdout) == []
    repro = clones.copy_clone(engines.by_dvc, tmp_path / "repro")
    command, environment = [sys.executable, "-m", "flows.pipeline"], clones.environment(repro)
    result = subprocess.run(command, cwd=repro, env=environment, check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "Nothing to do: every stage is up to date."
    assert not (repro / ".stemma" / "runs").exists()
