"""What the tests of the whole pipeline share: a real Prefect server."""

import os
import socket
from collections.abc import Iterator

import pytest

from flows.servers import prefect_server, running


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
