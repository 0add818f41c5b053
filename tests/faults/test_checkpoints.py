"""Checkpoints under truncation, flipped bits, a full disk and a kill while saving."""

import logging
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import Tensor

from stemma.errors import TrainingError
from stemma.training import checkpoint as module
from stemma.training.checkpoint import Checkpoint, Checkpoints


def tensors_at(step: int) -> dict[str, Tensor]:
    return {"weight": torch.arange(6.0).reshape(2, 3) * step, "random": torch.tensor([step, 255], dtype=torch.uint8)}


def save(folder: Path, *steps: int) -> None:
    checkpoints = Checkpoints(folder)
    for step in steps:
        checkpoints.save(step, tensors_at(step), {"score": step / 3})


def assert_is(checkpoint: Checkpoint | None, step: int) -> None:
    assert checkpoint is not None
    assert checkpoint.step == step
    assert checkpoint.state == {"score": step / 3}
    assert checkpoint.tensors.keys() == tensors_at(step).keys()
    assert all(torch.equal(value, tensors_at(step)[name]) for name, value in checkpoint.tensors.items())


def test_nothing_saved_is_no_checkpoint(tmp_path):
    assert Checkpoints(tmp_path / "new").load_latest() is None


def test_the_newest_two_are_kept_and_the_newest_is_loaded(tmp_path):
    save(tmp_path, 1, 2, 10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000000002", "step-000000010"]
    assert_is(Checkpoints(tmp_path).load_latest(), 10)


def test_no_file_is_a_pickle(tmp_path):
    save(tmp_path, 1)
    names = {path.name for path in (tmp_path / "step-000000001").iterdir()}
    assert names == {"tensors.safetensors", "state.json", "manifest.json"}


@pytest.mark.parametrize("name", ["tensors.safetensors", "state.json", "manifest.json"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_checkpoint_is_set_aside_and_the_one_before_used(tmp_path, caplog, name, share):
    save(tmp_path, 1, 2)
    file = tmp_path / "step-000000002" / name
    os.truncate(file, int(file.stat().st_size * share))
    with caplog.at_level(logging.WARNING):
        assert_is(Checkpoints(tmp_path).load_latest(), 1)
    assert "step-000000002 is damaged" in caplog.text
    assert "going on from the one before it" in caplog.text
    assert (tmp_path / "step-000000002.bad").is_dir()


def test_any_flipped_bit_is_found(tmp_path):
    """Every byte of every file in turn: a checkpoint either reads as it was written, or not at all."""
    save(tmp_path, 1, 2)
    newest = tmp_path / "step-000000002"
    for file in sorted(newest.iterdir()):
        whole = file.read_bytes()
        for position in range(0, len(whole), 7):
            flipped = bytearray(whole)
            flipped[position] ^= 1 << (position % 8)
            file.write_bytes(flipped)
            checkpoint = Checkpoints(tmp_path).load_latest()
            # a space of the manifest may change without harm; nothing else may
            assert_is(checkpoint, 2 if newest.is_dir() else 1)
            if not newest.is_dir():
                newest.with_name(f"{newest.name}.bad").rename(newest)
            else:
                assert file.name == "manifest.json"
            file.write_bytes(whole)


def test_all_damaged_is_no_checkpoint_and_said(tmp_path, caplog):
    save(tmp_path, 1, 2)
    for folder in tmp_path.iterdir():
        (folder / "state.json").unlink()
    assert Checkpoints(tmp_path).load_latest() is None
    assert caplog.text.count("is damaged") == 2
    save(tmp_path, 1)
    assert_is(Checkpoints(tmp_path).load_latest(), 1)


def test_a_full_disk_keeps_the_old_ones_and_says_what_to_do(tmp_path):
    save(tmp_path, 1, 2)
    # a limit on file size fails a write half-way, as a full disk does, and needs no rights
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(TrainingError, match=r"step-000000003.*could not be saved.*free some space"):
            Checkpoints(tmp_path).save(3, {"weight": torch.zeros(100_000)}, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000000001", "step-000000002"]
    assert_is(Checkpoints(tmp_path).load_latest(), 2)


def test_bytes_that_read_back_otherwise_are_not_trusted(tmp_path, monkeypatch):
    save(tmp_path, 1)

    def save_wrongly(tensors, path):
        wrong = {name: tensor.clone() for name, tensor in tensors.items()}
        wrong["weight"][0, 0] = -1.0
        safetensors.torch.save_file(wrong, path)

    monkeypatch.setattr(module, "save_file", save_wrongly)
    with pytest.raises(TrainingError, match="weight reads back other"):
        Checkpoints(tmp_path).save(2, tensors_at(2), {})
    assert_is(Checkpoints(tmp_path).load_latest(), 1)


KILLED_WHILE_SAVING = """
import os, signal, sys
from pathlib import Path
import torch
from stemma.training import checkpoint

moment, folder = sys.argv[1], Path(sys.argv[2])
original = getattr(checkpoint, moment)

def die(*arguments):
    if moment != "save_file":
        original(*arguments)
    else:
        arguments[1].write_bytes(b"half of it")
    os.kill(os.getpid(), signal.SIGKILL)

setattr(checkpoint, moment, die)
checkpoint.Checkpoints(folder).save(3, {"weight": torch.ones(3)}, {})
"""


@pytest.mark.parametrize("moment", ["save_file", "write_json", "write_manifest"])
def test_killed_while_saving_leaves_the_old_ones(tmp_path, moment):
    save(tmp_path, 1, 2)
    command = [sys.executable, "-c", KILLED_WHILE_SAVING, moment, str(tmp_path)]
    assert subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGKILL
    assert any(path.name.endswith(".tmp") for path in tmp_path.iterdir())
    assert_is(Checkpoints(tmp_path).load_latest(), 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000000001", "step-000000002"]
