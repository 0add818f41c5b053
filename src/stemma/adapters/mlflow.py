"""Where a training stage's history goes: a journal first, from there to MLflow by a process of its own.

Tracking never kills training and never slows it: no MLflow in the training process, nothing that waits but the flush at
the end, which gives up after ten seconds. A store that is down or refuses a value costs one warning; the journal stays,
and the next start sends it.
"""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stemma.adapters import provenance
from stemma.adapters.journal import JOURNALS, Journal, JournalTracker
from stemma.adapters.sender import SenderProcess
from stemma.files import digest_tree
from stemma.training.tracker import NullTracker, Tracker

__all__ = ["OUTPUT_TAG", "open_tracker"]

OUTPUT_TAG = "stemma.output_digest"  # by which a release finds the run that made its bytes
_log = logging.getLogger(__name__)


@contextmanager
def open_tracker(stage: str, *, inputs: Sequence[Path], out: Path) -> Iterator[Tracker]:
    """The history of one run of a training stage; `STEMMA_TRACKING=off` keeps none."""
    journal = _begin(stage, inputs) if os.environ.get("STEMMA_TRACKING") != "off" else None
    if journal is None:
        yield NullTracker()
        return
    sender = SenderProcess()
    _attempt("start the sender", sender.start)
    status = "FAILED"
    try:
        yield JournalTracker(journal)
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    finally:
        _attempt("finish the record", lambda: _end(journal, status, out))
        _attempt("finish the sender", sender.finish)


def _begin(stage: str, inputs: Sequence[Path]) -> Journal | None:
    """Open a journal and write down what is known before the work starts."""
    try:
        journal = Journal(JOURNALS, stage)
        tags = provenance.environment_tags() | provenance.input_tags(inputs)
        pipeline = provenance.pipeline_tags()
        parent = provenance.pipeline_run_id()
        journal.append("run", id=journal.id, stage=stage, parent=parent, parent_tags=pipeline, tags=tags | pipeline)
    except Exception as error:  # noqa: BLE001 - tracking never kills training
        _log.warning("tracking: no record is kept of %s: %s", stage, error)
        return None
    return journal


def _end(journal: Journal, status: str, out: Path) -> None:
    """Write down how the work ended, and the digest of what it wrote."""
    try:
        tags = provenance.kernel_tags() | ({OUTPUT_TAG: digest_tree([out])} if status == "FINISHED" else {})
        journal.append("tags", values=tags)
    finally:
        journal.append("end", status=status)
        journal.close()


def _attempt(what: str, action: Callable[[], None]) -> None:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - tracking never kills training
        _log.warning("tracking: could not %s: %s", what, error)
