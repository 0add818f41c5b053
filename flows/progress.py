"""A running stage's progress in Prefect's pages: a bar, and a line in its log now and then."""

import time
from pathlib import Path
from typing import Any, Final, cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact

from flows.display import read_states
from stemma.progress import describe

__all__ = ["StageArtifact"]

_BAR_SECONDS: Final = 5.0
_LINE_SECONDS: Final = 30.0


class StageArtifact:
    """Tells the server how far a stage is; a server that does not listen is not asked again."""

    def __init__(self, stage: str, folder: Path, log: Any) -> None:
        self._stage, self._folder, self._log = stage, folder, log
        self._id: UUID | None = None
        self._deaf = False
        self._shown = time.monotonic()
        self._logged = self._shown - _LINE_SECONDS

    def update(self) -> None:
        """Look at the stage's own state file; cheap when it is not yet time."""
        now = time.monotonic()
        if now - self._shown < _BAR_SECONDS:
            return
        self._shown = now
        state = read_states(self._folder).get(self._stage)
        if state is None:
            return
        if now - self._logged >= _LINE_SECONDS:
            self._logged = now
            self._log.info("%s", describe(state))
        if state["total"] and not self._deaf:
            self._send(100.0 * min(1.0, state["done"] / state["total"]), describe(state))

    def _send(self, percent: float, text: str) -> None:
        try:
            if self._id is None:
                key = self._stage.replace("@", "-").replace("_", "-").lower()
                self._id = cast(UUID, create_progress_artifact(progress=percent, key=key, description=text))
            else:
                update_progress_artifact(self._id, progress=percent, description=text)
        except Exception as error:  # noqa: BLE001 - a picture of the work must never stop the work
            self._deaf = True
            self._log.warning("no progress bar for %s: %s", self._stage, error)
