"""What made a run is read from git, DVC, the machine and the processes above."""

import subprocess
from pathlib import Path

import pytest

from stemma.adapters import provenance


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    git(tmp_path, "init", "-q")
    for name in ("params.yaml", "dvc.lock"):
        (tmp_path / name).write_text("a: 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "Begin")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commit_and_whether_it_was_edited(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    clean = {"mlflow.source.git.commit": head, "stemma.git_sha": head, "stemma.git_dirty": "false"}
    assert provenance.git_tags() == clean
    (repository / "dvc.lock").write_text("a: 2\n")
    (repository / "new.txt").write_text("not known to git\n")
    assert provenance.git_tags() == clean
    (repository / "params.yaml").write_text("a: 2\n")
    assert provenance.git_tags() == clean | {"stemma.git_dirty": "true"}


def test_outside_git_nothing_is_invented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert provenance.git_tags() == {}


def process(proc: Path, pid: int, parent: int, start: int, *arguments: str) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cmdline").write_bytes(b"\0".join(argument.encode() for argument in arguments) + b"\0")
    (folder / "stat").write_text(f"{pid} (a (b) c) S {parent} " + "0 " * 17 + f"{start} 0 0")


@pytest.mark.parametrize(
    "command",
    [("/venv/bin/dvc", "repro"), ("/venv/bin/python", "/venv/bin/dvc", "repro"), ("python", "-m", "dvc", "repro")],
)
def test_stages_below_one_dvc_process_share_an_id(tmp_path: Path, command: tuple[str, ...]) -> None:
    process(tmp_path, 10, 1, 5, "bash")
    process(tmp_path, 20, 10, 77, *command)
    process(tmp_path, 30, 20, 80, "/bin/sh", "-c", "python -m stemma pretrain dvc")
    process(tmp_path, 31, 20, 90, "/bin/sh", "-c", "python -m stemma pretrain bert")
    first, second = (provenance._dvc_process(tmp_path, pid) for pid in (30, 31))
    assert first is not None
    assert first == second
    process(tmp_path, 20, 10, 78, *command)  # the same process id, later
    assert provenance._dvc_process(tmp_path, 30) not in (None, first)
    assert provenance._dvc_process(tmp_path, 10) is None


def test_the_flow_names_the_pipeline_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMMA_RUN_ID", "brave-fox 1' OR")
    assert provenance.pipeline_run_id() == "brave-fox-1--OR"


def test_the_environment_names_what_bits_depend_on(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("torch==2\n")
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Fast CPU\nflags\t\t: sse avx fma\n\nprocessor\t: 1\n")
    tags = provenance.environment_tags(lock)
    assert len(tags["stemma.requirements_lock"]) == 64
    assert tags["stemma.torch"].startswith("2.")
    assert provenance._cpu_tags(cpuinfo)["stemma.cpu_flags"] == "avx fma sse"
    assert provenance._cpu_tags(tmp_path / "none") == {}


def test_dvc_hashes_of_the_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stage = "cmd: x\n    outs:\n    - path: data/tokens\n      hash: md5\n      md5: 0123.dir\n      size: 1\n"
    (tmp_path / "dvc.lock").write_text(f"schema: '2.0'\nstages:\n  tokenize:\n    {stage}")
    assert provenance.input_tags([Path("data/tokens"), Path("data/none")]) == {"stemma.input.data/tokens": "0123.dir"}
