"""Register every fine-tuned model, and promote those that the gate lets through.

`python -m flows.release` is what `make release` runs. A refusal is a normal end; what could not be done is an error.
"""

import logging
import os
import sys
from pathlib import Path
from typing import Final

from prefect import flow, get_run_logger, task
from prefect.settings import PREFECT_API_URL

from flows.schedule import collapse_late_runs
from flows.servers import answers
from stemma.adapters.evidence import Sources
from stemma.adapters.registry import Registry
from stemma.adapters.release import Outcome, Releaser
from stemma.adapters.sender import open_sender
from stemma.config import load_params
from stemma.errors import InputError, ReleaseError, StemmaError
from stemma.fence import hold
from stemma.release.ledger import LEDGER, Ledger

__all__ = ["main", "release"]

SOURCES: Final = Sources(
    tasks=Path("data/valid/tasks"),
    finetuned=Path("models/finetuned"),
    evaluation=Path("reports/evaluation"),
    predictions=Path("reports/predictions"),
)
LOCK: Final = Path("requirements.lock")


@flow(name="release", persist_result=False, result_serializer="json")
def release() -> dict[str, str]:
    """Release every pair of `params.yaml`, each by itself; what came of each, by name."""
    collapse_late_runs()
    params = load_params(Path("params.yaml"))
    outcomes: dict[str, str] = {}
    failures: list[str] = []
    with hold("release"):
        with open_sender():
            pass  # the runs that made the models must be in the store before it is asked for them
        releaser = Releaser(params, SOURCES, Registry(), Ledger(LEDGER), LOCK)
        for pair in params.pairs:
            try:
                outcomes[pair] = _release_pair.with_options(task_run_name=pair)(releaser, pair)
            except StemmaError as error:
                failures.append(f"{pair}: {error}")
    if failures:
        raise ReleaseError("; ".join(failures))
    return outcomes


@task(name="release", persist_result=False)
def _release_pair(releaser: Releaser, pair: str) -> str:
    outcome = releaser.release(pair)
    _tell(outcome)
    if outcome.decision is None:
        return "champion already"
    return "promoted" if outcome.promoted else "refused"


def _tell(outcome: Outcome) -> None:
    """Say it on the terminal and on Prefect's page."""
    log = get_run_logger()
    for line in outcome.lines():
        log.info("%s", line)
        print(line, flush=True)


def main() -> int:
    """Run the flow; 0 also when the gate refuses, 2 when something could not be done."""
    try:
        url = PREFECT_API_URL.value()
        if url and not answers(f"{url}/health"):
            raise InputError(f"PREFECT_API_URL: no Prefect server answers at {url}; start it, or unset the variable")
        load_params(Path("params.yaml"))
        os.environ.setdefault("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")
        for handler in [*logging.getLogger().handlers, *logging.getLogger("prefect._internal").handlers]:
            handler.setLevel(logging.CRITICAL)  # Prefect's server gets its log all the same
        release()
    except StemmaError as error:
        print(f"stemma: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
