"""Resolve pyproject.toml into requirements.lock: every version pinned, one lock for CPU and CUDA builds of torch.

What only benchmarks compare with goes into benchmarks/requirements.lock, which is installed on top.

Usage: `make lock`. pip resolves (it alone finds a local CPU build of torch); nothing is installed.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
BENCH_LOCK = ROOT / "benchmarks" / "requirements.lock"
HEADER = (
    "# Made from pyproject.toml by `make lock`; do not edit. torch: no build tag and no CUDA packages, on purpose.\n"
)
BUILD = ["setuptools", "wheel"]


def main() -> None:
    """Write the locks."""
    lines = _resolve(f"{ROOT}[dev]", *BUILD)
    _write(LOCK, lines)
    _write(BENCH_LOCK, [line for line in _resolve(f"{ROOT}[dev,bench]", *BUILD, *lines) if line not in set(lines)])


def _resolve(*requirements: str) -> list[str]:
    """The pins of all packages that some requirements come to."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        subprocess.run([*command, "--report", str(report), *requirements], check=True)
        items = [item["metadata"] for item in json.loads(report.read_text())["install"]]
    return sorted({line for item in items if (line := _pin(item["name"], item["version"]))}, key=str.lower)


def _write(path: Path, lines: list[str]) -> None:
    path.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: {len(lines)} packages")


def _pin(name: str, version: str) -> str:
    if name.lower().startswith("nvidia-") or name.lower() in {"triton", "stemma"}:
        return ""
    return f"{name}=={version.partition('+')[0]}"


if __name__ == "__main__":
    main()
