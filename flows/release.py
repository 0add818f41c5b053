"""Register every fine-tuned model, and promote those that the gate lets through.

`python -m flows.release` is what `make release` runs. A refusal is a normal end; what could not be done is an error.
"""

import sys
from pathlib import Path
from typing import Final

from prefect import flow, get_run_logger, task

from stemma.adapters.evidence import Sources
from stemma.adapters.registry import Registry
from stemma.adapters.release import Releaser
from stemma.adapters.sender import open_sender
from stemma.config import load_params
from stemma.errors import ReleaseError, StemmaError
from stemma.fence import hold
from stemma.release.ledger import LEDGER, Ledger

__all__ = ["main", "release"]

SOURCES: Final = Sources(
    tasks=Path("data/valid/tasks"),
    finetuned=Path("models/finetuned"),
    evaluation=Path("reports/evaluation"),
    predictions=Path("reports/predictions"),
)


@flow(name="release", persist_result=False, result_serializer="json")
def release() -> dict[str, str]:
    """Release every pair of `params.yaml`; what came of each, by name."""
    params = load_params(Path("params.yaml"))
    outcomes: dict[str, str] = {}
    failures: list[str] = []
    with hold("release"):
        with open_sender():
            pass  # the runs that made the models must be in the store before it is asked for them
        releaser = Releaser(params, SOURCES, Registry(), Ledger(LEDGER), Path("requirements.lock"))
        for pair in params.pairs:
            try:
                outcomes[pair] = _release_pair.with_options(task_run_name=pair)(releaser, pair)
            except StemmaError as error:
                failures.append(f"{pair}: {error}")
    if failures:
        raise ReleaseError("; ".join(failures))
    return outcomes


@task(persist_result=False)
def _release_pair(releaser: Releaser, pair: str) -> str:
    outcome = releaser.release(pair)
    log = get_run_logger()
    for line in outcome.lines():
        log.info(line)
        print(line, flush=True)
    if outcome.decision is None:
        return "champion already"
    return "promoted" if outcome.promoted else "refused"


def main() -> int:
    """Run the flow; 0 also when the gate refuses, 2 when something could not be done."""
    try:
        release()
    except StemmaError as error:
        print(f"stemma: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
