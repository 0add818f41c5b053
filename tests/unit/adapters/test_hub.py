import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stemma.adapters.hub import read_records
from stemma.errors import InputError


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def folder(tmp_path: Path) -> str:
    (tmp_path / "set" / "data").mkdir(parents=True)
    table = pa.table({"text": [f"text {n}" for n in range(5)], "label": [0, 1, 0, 1, 0]})
    pq.write_table(table, tmp_path / "set" / "data" / "train-00000-of-00001.parquet")
    return str(tmp_path / "set")


def test_a_folder_laid_out_as_on_the_hub_is_streamed(tmp_path: Path) -> None:
    dataset = folder(tmp_path)
    records = list(read_records(dataset, None, "train", "main"))
    assert [record["text"] for _, record in records] == [f"text {n}" for n in range(5)]
    assert records[3][0] == f"{dataset}@main train: row 3"


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    dataset = folder(tmp_path)
    missing = str(tmp_path / "none")
    for path, config, split in (
        (dataset, None, "nope"),
        (dataset, "other", "train"),
        (missing, None, "train"),
        ("a/b", None, "train"),
    ):
        with pytest.raises(InputError, match=rf"{path}@main {split}: can't be loaded"):
            list(read_records(path, config, split, "main"))


def test_other_formats_are_refused(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "train.jsonl").write_text(json.dumps({"text": "a"}) + "\n")
    with pytest.raises(InputError, match="not in parquet"):
        list(read_records(str(tmp_path / "set"), None, "train", "main"))
