"""Several processes that train one network: each goes through some passes of every batch, and the gradients are added up.

All members hold the same weights and make the same update, so nothing but gradients travels. The first member starts the others
and alone writes checkpoints. When one is gone the rest stop: start the whole again, and it goes on from the last checkpoint.
"""

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final, TypeVar

import torch
from torch import Tensor, distributed

from stemma.errors import TrainingError
from stemma.fence import die_with_parent

__all__ = ["ALONE", "Team", "teamwork"]

J = TypeVar("J")
_PATIENCE: Final = timedelta(minutes=5)  # that a member waits for the others
_LOOPBACK: Final = "lo"


@dataclass(frozen=True, kw_only=True)
class Team:
    """One member's view: which it is, of how many."""

    rank: int
    size: int

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        """Put into each tensor the sum of all members' tensors; in one message."""
        if self.size == 1:
            return
        tensors = list(tensors)
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        try:
            distributed.all_reduce(flat)
        except RuntimeError as error:
            raise TrainingError(
                f"process {self.rank + 1} of {self.size} lost the others; run the stage again"
            ) from error
        for tensor, total in zip(tensors, torch.split(flat, [tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))

    def wait(self) -> None:
        """Wait until all members are here."""
        self.add_up([torch.zeros(1)])


ALONE: Final = Team(rank=0, size=1)


@contextmanager
def teamwork(size: int, work: Callable[[J, Team], object], job: J) -> Iterator[Team]:
    """Start the other members, each a process in which `work(job, team)` runs; inside the block we are the first."""
    if size == 1:
        yield ALONE
        return
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        meeting = Path(folder) / "members"
        members = [context.Process(target=_be_member, args=(work, job, rank, size, meeting)) for rank in range(1, size)]
        for member in members:
            member.start()
        try:
            yield _join(0, size, meeting)
            _wait_for(members)
        finally:
            for member in members:
                member.kill()
            if distributed.is_initialized():
                distributed.destroy_process_group()


def _be_member(work: Callable[[J, Team], object], job: J, rank: int, size: int, meeting: Path) -> None:
    die_with_parent()
    work(job, _join(rank, size, meeting))


def _join(rank: int, size: int, meeting: Path) -> Team:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", _LOOPBACK)  # the members are all on this machine
    store = distributed.FileStore(str(meeting), size)  # type: ignore[attr-defined] # its stub does not say so
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=_PATIENCE)
    return Team(rank=rank, size=size)


def _wait_for(members: Sequence[BaseProcess]) -> None:
    for member in members:
        member.join(_PATIENCE.total_seconds())
        if member.exitcode != 0:
            raise TrainingError(f"a training process ended with {member.exitcode}; run the stage again")
