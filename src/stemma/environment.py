"""What every process of the project sets before it imports a tool: no telemetry, no pickles, quiet libraries.

A variable that the user has set is left as it is.
"""

import os

__all__ = ["DEFAULTS", "quiet_environment"]

DEFAULTS = {
    "DO_NOT_TRACK": "1",
    "DVC_NO_ANALYTICS": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
}


def quiet_environment() -> None:
    """Set the defaults in this process's environment, which its children inherit."""
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
