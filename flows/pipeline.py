"""The graph of `dvc.yaml` as a Prefect flow: one task a stage, independent ones side by side.

`python -m flows.pipeline` is what `make run` runs. The flow knows no stage by name: it reads the graph that DVC has.
"""

import logging
import os
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State, TaskRun
from prefect.futures import PrefectFuture, wait
from prefect.runtime import deployment, flow_run
from prefect.settings import PREFECT_API_URL
from prefect.tasks import Task

from flows.display import Display, open_console
from flows.progress import StageArtifact
from flows.record import LockOrder, Record, read_records
from flows.results import print_results, read_results
from flows.schedule import collapse_late_runs, mark_killed_runs
from flows.servers import answers
from flows.slots import Slots, threads_of
from flows.stages import StageFailedError, StageProcesses, is_chatter
from stemma.adapters import dvc
from stemma.adapters.plan import (
    Plan,
    critical_paths,
    make_plan,
    num_cores,
    read_durations,
    record_environment,
    update_durations,
)
from stemma.config import Params, load_params
from stemma.errors import InputError, StageError, StemmaError
from stemma.families import check_families
from stemma.fence import LOCKS, die_with_parent, hold

__all__ = ["main", "pipeline"]

NOTHING = "Nothing to do: every stage is up to date."


@flow(name="pipeline", persist_result=False, result_serializer="json")
def pipeline() -> dict[str, str]:
    """Run every stage that is stale, and what depends on it; how each ended, by name."""
    root = Path.cwd()
    if deployment.id is not None:
        die_with_parent()  # the server that runs deployments; without it nobody would see this run
    params = _check_settings(root)
    with hold("pipeline", folder=root / LOCKS, wait=0):
        collapse_late_runs()
        mark_killed_runs(root)
        record = Record(root=root, run_id=_run_id(), flow_run_id=str(flow_run.id))
        record.save()
        plan = make_plan(root)
        if plan.steps:
            PipelineRun(record, plan, params).run()
        else:
            get_run_logger().info(NOTHING)
            record.finish()
        return record.outcomes


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
        order = LockOrder(self._root, list(dvc.read_lock(self._root)))
        try:
            with self._display:
                wait(self._submit())
        except BaseException:
            self._processes.stop()
            raise
        finally:
            dvc.sort_lock(self._root, order.names, dvc.repro_order(self._root))
            self._record.finish()
            order.close(succeeded=self._record.succeeded)
            update_durations(self._root, self._took)
        record_environment(self._root)
        if self._record.failure:
            raise StageError(self._record.failure)
        self._show_results()

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


def _run_id() -> str:
    return os.environ.get("STEMMA_RUN_ID") or uuid.uuid4().hex


def _check_settings(root: Path) -> Params:
    params = load_params(root / "params.yaml")
    check_families(params)
    return params


def main() -> int:
    """Run the flow if anything is stale; the exit code tells how the stages ended, not how the server did."""
    root = Path.cwd()
    try:
        _check_settings(root)
        if not dvc.status(root):
            print(NOTHING)
            return 0
        return _run_flow(root)
    except StemmaError as error:
        print(f"stemma: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stemma: stopped; what was done stays done, and `make run` goes on from here", file=sys.stderr)
        return 130


def _run_flow(root: Path) -> int:
    url = PREFECT_API_URL.value()
    if url and not answers(f"{url}/health"):
        raise InputError(f"PREFECT_API_URL: no Prefect server answers at {url}; start it, or unset the variable")
    os.environ.setdefault(
        "PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL"
    )  # of a temporary server, which shares the terminal
    os.environ["STEMMA_RUN_ID"] = run_id = _run_id()
    _silence_prefect()
    try:
        pipeline()
    except StemmaError:
        raise
    except Exception as error:
        if url and answers(f"{url}/health"):
            raise
        _leave_without_server(root, run_id, error)
    return 0


def _leave_without_server(root: Path, run_id: str, error: Exception) -> None:
    """End at once: Prefect would go on trying to send its events for minutes. The record says how the stages ended."""
    print(f"stemma: the Prefect server is gone, so its pages miss a part of this run ({error})", file=sys.stderr)
    records = [record for record in read_records(root) if record.run_id == run_id]
    failure = records[0].failure if records else "no stage was run"
    if failure:
        print(f"stemma: {failure}", file=sys.stderr)
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(2 if failure else 0)


def _silence_prefect() -> None:
    """Keep Prefect's own log off the console, where the bars are; its server gets it all the same."""
    logging.raiseExceptions = False
    for handler in [*logging.getLogger().handlers, *logging.getLogger("prefect._internal").handlers]:
        handler.setLevel(logging.CRITICAL)


if __name__ == "__main__":
    sys.exit(main())
