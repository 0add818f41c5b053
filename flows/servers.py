"""The Prefect and MLflow servers of `make serve`: on loopback, with their state in the project, for as long as we live."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from flows.stages import FENCED
from stemma.adapters.store import ARTIFACTS, DATABASE
from stemma.errors import BusyError, StageError

__all__ = ["Server", "answers", "mlflow_server", "prefect_server", "running", "temporary_server"]

HOST: Final = "127.0.0.1"
_START_SECONDS: Final = 180.0
_STOP_SECONDS: Final = 10.0


class Server:
    """A command, and the address at which it says that it is well."""

    def __init__(self, name: str, command: list[str], health: str, variables: Mapping[str, str] | None = None) -> None:
        self.name, self.command, self.health, self.variables = name, command, health, dict(variables or {})


def prefect_server(port: int) -> Server:
    """Prefect's API, scheduler and pages."""
    command = ["-m", "prefect", "server", "start", "--host", HOST, "--port", str(port)]
    variables = {"PREFECT_UI_API_URL": f"http://{HOST}:{port}/api"}
    return Server("prefect", command, f"http://{HOST}:{port}/api/health", variables)


def temporary_server() -> Server:
    """Prefect's API alone, for the length of one run: what Prefect itself starts where no server is named.

    Ours dies with us, keeps its log to itself, and spares this process the import of the server.
    """
    port = _free_port()
    command = [
        "-m",
        "uvicorn",
        "--factory",
        "prefect.server.api.server:create_app",
        "--host",
        HOST,
        "--port",
        str(port),
    ]
    variables = {"PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1", "PREFECT_UI_ENABLED": "0"}
    return Server("temporary", [*command, "--log-level", "error"], f"http://{HOST}:{port}/api/health", variables)


def mlflow_server(root: Path, port: int) -> Server:
    """MLflow's tracking server on the same database and artifact folder that runs use without it."""
    command = ["-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1"]
    database, artifacts = root / DATABASE, root / ARTIFACTS
    stores = ["--backend-store-uri", f"sqlite:///{database}", "--default-artifact-root", str(artifacts)]
    variables = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}  # seven idle processes for features that we do not use
    return Server("mlflow", [*command, *stores], f"http://{HOST}:{port}/health", variables)


@contextmanager
def running(root: Path, *servers: Server) -> Iterator[None]:
    """Start servers, wait until each is well, and stop them at the end, the last one first."""
    with ExitStack() as stack:
        started = [(server, stack.enter_context(_process(root, server))) for server in servers]
        for server, process in started:
            _wait_until_well(root, server, process)
        yield


def answers(url: str, seconds: float = 3.0) -> bool:
    """Whether an address answers with 200."""
    try:
        with urllib.request.urlopen(url, timeout=seconds) as response:  # noqa: S310 - the user's own server
            return bool(response.status == 200)
    except (OSError, ValueError, urllib.error.URLError):
        return False


@contextmanager
def _process(root: Path, server: Server) -> Iterator["subprocess.Popen[bytes]"]:
    if answers(server.health, 1.0):
        raise BusyError(f"{server.health}: something answers there already; stop it or choose another port")
    log = _log_path(root, server)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", FENCED, sys.executable, *server.command],
            cwd=root,
            env={**os.environ, **server.variables},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that Ctrl-C reaches us alone, and we stop things in order
        )
    try:
        yield process
    finally:
        _stop(process)


def _wait_until_well(root: Path, server: Server, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not answers(server.health):
        if process.poll() is not None or time.monotonic() > deadline:
            raise StageError(f"the {server.name} server did not start; its log: {_log_path(root, server)}")
        time.sleep(0.2)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End a server and every process that it has started: politely, then not."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, kind)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def _log_path(root: Path, server: Server) -> Path:
    return root / ".stemma" / "logs" / f"{server.name}-server.log"
