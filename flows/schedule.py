"""What a flow does about other runs when it starts: late ones become one, and those of killed processes are marked."""

from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx
from prefect import get_client, get_run_logger
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterName,
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterExpectedStartTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType
from prefect.exceptions import ObjectNotFound
from prefect.runtime import deployment, flow_run
from prefect.states import Cancelled, Crashed, Scheduled

from flows.record import read_records

__all__ = ["collapse_late_runs", "mark_killed_runs", "put_back_pending_runs"]

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


def put_back_pending_runs(name: str) -> None:
    """Schedule anew the runs of deployments of a name that were taken up and not begun, whose server has stopped.

    Such a run would keep its deployment's only place for minutes, and the runs after it would be cancelled for it.
    """
    pending = FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.PENDING])))
    served = DeploymentFilter(name=DeploymentFilterName(any_=[name]))
    with get_client(sync_client=True) as client:
        try:
            for run in client.read_flow_runs(flow_run_filter=pending, deployment_filter=served):
                client.set_flow_run_state(run.id, Scheduled(message="Taken up and not begun; put back"), force=True)
        except httpx.HTTPError:
            return  # a server that has stopped too
