"""Work on batches in processes of its own, with the results in the order of the batches."""

import gc
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Final, Generic, TypeVar

from stemma.data.workspace import return_freed_memory
from stemma.fence import die_with_parent

__all__ = ["Batch", "Workers", "in_batches", "open_workers"]

Item = TypeVar("Item")
Result = TypeVar("Result")
BYTES_PER_BATCH: Final = 1 << 19
BYTES_UNDER_WAY: Final = 3 << 19
CHARACTERS_PER_SMALL_BATCH: Final = 1 << 14


@dataclass(frozen=True)
class Batch(Generic[Item]):
    """Items to be done together, and their bytes."""

    items: list[Item]
    size: int


class Workers:
    """Some processes, or this one alone."""

    def __init__(self, pool: ProcessPoolExecutor | None, num_processes: int) -> None:
        self._pool, self._num_processes = pool, num_processes

    def map(self, function: Callable[[list[Item]], Result], batches: Iterable[Batch[Item]]) -> Iterator[Result]:
        """The results in order.

        No more batches are under way than keep the processes busy, and a very large one is alone, so that memory is bounded.
        """
        waiting: deque[tuple[Future[Result], int]] = deque()
        for batch in batches:
            if self._pool is None:
                yield function(batch.items)
                continue
            while waiting and sum(size for _, size in waiting) + batch.size > BYTES_UNDER_WAY:
                yield waiting.popleft()[0].result()
            waiting.append((self._pool.submit(_work, function, batch.items), batch.size))
            if len(waiting) > self._num_processes:
                yield waiting.popleft()[0].result()
        while waiting:
            yield waiting.popleft()[0].result()

    def spread(self, function: Callable[[list[str]], list[Result]], texts: Iterable[str]) -> Iterator[Result]:
        """The result for each text, in order, where a small batch takes long enough to be worth sending."""
        for results in self.map(function, in_batches(texts, size_of=len, limit=CHARACTERS_PER_SMALL_BATCH)):
            yield from results


@contextmanager
def open_workers(num_processes: int) -> Iterator[Workers]:
    """Start processes, forked from this one while it is still small; for one alone there is no need."""
    if num_processes == 1:
        yield Workers(None, 1)
        return
    gc.freeze()  # or a collection in a worker would write to every page that it shares with this process
    with ProcessPoolExecutor(num_processes, get_context("fork"), _begin, (os.getpid(),)) as pool:
        pool.submit(int).result()  # they are forked with the first task
        gc.unfreeze()
        yield Workers(pool, num_processes)


def in_batches(
    items: Iterable[Item], size_of: Callable[[Item], int], limit: int = BYTES_PER_BATCH
) -> Iterator[Batch[Item]]:
    """Items in batches; each ends with the item that fills it."""
    held: list[Item] = []
    size = 0
    for item in items:
        held.append(item)
        size += size_of(item)
        if size >= limit:
            yield Batch(held, size)
            held, size = [], 0
    if held:
        yield Batch(held, size)


def _work(function: Callable[[list[Item]], Result], items: list[Item]) -> Result:
    result = function(items)
    return_freed_memory()
    return result


def _begin(parent: int) -> None:
    die_with_parent.cache_clear()  # the parent had a parent of its own
    die_with_parent()
    if os.getppid() != parent:  # it was killed meanwhile
        os._exit(1)
