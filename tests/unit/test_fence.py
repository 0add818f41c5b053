"""A stage dies with whoever started it, and keeps a second writer out."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stemma.adapters import dvc
from stemma.errors import BusyError
from stemma.fence import hold
from tests import miniature

STAGE = """
import pathlib, sys, time
from stemma.fence import die_with_parent
die_with_parent()
pathlib.Path(sys.argv[1]).write_text(str(__import__("os").getpid()))
time.sleep(60)
"""


def test_a_lock_keeps_a_second_writer_out_and_names_the_first(tmp_path: Path) -> None:
    expected = f"process {os.getpid()} is at work on 'pretrain@bert'"
    with hold("pretrain@bert", folder=tmp_path), pytest.raises(BusyError, match=expected):
        hold("pretrain@bert", folder=tmp_path, wait=0.1).__enter__()


def test_a_lock_is_free_again_afterwards_and_other_names_are_not_touched(tmp_path: Path) -> None:
    with hold("a", folder=tmp_path), hold("b", folder=tmp_path):
        pass
    with hold("a", folder=tmp_path, wait=0):
        pass


def test_a_lock_that_comes_free_while_waiting_is_taken(tmp_path: Path) -> None:
    holder = _holder(tmp_path, 1)
    with hold("a", folder=tmp_path, wait=10):
        pass
    holder.wait(10)


def test_the_kernel_frees_the_lock_of_a_killed_holder(tmp_path: Path) -> None:
    holder = _holder(tmp_path, 60)
    with pytest.raises(BusyError), hold("a", folder=tmp_path, wait=0):
        pass
    holder.kill()
    holder.wait()
    with hold("a", folder=tmp_path, wait=2):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
@pytest.mark.parametrize("between", ["nothing", "a shell that stays"])
def test_a_stage_is_gone_within_two_seconds_of_its_parent(tmp_path: Path, between: str) -> None:
    stage, told = tmp_path / "stage.py", tmp_path / "pid"
    stage.write_text(STAGE)
    command = [sys.executable, str(stage), str(told)]
    if between != "nothing":
        command = ["sh", "-c", f"{shlex.join(command)}; true"]
    parent = _spawn(f"import subprocess\nsubprocess.run({command!r})", DVC_STAGE="stage")
    _until(told.exists)
    _until(told.read_text)
    process = int(told.read_text())
    time.sleep(0.2)
    assert _alive(process)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    _until(lambda: not _alive(process), seconds=2)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_a_stage_that_a_person_started_outlives_the_shell(tmp_path: Path) -> None:
    stage, told = tmp_path / "stage.py", tmp_path / "pid"
    stage.write_text(STAGE)
    shell = subprocess.Popen(["sh", "-c", f"{shlex.join([sys.executable, str(stage), str(told)])}; true"])
    _until(told.exists)
    _until(told.read_text)
    process = int(told.read_text())
    shell.kill()
    shell.wait()
    time.sleep(1)
    try:
        assert _alive(process)
    finally:
        os.kill(process, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_a_killed_dvc_repro_leaves_no_stage_behind(tmp_path: Path) -> None:
    project = miniature.make_project(tmp_path / "project")
    miniature.change(project, "stages.source", {"sleep": 60})
    trace = project / ".stemma" / "trace.log"
    process = subprocess.Popen(dvc.command("repro", "-q"), cwd=project, env=miniature.environment(project))
    _until(lambda: trace.exists() and trace.read_text().endswith("\n"))
    stage = int(trace.read_text().split()[2])
    assert _alive(stage)
    process.kill()
    process.wait()
    _until(lambda: not _alive(stage), seconds=2)


def _holder(folder: Path, seconds: int) -> subprocess.Popen[bytes]:
    code = f"with hold('a', folder=pathlib.Path({str(folder)!r})): time.sleep({seconds})"
    process = _spawn(f"import pathlib, time; from stemma.fence import hold\n{code}")
    _until(lambda: (folder / "a.lock").exists() and (folder / "a.lock").read_text())
    return process


def _spawn(code: str, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], env={**os.environ, **environment})


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _until(condition: object, *, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
