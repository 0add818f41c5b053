"""The settings that Prefect runs with here. A variable that the user has set is left as it is."""

import os
from pathlib import Path

from stemma.environment import quiet_environment

__all__ = ["prepare_environment"]

DEFAULTS = {
    # nothing but names and numbers passes between tasks: no pickles, and nothing kept
    "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "PREFECT_TASKS_DEFAULT_NO_CACHE": "true",
    # a server of one's own where none is named; its first start migrates a database, which takes long on a busy machine
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    # a server that is gone must not hold the work up
    "PREFECT_API_REQUEST_TIMEOUT": "10",
    "PREFECT_CLIENT_MAX_RETRIES": "2",
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
}


def prepare_environment(root: Path) -> None:
    """Set the defaults in this process's environment; Prefect's state stays in the project, not in the user's home."""
    quiet_environment()
    if "PREFECT_HOME" not in os.environ:
        home = root / ".stemma" / "prefect"
        home.mkdir(parents=True, exist_ok=True)
        os.environ["PREFECT_HOME"] = str(home)
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
