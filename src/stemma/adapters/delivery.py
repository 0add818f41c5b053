"""A journal's way into the store: every point exactly once, whatever fails in between.

A run carries its journal's id as a tag. A sender that does not know what the store has (it is new, or a request failed half
way) finds the run by that tag and asks for the steps of each curve before it sends one, so nothing is sent twice and
nothing is left out. There is no file of acknowledgements that could lie.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from stemma.adapters.journal import JournalReader
from stemma.adapters.store import PARENT_TAG, Item, Param, Point, Store, StoreDown, Tag

__all__ = ["JOURNAL_TAG", "RUN_ID_TAG", "STAGE_TAG", "Delivery"]

JOURNAL_TAG: Final = "stemma.journal"
RUN_ID_TAG: Final = "stemma.run_id"  # of a pipeline run: the parent of its stages' runs
STAGE_TAG: Final = "stemma.stage"
_MOST_FACTS, _MOST_ITEMS = 90, 900  # MLflow takes 100 params, 100 tags and 1,000 of all kinds at once
_log = logging.getLogger(__name__)

Event = dict[str, Any]


class Delivery:
    """One journal on its way."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.refused: list[str] = []
        self._reader = JournalReader(path)
        self._forget()

    def advance(self, store: Store) -> bool:
        """Send what was written since the last call; whether the run is over and all of it in the store."""
        try:
            return self._advance(store)
        except StoreDown:
            self._forget()
            raise

    def _forget(self) -> None:
        """Start over: what the store has is not known."""
        self._reader.rewind()
        self.refused = []
        self._header: Event | None = None
        self._end: Event | None = None
        self._last_time = 0
        self._run: str | None = None
        self._parent: str | None = None
        self._sent: dict[str, set[int]] = {}  # steps by curve
        self._asks = False  # whether the store may hold points that this sender did not send

    def _advance(self, store: Store) -> bool:
        lives = self._reader.writer_lives()  # before reading: what is written later is read later
        for items in _batches(self._new_items(store)):
            assert self._run is not None
            self.refused += store.log(self._run, items)
        if self._header is None or (self._end is None and lives):
            return False
        if self._run is not None:
            self._finish(store, self._run)
        return True

    def _new_items(self, store: Store) -> Iterator[Item]:
        for event in self._reader.events():
            self._last_time = int(event.get("time", self._last_time))
            if event["kind"] == "run":
                self._begin(store, event)
            elif event["kind"] == "end":
                self._end = event
            elif self._run is not None:
                yield from self._unsent(store, self._run, event)

    def _begin(self, store: Store, event: Event) -> None:
        """Find or create this journal's run, and its parent's."""
        self._header = event
        found = store.find_run(JOURNAL_TAG, event["id"])
        if found is not None and found.deleted:
            return  # someone does not want it
        self._asks = found is not None
        self._parent = self._find_parent(store, event)
        if found is not None:
            self._run = found.id
        else:
            tags = {**event["tags"], JOURNAL_TAG: event["id"], STAGE_TAG: event["stage"]}
            if self._parent is not None:
                tags[PARENT_TAG] = self._parent
            self._run = store.create_run(event["stage"], tags, event["time"])

    def _find_parent(self, store: Store, event: Event) -> str | None:
        if event.get("parent") is None:
            return None
        found = store.find_run(RUN_ID_TAG, event["parent"])
        if found is None:
            tags = {**event.get("parent_tags", {}), RUN_ID_TAG: event["parent"]}
            return store.create_run(f"pipeline {event['parent']}", tags, event["time"])
        if found.status != "RUNNING" and not found.deleted:
            store.set_status(found.id, "RUNNING", None)
        return found.id

    def _unsent(self, store: Store, run: str, event: Event) -> Iterator[Item]:
        if event["kind"] == "params":
            yield from (Param(key, value) for key, value in event["values"].items())
        elif event["kind"] == "tags":
            yield from (Tag(key, value) for key, value in event["values"].items())
        elif event["kind"] == "metrics":
            for key, value in event["values"].items():
                if self._is_new(store, run, key, event["step"]):
                    yield Point(key, float(value), event["step"], event["time"])

    def _is_new(self, store: Store, run: str, metric: str, step: int) -> bool:
        if metric not in self._sent:
            self._sent[metric] = store.steps(run, metric) if self._asks else set()
        if step in self._sent[metric]:
            return False
        self._sent[metric].add(step)
        return True

    def _finish(self, store: Store, run: str) -> None:
        status = self._end["status"] if self._end else "KILLED"
        store.set_status(run, status, self._last_time)
        if self._parent is not None:
            self._finish_parent(store, self._parent)

    def _finish_parent(self, store: Store, parent: str) -> None:
        """A parent stands as its stages' last attempts do; a stage that begins later sets it running again."""
        last = {}
        for child in sorted(store.children(parent), key=lambda child: child.start_time):
            last[child.tags.get(STAGE_TAG, child.id)] = child
        statuses = {child.status for child in last.values()}
        if "RUNNING" not in statuses:
            status = next((bad for bad in ("FAILED", "KILLED") if bad in statuses), "FINISHED")
            store.set_status(parent, status, max(child.end_time or 0 for child in last.values()))


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    batch: list[Item] = []
    num_facts = 0
    for item in items:
        batch.append(item)
        num_facts += not isinstance(item, Point)
        if num_facts == _MOST_FACTS or len(batch) == _MOST_ITEMS:
            yield batch
            batch, num_facts = [], 0
    if batch:
        yield batch
