"""One run of the stale part of the graph: which stage when, beside which others, and what is left behind."""

import logging
import os
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from prefect import get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State, TaskRun
from prefect.futures import PrefectFuture, wait
from prefect.runtime import deployment
from prefect.tasks import Task

from flows.display import Display, open_console
from flows.progress import StageArtifact
from flows.record import LockOrder, Record
from flows.results import print_results, read_results
from flows.slots import Slots, threads_of
from flows.stages import StageFailedError, StageProcesses, is_chatter
from stemma.adapters import dvc
from stemma.adapters.journal import JOURNALS
from stemma.adapters.plan import Plan, critical_paths, num_cores, read_durations, record_environment, update_durations
from stemma.adapters.sender import open_sender
from stemma.config import Params
from stemma.errors import StageError

__all__ = ["PipelineRun"]


class PipelineRun:
    """One run of the stale part of the graph."""

    def __init__(self, record: Record, plan: Plan, params: Params) -> None:
        self._root, self._record, self._plan, self._params = record.root, record, plan, params
        record.planned = [step.stage for step in plan.steps]
        self._progress_dir = self._root / ".stemma" / "progress" / record.run_id
        variables = {
            "STEMMA_RUN_ID": record.run_id,
            "STEMMA_FLOW_RUN_ID": record.flow_run_id,
            "STEMMA_PROGRESS_DIR": str(self._progress_dir),
        }
        self._processes = StageProcesses(self._root, variables)
        self._slots = Slots(num_cores())
        self._urgency = critical_paths(plan.graph, read_durations(self._root))
        self._took: dict[str, float] = {}
        self._console = None if deployment.id else open_console()
        self._display = Display(self._progress_dir, self._console)

    def run(self) -> None:
        """Run every stage, then leave the lock as `dvc repro` would have, and say how it went."""
        self._progress_dir.mkdir(parents=True, exist_ok=True)
        before, order = LockOrder(self._root, list(dvc.read_lock(self._root))), dvc.repro_order(self._root)
        try:
            with self._sender():
                self._run_stages()
        finally:
            dvc.sort_lock(self._root, before.names, order)
            self._record.finish()
            before.close(succeeded=self._record.succeeded)
            update_durations(self._root, self._took)
            shutil.rmtree(self._progress_dir, ignore_errors=True)
        record_environment(self._root)
        if self._record.failure:
            raise StageError(self._record.failure)
        self._show_results()

    def _sender(self) -> AbstractContextManager[None]:
        """One for all stages, so that none waits for its own at its end."""
        return nullcontext() if os.environ.get("STEMMA_TRACKING") == "off" else open_sender(self._root / JOURNALS)

    def _run_stages(self) -> None:
        try:
            with self._display:
                wait(self._submit())
        except BaseException:
            self._processes.stop()
            raise

    def _submit(self) -> list[PrefectFuture[str]]:
        run_stage = _stage_task(self._run_stage)
        futures: dict[str, PrefectFuture[str]] = {}
        for stage in self._record.planned:
            before = [futures[name] for name in self._plan.graph.predecessors(stage)]
            futures[stage] = run_stage.submit(stage, return_state=False, wait_for=before)
        return list(futures.values())

    def _run_stage(self, stage: str) -> str:
        log = get_run_logger()
        with self._slots.take(threads_of(stage, self._params), self._urgency[stage]):
            self._display.begin(stage)
            begun, outcome = time.monotonic(), "failed"
            artifact = StageArtifact(stage, self._progress_dir, log)
            try:
                outcome = self._processes.run(stage, lambda line: _log_line(log, line), artifact.update)
            except StageFailedError as error:
                self._display.say("\n".join(f"  {stage}: {line}" for line in error.tail if not is_chatter(line)))
                raise
            finally:
                seconds = time.monotonic() - begun
                self._display.end(stage, outcome, seconds)
                self._record.note(stage, outcome)
                if outcome == "ran":
                    self._took[stage] = seconds
        return outcome

    def _show_results(self) -> None:
        if self._console is not None:
            print_results(self._root, self._console)
        rows = read_results(self._root)
        if rows:
            create_table_artifact(table=rows, key="results", description="Scores of the last pipeline run")


def _stage_task(function: Callable[[str], str]) -> "Task[[str], str]":
    """A Prefect task that runs one stage; tried again when what went wrong may pass."""

    @task(
        name="stage",
        task_run_name="{stage}",
        retries=3,
        retry_delay_seconds=[2, 5, 15],
        retry_condition_fn=_is_transient,
        persist_result=False,
    )
    def stage_task(stage: str) -> str:
        return function(stage)

    return stage_task


def _is_transient(_task: "Task[..., Any]", _run: TaskRun, state: "State[Any]") -> bool:
    try:
        state.result()
    except StageFailedError as error:
        return error.transient
    except BaseException:  # noqa: BLE001 - whatever else it is, it is no stage's passing trouble
        return False
    return False


def _log_line(log: Any, line: str) -> None:
    log.log(logging.DEBUG if is_chatter(line) else logging.INFO, "%s", line)
