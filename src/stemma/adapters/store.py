"""The few things that the sender asks of MLflow's store.

By default the store is an SQLite file of this project, with artifacts beside it; `MLFLOW_TRACKING_URI` names another.
MLflow takes seconds to import: only a process that talks to the store makes an `MlflowStore`.
"""

import importlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

__all__ = [
    "ARTIFACTS",
    "DATABASE",
    "EXPERIMENT",
    "PARENT_TAG",
    "Item",
    "MlflowStore",
    "Param",
    "Point",
    "RunRecord",
    "Store",
    "StoreDown",
    "Tag",
    "create_database",
    "tracking_uri",
]

T = TypeVar("T")

EXPERIMENT: Final = "stemma"
PARENT_TAG: Final = "mlflow.parentRunId"
DATABASE: Final = Path(".stemma/mlflow.db")
ARTIFACTS: Final = Path(".stemma/mlartifacts")
_REFUSALS: Final = frozenset({"INVALID_PARAMETER_VALUE", "BAD_REQUEST"})


class StoreDown(Exception):  # noqa: N818 - a state that passes, and that no user sees as an error
    """The store does not answer, or not as it should; what was asked may or may not have been done."""


@dataclass(frozen=True)
class Param:
    """A setting."""

    key: str
    value: str


@dataclass(frozen=True)
class Tag:
    """A fact to find the run by."""

    key: str
    value: str


@dataclass(frozen=True)
class Point:
    """One point of one curve."""

    key: str
    value: float
    step: int
    time: int  # milliseconds


Item = Param | Tag | Point


@dataclass(frozen=True)
class RunRecord:
    """A run as the store has it."""

    id: str
    status: str
    deleted: bool
    tags: Mapping[str, str]
    start_time: int
    end_time: int | None


class Store(Protocol):
    """What the sender asks; every call may raise `StoreDown`."""

    def find_run(self, tag: str, value: str) -> RunRecord | None:
        """The run with this tag, deleted or not."""

    def create_run(self, name: str, tags: Mapping[str, str], start_time: int) -> str:
        """Begin a run; its id."""

    def log(self, run: str, items: Sequence[Item]) -> list[str]:
        """Send items; what was refused, in words."""

    def steps(self, run: str, metric: str) -> set[int]:
        """The steps at which the store has a point of this curve."""

    def set_status(self, run: str, status: str, end_time: int | None) -> None:
        """Say how a run stands."""

    def children(self, parent: str) -> list[RunRecord]:
        """The runs below a parent."""


def tracking_uri() -> str:
    """Where runs and models are kept: `MLFLOW_TRACKING_URI`, or this project's SQLite file."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{DATABASE.resolve()}"


def create_database(path: Path) -> None:
    """Make MLflow's database if there is none: beside, then linked, for a kill in the middle would leave half a schema."""
    if path.exists():
        return
    stores: Any = importlib.import_module("mlflow.store.tracking.sqlalchemy_store")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp").resolve()
    try:
        store = stores.SqlAlchemyStore(f"sqlite:///{temporary}", str(ARTIFACTS.resolve()))
        store._dispose_engine()  # noqa: SLF001 - no public way to close the file
        os.link(temporary, path)
    except FileExistsError:
        pass  # another process was faster
    finally:
        temporary.unlink(missing_ok=True)


class MlflowStore:
    """MLflow's tracking store, whichever `uri` names."""

    def __init__(self, uri: str | None = None) -> None:
        from mlflow.tracking import MlflowClient

        logging.getLogger("alembic").setLevel(logging.WARNING)
        logging.getLogger("mlflow").setLevel(logging.ERROR)
        uri = uri or tracking_uri()
        self._local = uri == f"sqlite:///{DATABASE.resolve()}"
        if self._local:
            create_database(DATABASE)
        self._client = MlflowClient(uri, uri)
        self._experiment_id: str | None = None

    def find_run(self, tag: str, value: str) -> RunRecord | None:
        """The run with this tag, deleted or not."""
        runs = self._search(f"tags.`{tag}` = '{value}'")
        return runs[0] if runs else None

    def create_run(self, name: str, tags: Mapping[str, str], start_time: int) -> str:
        """Begin a run; its id."""
        experiment = self.experiment()
        run = self._ask(lambda: self._client.create_run(experiment, start_time, dict(tags), name))
        return str(run.info.run_id)

    def log(self, run: str, items: Sequence[Item]) -> list[str]:
        """Send items; what was refused, in words. A refused batch is sent again in halves, down to the item at fault."""
        try:
            self._log_batch(run, items)
        except _Refused as refusal:
            if len(items) == 1:
                return [f"{items[0].key}: {refusal}"]
            middle = len(items) // 2
            return self.log(run, items[:middle]) + self.log(run, items[middle:])
        return []

    def steps(self, run: str, metric: str) -> set[int]:
        """The steps at which the store has a point of this curve."""
        return {point.step for point in self._ask(lambda: self._client.get_metric_history(run, metric))}

    def set_status(self, run: str, status: str, end_time: int | None) -> None:
        """Say how a run stands."""
        if status == "RUNNING":
            self._ask(lambda: self._client.update_run(run, status))
        else:
            self._ask(lambda: self._client.set_terminated(run, status, end_time))

    def children(self, parent: str) -> list[RunRecord]:
        """The runs below a parent."""
        return [run for run in self._search(f"tags.`{PARENT_TAG}` = '{parent}'") if not run.deleted]

    def _search(self, condition: str) -> list[RunRecord]:
        from mlflow.entities import ViewType

        experiment = self.experiment()
        runs = self._ask(lambda: self._client.search_runs([experiment], condition, ViewType.ALL))
        return [_record(run) for run in runs]

    def _log_batch(self, run: str, items: Sequence[Item]) -> None:
        from mlflow.entities import Metric, RunTag
        from mlflow.entities import Param as RunParam

        points = [Metric(i.key, i.value, i.time, i.step) for i in items if isinstance(i, Point)]
        params = [RunParam(i.key, i.value) for i in items if isinstance(i, Param)]
        tags = [RunTag(i.key, i.value) for i in items if isinstance(i, Tag)]
        self._ask(lambda: self._client.log_batch(run, points, params, tags))

    def experiment(self) -> str:
        """The id of the experiment that all runs and models belong to."""
        if self._experiment_id is None:
            self._experiment_id = self._ask(self._find_experiment)
        return self._experiment_id

    def _find_experiment(self) -> str:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        artifacts = str(ARTIFACTS.resolve()) if self._local else None
        return str(self._client.create_experiment(name, artifacts))

    def _ask(self, question: Callable[[], T]) -> T:
        """An answer, a refusal, or `StoreDown` for everything else that a far service can come up with."""
        try:
            return question()
        except Exception as error:
            if getattr(error, "error_code", None) in _REFUSALS:
                raise _Refused(_first_line(error)) from None
            raise StoreDown(_first_line(error)) from error


class _Refused(StoreDown):
    """The store does not take a value; one that is not an item of a batch is as if it were down."""


def _record(run: Any) -> RunRecord:
    info = run.info
    return RunRecord(
        id=info.run_id,
        status=info.status,
        deleted=info.lifecycle_stage != "active",
        tags=run.data.tags,
        start_time=info.start_time,
        end_time=info.end_time,
    )


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300]
