"""`make serve`: the servers on loopback, and the pipeline and release flows as deployments with a schedule.

An overlapping run is cancelled, late runs become one, and a run whose process was killed is marked as crashed. The same
deployments for a work pool: prefect.yaml.
"""

import argparse
import asyncio
import os
import signal
import sys
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from flows.servers import HOST, mlflow_server, prefect_server, running
from stemma.errors import BusyError, StemmaError
from stemma.fence import LOCKS, hold

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment

__all__ = ["deployments", "main"]

NAME = "scheduled"
ZOMBIES = "Mark flow runs whose heartbeat has stopped"


def main(arguments: list[str] | None = None) -> int:
    """Start the servers that are not there already, and serve until stopped."""
    options = _parse(arguments)
    root = Path.cwd()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with ExitStack() as stack:
            servers = []
            if "PREFECT_API_URL" not in os.environ:
                servers.append(prefect_server(options.prefect_port))
                os.environ["PREFECT_API_URL"] = f"http://{HOST}:{options.prefect_port}/api"
            if "MLFLOW_TRACKING_URI" not in os.environ:
                servers.append(mlflow_server(root, options.mlflow_port))
                os.environ["MLFLOW_TRACKING_URI"] = f"http://{HOST}:{options.mlflow_port}"
            print("Starting the servers …", flush=True)
            stack.enter_context(running(root, *servers))
            print(f"Prefect: {os.environ['PREFECT_API_URL'].removesuffix('/api')}", flush=True)
            print(f"MLflow:  {os.environ['MLFLOW_TRACKING_URI']}", flush=True)
            _serve(root, options)
    except StemmaError as error:
        print(f"stemma: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        pass
    print("Stopped.", flush=True)
    return 0


def deployments(options: argparse.Namespace) -> "list[RunnerDeployment]":
    """Both flows on their schedules, one run of each at a time."""
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.types.entrypoint import EntrypointType

    from flows.pipeline import pipeline
    from flows.release import release

    common: dict[str, Any] = {
        "concurrency_limit": ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW),
        "entrypoint_type": EntrypointType.MODULE_PATH,
    }
    schedule: dict[str, Any] = {"interval": options.interval} if options.interval else {"cron": options.cron}
    both = [
        pipeline.to_deployment(NAME, **schedule, **common),
        release.to_deployment(NAME, cron=options.release_cron, **common),
    ]
    return cast("list[RunnerDeployment]", both)  # the other half of their type is for asynchronous callers


def _serve(root: Path, options: argparse.Namespace) -> None:
    from prefect.runner import Runner

    _settle(root)
    _watch_for_zombies()
    runner = Runner(name="stemma", pause_on_shutdown=False, limit=2)
    for deployment in deployments(options):
        runner.add_deployment(deployment)
    runner.handle_sigterm = _interrupt  # type: ignore[method-assign] # its own leaves a coroutine behind
    print(f"Serving pipeline/{NAME} and release/{NAME}; stop with Ctrl-C.", flush=True)
    try:
        asyncio.run(runner.start())
    finally:
        _settle(root)


def _settle(root: Path) -> None:
    """Leave no run of this project that the server believes to be under way and whose process is gone."""
    from flows.schedule import mark_killed_runs, put_back_pending_runs

    try:
        with hold("pipeline", folder=root / LOCKS, wait=0):
            for run in mark_killed_runs(root):
                print(f"Marked as crashed, because its process was killed: flow run {run}", flush=True)
    except BusyError:
        pass  # a run is under way; it has looked by itself
    put_back_pending_runs(NAME)


def _watch_for_zombies() -> None:
    """Let the server mark a run as crashed when its heartbeat has stopped, wherever its process was."""
    from prefect.automations import Automation
    from prefect.client.schemas.objects import StateType
    from prefect.events.actions import ChangeFlowRunState
    from prefect.events.schemas.automations import EventTrigger, Posture
    from prefect.events.schemas.events import ResourceSpecification

    states = ("Completed", "Failed", "Cancelled", "Crashed")
    trigger = EventTrigger(
        after={"prefect.flow-run.heartbeat"},
        expect={"prefect.flow-run.heartbeat", *(f"prefect.flow-run.{state}" for state in states)},
        match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=90),
    )
    message = "No heartbeat for 90 s: its process is gone"
    action = ChangeFlowRunState(name=None, state=StateType.CRASHED, message=message, force=False)
    try:
        _ = Automation.read(name=ZOMBIES)
    except ValueError:
        Automation(name=ZOMBIES, trigger=trigger, actions=[action]).create()


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m flows.deploy", description=__doc__)
    environment = os.environ
    parser.add_argument("--cron", default=environment.get("STEMMA_CRON", "0 3 * * *"), help="when the pipeline runs")
    parser.add_argument("--release-cron", default=environment.get("STEMMA_RELEASE_CRON", "0 6 * * *"))
    parser.add_argument("--interval", type=float, help="seconds between pipeline runs, instead of --cron")
    parser.add_argument("--prefect-port", type=int, default=int(environment.get("STEMMA_PREFECT_PORT", "4200")))
    parser.add_argument("--mlflow-port", type=int, default=int(environment.get("STEMMA_MLFLOW_PORT", "5000")))
    return parser.parse_args(arguments)


def _interrupt(*_: object) -> None:
    """Treat a polite end like Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
