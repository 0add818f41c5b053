"""The whole pipeline needs nothing beyond loopback, in any process of its tree."""

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from stemma.adapters import dvc
from tests import miniature, offline
from tests.clones import Engines

PROBE = """
import pathlib, socket
said = []
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), 5):
    said.append("loopback answers")
for what, attempt in {
    "connection": lambda: socket.create_connection(("192.0.2.1", 80), 5),
    "look-up": lambda: socket.getaddrinfo("example.org", 80),
}.items():
    try:
        attempt()
    except OSError as error:
        said.append(f"{what} refused")
pathlib.Path("said").write_text(", ".join(said))
"""


@pytest.mark.parametrize("how", ["namespace", "sitecustomize"])
def test_a_stages_subprocess_is_refused(how: str, tmp_path: Path) -> None:
    """The proof that the test below could fail: DVC starts a shell, the shell starts a Python, and that is refused."""
    if how == "namespace" and not offline.namespaces_allowed():
        pytest.skip("no network namespaces on this machine")
    project = miniature.make_project(tmp_path / "project")
    (project / "probe.py").write_text(PROBE)
    (project / "dvc.yaml").write_text(
        "stages: {probe: {cmd: python probe.py && true, deps: [probe.py], outs: [said]}}\n"
    )
    command, variables = dvc.command("repro"), miniature.environment(project)
    if how == "namespace":
        command, variables = offline.in_namespace(command, variables)
    else:
        command, variables = offline.with_sitecustomize(command, variables, tmp_path / "refusing")
    subprocess.run(command, cwd=project, env=variables, check=True, capture_output=True)
    assert (project / "said").read_text() == "loopback answers, connection refused, look-up refused"
    if how == "sitecustomize":
        asked = (tmp_path / "refusing" / "refused.log").read_text().split()[1::2]
        assert asked == ["192.0.2.1", "example.org"]


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.xdist_group("smoke")
def test_the_whole_pipeline_runs_offline(engines: Engines) -> None:
    assert (engines.by_flow / "reports/evaluation/metrics.json").exists()
    assert not engines.refused.exists(), engines.refused.read_text()
    assert "MLflow UI:" in engines.said_by_flow
    with closing(sqlite3.connect(engines.by_flow / ".stemma/prefect/prefect.db")) as database:
        artifacts = database.execute("select type, key from artifact").fetchall()
    assert ("table", "results") in artifacts, "Prefect's pages have the results"
    assert (engines.by_flow / ".stemma/mlflow.db").exists(), "tracking needs no network either"
