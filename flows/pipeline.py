"""The graph of `dvc.yaml` as a Prefect flow: one task a stage, independent ones side by side.

`python -m flows.pipeline` is what `make run` runs. The flow knows no stage by name: it reads the graph that DVC has.
"""

import logging
import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prefect import flow, get_run_logger
from prefect.context import refresh_global_settings_context
from prefect.runtime import deployment, flow_run
from prefect.settings import PREFECT_API_URL

from flows.record import Record, read_records
from flows.run import PipelineRun
from flows.schedule import collapse_late_runs, mark_killed_runs
from flows.servers import answers, running, temporary_server
from stemma.adapters import dvc
from stemma.adapters.plan import make_plan
from stemma.config import Params, load_params
from stemma.errors import InputError, StemmaError
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
    os.environ["STEMMA_RUN_ID"] = run_id = _run_id()
    _silence_prefect()
    with _server(root) as url:
        try:
            pipeline()
        except StemmaError:
            raise
        except Exception as error:
            if answers(f"{url}/health"):
                raise
            _leave_without_server(root, run_id, error)
    return 0


@contextmanager
def _server(root: Path) -> Iterator[str]:
    """The user's Prefect server, or one for the length of this run."""
    url = PREFECT_API_URL.value()
    if url:
        if not answers(f"{url}/health"):
            raise InputError(f"PREFECT_API_URL: no Prefect server answers at {url}; start it, or unset the variable")
        yield url
        return
    server = temporary_server()
    url = server.health.removesuffix("/health")
    with running(root, server):
        os.environ["PREFECT_API_URL"] = url
        refresh_global_settings_context()  # Prefect's own threads would otherwise start a further server, and leave it behind
        yield url


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
