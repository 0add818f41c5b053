"""How long trainings took, as MLflow's store knows it: no out of a stage has times in it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from stemma.adapters.mlflow import OUTPUT_TAG
from stemma.adapters.store import RunRecord, StoreDown
from stemma.errors import InputError
from stemma.files import digest_tree

__all__ = ["Runs", "training_seconds"]


class Runs(Protocol):
    """Where runs are found."""

    def find_run(self, tag: str, value: str) -> RunRecord | None:
        """The run with this tag."""


def training_seconds(variants: Iterable[str], pretrained: Path, runs: Runs) -> dict[str, float]:
    """Seconds of the run that made the very bytes of each variant's model, where there is one.

    Of a training that was killed and went on, these are the seconds of the last part.
    """
    found = {}
    for name in variants:
        if (pretrained / name).is_dir():
            try:
                run = runs.find_run(OUTPUT_TAG, digest_tree([pretrained / name]))
            except StoreDown as error:
                raise InputError(f"MLflow's store does not answer ({error}); ask again without the seconds") from None
            if run is not None and run.end_time is not None:
                found[name] = (run.end_time - run.start_time) / 1000
    return found
