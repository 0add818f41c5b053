"""Two processes that train one network: what one would have learned, the same bits each time, and no member left behind."""

import os
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file

from stemma.errors import TrainingError
from stemma.families.bert.family import FAMILY as BERT
from stemma.progress import NullProgress
from tests import toy_bert

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("team")]


class KillAt(NullProgress):
    """Kills the other member at some step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def update(self, done: int, values: Mapping[str, float] | None = None) -> None:  # noqa: ARG002
        if done == self.step:
            (member,) = (child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline()))
            os.kill(member.pid, signal.SIGKILL)


def pretrain(folder: Path, **changes: Any) -> dict[str, torch.Tensor]:
    job = toy_bert.pretraining(folder, batch_size=8, **changes)
    BERT.pretrain(job)
    return load_file(job.out / "model.safetensors")


@pytest.fixture(scope="module")
def by_two(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    return pretrain(tmp_path_factory.mktemp("two"), tokens_per_pass=32, processes=2)


def test_two_processes_learn_what_one_learns(tmp_path: Path, by_two: dict[str, torch.Tensor]) -> None:
    for name, weights in pretrain(tmp_path, tokens_per_pass=32).items():
        torch.testing.assert_close(by_two[name], weights, rtol=1e-3, atol=1e-4)
    left = [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]
    assert left == [], "nobody is left behind"


def test_when_a_member_dies_the_run_stops_and_the_next_ends_with_the_same_bits(
    tmp_path: Path, by_two: dict[str, torch.Tensor]
) -> None:
    job = toy_bert.pretraining(tmp_path / "killed", batch_size=8, tokens_per_pass=32, processes=2)
    with pytest.raises(TrainingError, match="lost the others; run the stage again"):
        BERT.pretrain(replace(job, progress=KillAt(6)))
    assert list(job.scratch.glob("step-*")), "the checkpoint of step 4 is there"
    BERT.pretrain(job)
    again = load_file(job.out / "model.safetensors")
    assert all(torch.equal(again[name], weights) for name, weights in by_two.items())
