"""What the tests of the whole pipeline share: a real Prefect server, and the real graph run by both engines."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.servers import prefect_server, running
from stemma.adapters import dvc
from tests import clones, offline
from tests.clones import Engines


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Engines:
    """Run the real graph with the smoke profile, once by each engine, at the same time."""
    folder = tmp_path_factory.mktemp("engines")
    by_dvc, by_flow = clones.make_clone(folder / "dvc"), clones.make_clone(folder / "flow")
    flow = [sys.executable, "-m", "flows.pipeline"]
    variables = clones.environment(by_flow, STEMMA_JOBS="2")
    if offline.namespaces_allowed():
        flow, variables = offline.in_namespace(flow, variables)
    else:
        flow, variables = offline.with_sitecustomize(flow, variables, folder / "refusing")
    repro = dvc.command("repro")
    said = _run_both(
        folder, (repro, by_dvc, clones.environment(by_dvc, STEMMA_TRACKING="off")), (flow, by_flow, variables)
    )
    refused = folder / "refusing" / "refused.log"
    return Engines(by_dvc=by_dvc, by_flow=by_flow, said_by_dvc=said[0], said_by_flow=said[1], refused=refused)


def _run_both(folder: Path, *jobs: tuple[list[str], Path, dict[str, str]]) -> list[str]:
    logs = [folder / f"{number}.log" for number in range(len(jobs))]
    processes = []
    for (command, clone, variables), log in zip(jobs, logs, strict=True):
        with log.open("w") as file:
            processes.append(subprocess.Popen(command, cwd=clone, env=variables, stdout=file, stderr=subprocess.STDOUT))
    deadline = time.monotonic() + 900
    for process, log in zip(processes, logs, strict=True):
        assert process.wait(max(1.0, deadline - time.monotonic())) == 0, log.read_text()
    return [log.read_text() for log in logs]


@pytest.fixture(scope="session")
def prefect_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prefect server on a free loopback port, with its state in a folder of its own."""
    root = tmp_path_factory.mktemp("prefect-server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = prefect_server(port)
    server.variables |= {"PREFECT_HOME": str(root / "home"), "PREFECT_SERVER_UI_ENABLED": "false"}
    without = {name: os.environ.pop(name) for name in list(os.environ) if name == "PREFECT_API_URL"}
    try:
        with running(root, server):
            yield f"http://127.0.0.1:{port}/api"
    finally:
        os.environ.update(without)
