"""Work on batches in processes of its own, with the results in the order of the batches."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Final, TypeVar

from stemma.fence import die_with_parent

__all__ = ["Workers", "in_batches", "open_workers"]

Item = TypeVar("Item")
Result = TypeVar("Result")
BYTES_PER_BATCH: Final = 1 << 18


class Workers:
    """Some processes, or this one alone."""

    def __init__(self, pool: ProcessPoolExecutor | None, num_processes: int) -> None:
        self._pool, self._num_processes = pool, num_processes

    def map(self, function: Callable[[Item], Result], batches: Iterable[Item]) -> Iterator[Result]:
        """The results in order; no more batches are under way than keep the processes busy, so that memory is bounded."""
        if self._pool is None:
            yield from map(function, batches)
            return
        waiting: deque[Future[Result]] = deque()
        for batch in batches:
            waiting.append(self._pool.submit(function, batch))
            if len(waiting) > self._num_processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def open_workers(num_processes: int) -> Iterator[Workers]:
    """Start processes, forked from this one while it is still small; for one alone there is no need."""
    if num_processes == 1:
        yield Workers(None, 1)
        return
    with ProcessPoolExecutor(num_processes, get_context("fork"), _begin, (os.getpid(),)) as pool:
        pool.submit(int).result()  # they are forked with the first task
        yield Workers(pool, num_processes)


def in_batches(
    items: Iterable[Item], size_of: Callable[[Item], int], limit: int = BYTES_PER_BATCH
) -> Iterator[list[Item]]:
    """Lists of items; each ends with the item that fills it."""
    batch: list[Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += size_of(item)
        if size >= limit:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _begin(parent: int) -> None:
    die_with_parent.cache_clear()  # the parent had a parent of its own
    die_with_parent()
    if os.getppid() != parent:  # it was killed meanwhile
        os._exit(1)
