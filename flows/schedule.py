"""What a flow does about other runs when it starts: late ones become one, and those of killed processes are marked."""

from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx
from prefect import get_client, get_run_logger
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterExpectedStartTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType
from prefect.exceptions import ObjectNotFound
from prefect.runtime import deployment, flow_run
from prefect.states import Cancelled, Crashed

from flows.record import read_records

__all__ = ["collapse_late_runs", "mark_killed_runs"]

_UNFINISHED = (StateType.RUNNING, StateType.PENDING, StateType.CANCELLING)


def collapse_late_runs() -> None:
    """Cancel the other runs of this deployment that should have begun by now: this one does their work.

    After a night with the server switched off there is one run to catch up with, not one for every hour.
    """
    if deployment.id is None:
        return
    due = FlowRunFilter(
        deployment_id=FlowRunFilterDeploymentId(any_=[UUID(str(deployment.id))]),
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED])),
        expected_start_time=FlowRunFilterExpectedStartTime(before_=datetime.now(UTC)),  # type: ignore[arg-type] # any datetime will do
    )
    with get_client(sync_client=True) as client:
        for run in client.read_flow_runs(flow_run_filter=due):
            if str(run.id) != str(flow_run.id):
                get_run_logger().info("Late run %s is done by this one", run.name)
                client.set_flow_run_state(
                    run.id, Cancelled(message=f"Late; its work is done by {flow_run.name}"), force=True
                )


def mark_killed_runs(root: Path) -> list[str]:
    """Tell the server which of this project's runs died without a word; call it while holding the pipeline's lock."""
    killed = [record for record in read_records(root) if not record.finished and record.flow_run_id != str(flow_run.id)]
    with get_client(sync_client=True) as client:
        for record in killed:
            try:
                state = client.read_flow_run(UUID(record.flow_run_id)).state
                if state is not None and state.type in _UNFINISHED:
                    client.set_flow_run_state(record.flow_run_id, Crashed(message="Its process was killed"), force=True)
            except (ObjectNotFound, ValueError):  # it ran on another server
                pass
            except httpx.HTTPError:
                return []
            record.finished = True
            record.save()
    return [record.flow_run_id for record in killed]
