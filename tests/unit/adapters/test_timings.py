"""How long trainings took: of the run that made these bytes, or none."""

from pathlib import Path

import pytest

from stemma.adapters.mlflow import OUTPUT_TAG
from stemma.adapters.store import RunRecord, StoreDown
from stemma.adapters.timings import training_seconds
from stemma.errors import InputError
from stemma.files import digest_tree


class Known:
    """A store with finished runs, by the digest of what they wrote."""

    def __init__(self, **runs: RunRecord) -> None:
        self.runs = runs

    def find_run(self, tag: str, value: str) -> RunRecord | None:
        assert tag == OUTPUT_TAG
        return self.runs.get(value)


class Down:
    """A store that does not answer."""

    def find_run(self, tag: str, value: str) -> RunRecord | None:
        raise StoreDown(f"{tag} {value}")


def run(start: int, end: int | None) -> RunRecord:
    return RunRecord("id", "FINISHED", deleted=False, tags={}, start_time=start, end_time=end)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    for name in ("known", "other", "running"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").write_text(name)
    return tmp_path


def test_only_the_run_that_made_the_bytes_counts(models: Path) -> None:
    digests = {name: digest_tree([models / name]) for name in ("known", "running")}
    store = Known(**{digests["known"]: run(1000, 4500), digests["running"]: run(1000, None)})
    assert training_seconds(["known", "other", "running", "gone"], models, store) == {"known": 3.5}


def test_a_store_that_is_down_is_said_in_a_line(models: Path) -> None:
    with pytest.raises(InputError, match="MLflow's store does not answer"):
        training_seconds(["known"], models, Down())
