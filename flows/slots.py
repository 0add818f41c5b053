"""How many stages may run at once."""

import heapq
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from stemma.config import Params

__all__ = ["Slots", "threads_of"]


class Slots:
    """A number of places, of which a stage takes one or more; of those that wait, the most urgent comes next."""

    def __init__(self, number: int) -> None:
        self._number = self._free = number
        self._condition = threading.Condition()
        self._queue: list[tuple[float, int]] = []
        self._tickets = itertools.count()

    @contextmanager
    def take(self, number: int, urgency: float) -> Iterator[None]:
        """Wait for `number` places (all there are, if fewer) and give them back at the end."""
        number = min(number, self._number)
        ticket = (-urgency, next(self._tickets))
        with self._condition:
            heapq.heappush(self._queue, ticket)
            self._condition.wait_for(lambda: self._queue[0] == ticket and self._free >= number)
            heapq.heappop(self._queue)
            self._free -= number
            self._condition.notify_all()
        try:
            yield
        finally:
            with self._condition:
                self._free += number
                self._condition.notify_all()


def threads_of(stage: str, params: Params) -> int:
    """How many cores a stage computes on: a training stage says so in its settings."""
    kind, _, item = stage.partition("@")
    if kind == "pretrain" and item in params.variants:
        settings = params.family_settings(item)
        return int(settings.get("threads", 1)) * int(settings.get("processes", 1))
    return params.finetuning.threads if kind == "finetune" else 1
