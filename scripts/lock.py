"""Resolve pyproject.toml into requirements.lock: every version pinned, one lock for CPU and CUDA builds of torch.

Usage: `make lock`. pip resolves (it alone finds a local CPU build of torch); nothing is installed.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
HEADER = (
    "# Made from pyproject.toml by `make lock`; do not edit. torch: no build tag and no CUDA packages, on purpose.\n"
)
BUILD = ["setuptools", "wheel"]


def main() -> None:
    """Write the lock."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        subprocess.run([*command, "--report", str(report), f"{ROOT}[dev]", *BUILD], check=True)
        items = [item["metadata"] for item in json.loads(report.read_text())["install"]]
    lines = sorted({line for item in items if (line := _pin(item["name"], item["version"]))}, key=str.lower)
    LOCK.write_text(HEADER + "\n".join(lines) + "\n")
    print(f"{LOCK.name}: {len(lines)} packages")


def _pin(name: str, version: str) -> str:
    if name.lower().startswith("nvidia-") or name.lower() in {"triton", "stemma"}:
        return ""
    return f"{name}=={version.partition('+')[0]}"


if __name__ == "__main__":
    main()
