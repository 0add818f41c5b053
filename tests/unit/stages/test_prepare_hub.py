"""Stage `prepare` on the Hub's data sets of every known task, from folders laid out as there; the Hub itself is not asked."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stemma.errors import InputError
from stemma.progress import NullProgress
from stemma.stages import prepare
from stemma.tasks.base import SPLITS
from stemma.tasks.known import KNOWN
from tests import hub_sets, toy_inputs


@pytest.fixture(autouse=True)
def _offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def prepared(name: str, one: hub_sets.HubSet) -> Path:
    """What `prepare` makes of a folder with a data set's three splits."""
    for split in SPLITS:
        hub_sets.write(one, Path(f"hub/data/{split}-00000-of-00001.parquet"))
    known = KNOWN[name]
    task: dict[str, Any] = {
        "kind": known.kind,
        "source": {
            "kind": "hub",
            "dataset": "hub",
            "revision": "main",
            "splits": {split: split for split in SPLITS},
            "format": name,
        },
        "labels": list(known.labels),
        "metric": known.metrics[0],
        "max_length": 64,
        **({"score_range": [0, 5]} if known.kind == "regression" else {}),
    }
    prepare.run(
        toy_inputs.params({"toy": task}).model_copy(update={"probes": {}}),
        NullProgress(),
        corpora=Path("corpora"),
        external=Path("external"),
        out=Path("tasks"),
        probes=Path("probes"),
    )
    return Path("tasks/toy")


@pytest.mark.parametrize("name", hub_sets.SETS)
def test_a_known_task_of_the_hub_needs_nothing_but_its_name(name: str) -> None:
    one = hub_sets.SETS[name]
    folder = prepared(name, one)
    for split in SPLITS:
        rows = pq.read_table(folder / f"{split}.parquet").to_pylist()
        assert [tuple(row[column] for column in one.names) for row in rows] == one.expected


def test_rows_of_the_hub_without_a_label_are_left_out() -> None:
    one = hub_sets.SETS["snli"]
    hidden = one._replace(columns={**one.columns, "label": [0, -1]})
    rows = pq.read_table(prepared("snli", hidden) / "test.parquet").to_pylist()
    assert [row["label"] for row in rows] == ["entailment"]


def test_a_set_whose_labels_are_not_public_is_refused() -> None:
    message = r"^hub train: no rows for the train split; all are left out, such as hub@main train: row 0: label '-1'"
    with pytest.raises(InputError, match=message):
        prepared("ax", hub_sets.AX)
