"""What made a run: the code, the data, the settings' file, the machine, and the pipeline run that it is a part of.

Everything here is read in milliseconds and without importing a tool. What can't be read is left out, not invented.
"""

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from stemma.files import digest_bytes, digest_file

__all__ = ["environment_tags", "git_tags", "input_tags", "kernel_tags", "pipeline_run_id", "pipeline_tags"]

_PROC: Final = Path("/proc")
_GIT_SECONDS: Final = 5
_OUTPUTS: Final = (":!dvc.lock", ":!reports")  # what a pipeline run itself changes in git is no edit


def pipeline_run_id() -> str | None:
    """What the stages of one pipeline run share: `STEMMA_RUN_ID`, or the `dvc` process above this one."""
    given = os.environ.get("STEMMA_RUN_ID")
    if given:
        return re.sub(r"[^A-Za-z0-9_.@-]", "-", given)[:200]
    return _dvc_process(_PROC, os.getppid())


def pipeline_tags() -> dict[str, str]:
    """What is true of a whole pipeline run."""
    flow = os.environ.get("STEMMA_FLOW_RUN_ID")
    return git_tags() | ({"stemma.flow_run_id": flow} if flow else {})


def git_tags() -> dict[str, str]:
    """The commit, and whether files that git knows were edited since."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return {}
    edits = _git("status", "--porcelain", "--untracked-files=no", "--", ".", *_OUTPUTS)
    dirty = {} if edits is None else {"stemma.git_dirty": str(bool(edits)).lower()}
    return {"mlflow.source.git.commit": commit, "stemma.git_sha": commit, **dirty}


def environment_tags(lock: Path = Path("requirements.lock")) -> dict[str, str]:
    """What bit-identical weights depend on besides data, settings and code."""
    tags = {"stemma.python": platform.python_version(), "stemma.platform": platform.platform()}
    if lock.is_file():
        tags["stemma.requirements_lock"] = digest_file(lock)
    tags["stemma.torch"] = importlib.metadata.version("torch")
    return tags | _cpu_tags(_PROC / "cpuinfo")


def input_tags(inputs: Iterable[Path]) -> dict[str, str]:
    """DVC's hashes of what the run reads."""
    from stemma.adapters.dvc import lock_hashes

    return {f"stemma.input.{path}": digest for path, digest in lock_hashes(inputs).items()}


def kernel_tags() -> dict[str, str]:
    """Which kernels torch computes with, in a process that has imported it."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return {}
    capability = torch.backends.cpu.get_cpu_capability()
    return {"stemma.cpu_capability": str(capability)}


def _cpu_tags(cpuinfo: Path) -> dict[str, str]:
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    fields = dict(re.findall(r"^(model name|flags|Features)\s*:\s*(.*)$", text, re.MULTILINE))
    flags = " ".join(sorted((fields.get("flags") or fields.get("Features") or "").split()))
    tags = {"stemma.cpu": fields.get("model name", ""), "stemma.cpu_flags": flags}
    if flags:
        tags["stemma.cpu_flags_digest"] = digest_bytes(flags.encode())[:16]
    return {name: value for name, value in tags.items() if value}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *arguments], capture_output=True, text=True, timeout=_GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _dvc_process(proc: Path, process: int) -> str | None:
    """A name for the nearest `dvc` at or above a process that no other process ever gets, or None."""
    while process > 1:
        try:
            arguments = (proc / str(process) / "cmdline").read_bytes().split(b"\0")
            fields = (proc / str(process) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            return None
        if _is_dvc(part.decode(errors="replace") for part in arguments[:3]):
            boot = _read(proc / "sys/kernel/random/boot_id")
            return f"dvc-{digest_bytes(f'{boot} {process} {fields[19]}'.encode())[:16]}"
        process = int(fields[1])
    return None


def _is_dvc(arguments: Iterable[str]) -> bool:
    """Whether a command line begins like `dvc …`, `python …/bin/dvc …` or `python -m dvc …`."""
    command, first, second = [*arguments, "", "", ""][:3]
    return Path(command).name == "dvc" or Path(first).name == "dvc" or (first, second) == ("-m", "dvc")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
