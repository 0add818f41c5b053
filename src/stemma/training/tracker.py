"""Where a training stage says what it did. The domain knows this protocol only; what keeps the record is an adapter's."""

from collections.abc import Mapping
from typing import Protocol

__all__ = ["NullTracker", "Tracker"]


class Tracker(Protocol):
    """A run's history. Never raises and never waits: what can't be sent now is kept and sent later."""

    def log_params(self, params: Mapping[str, object]) -> None:
        """Keep settings, flattened by the caller."""

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> None:
        """Keep one point of one or more curves."""

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Keep facts to find the run by."""


class NullTracker:
    """Keeps nothing."""

    def log_params(self, params: Mapping[str, object]) -> None:
        """Keep settings."""

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> None:
        """Keep one point."""

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Keep facts."""
