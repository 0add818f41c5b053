"""What made the leaderboard: hashes of the lock, seconds of the store, and the command that shows them."""

import pytest
import yaml
from typer.testing import CliRunner

from stemma.adapters.board import describe_lock, made_by, open_runs
from stemma.adapters.dvc import file_md5
from stemma.adapters.store import RunRecord
from stemma.cli import app
from stemma.errors import InputError
from stemma.files import digest_tree, write_json
from tests import toy_board


class Known:
    """A store that knows every run and says that it took two seconds and a half."""

    def __init__(self, *digests: str) -> None:
        self.digests = digests

    def find_run(self, tag: str, value: str) -> RunRecord | None:
        record = RunRecord("id", "FINISHED", deleted=False, tags={tag: value}, start_time=0, end_time=2500)
        return record if value in self.digests else None


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A project with a table, a model, two fine-tuned ones, and a lock that knows them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    write_json(tmp_path / "reports/leaderboard.json", toy_board.table())
    for name in ("pretrained/bert", "finetuned/bert-cola", "finetuned/bert-word-order"):
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "weights").write_text(name)
    stages = {
        "pretrain@bert": {"outs": [{"path": "models/pretrained/bert", "md5": "0123456789abcdef.dir"}]},
        "evaluate": {
            "deps": [
                {"path": "src/stemma/code.py", "md5": "aa"},
                {"path": "data/valid/tasks", "md5": "fedcba9876.dir"},
            ],
            "outs": [{"path": "reports/leaderboard.json", "md5": file_md5(tmp_path / "reports/leaderboard.json")}],
        },
    }
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}))
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(toy_board.params().model_dump(mode="json")))
    return tmp_path


def test_a_variant_is_told_by_hash_and_seconds(root):
    models = [
        root / "models" / name for name in ("pretrained/bert", "finetuned/bert-cola", "finetuned/bert-word-order")
    ]
    facts = made_by(toy_board.params(), root, Known(*(digest_tree([model]) for model in models)))
    assert facts["bert"] == ["01234567", "2", "5"]
    assert facts["glove"] == ["–", "–", "–"]
    assert made_by(toy_board.params(), root, None)["bert"] == ["01234567", "–", "–"]


def test_the_lock_is_held_against_the_table(root):
    path = (root / "reports/leaderboard.json").relative_to(root)
    whole, sources = describe_lock(path, root)
    assert whole.endswith("as in dvc.lock")
    assert sources == "made from data/valid/tasks fedcba98"
    (root / path).write_text("{}")
    assert "not the bytes that dvc.lock names" in next(describe_lock(path, root))
    (root / "dvc.lock").unlink()
    assert list(describe_lock(path, root)) == [f"{path}: dvc.lock has no hash of it; run `dvc repro evaluate`"]


def test_asking_makes_no_store(root):
    assert open_runs() is None
    assert not (root / ".stemma").exists()


def test_the_command_shows_the_table_and_compares(root, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    shown = CliRunner().invoke(app, ["leaderboard"], catch_exceptions=False)
    assert shown.exit_code == 0
    for part in ("bert-untrained", "01234567", "as in dvc.lock", "As a page: reports/leaderboard.html"):
        assert part in shown.stdout
    compared = CliRunner().invoke(app, ["leaderboard", "--compare", "bert", "majority", "--task", "cola"])
    assert "+0.500 [+0.470, +0.530]" in compared.stdout
    assert "word-order" not in compared.stdout


def test_a_task_without_two_rows_is_refused(root):
    with pytest.raises(InputError, match="--task: goes with --compare"):
        CliRunner().invoke(app, ["leaderboard", "--task", "cola"], catch_exceptions=False)


def test_a_table_of_an_earlier_version_is_refused(root):
    table = toy_board.table()
    for column in table["columns"]:
        del column["note"]
    write_json(root / "reports/leaderboard.json", table)
    with pytest.raises(
        InputError, match=r"leaderboard\.json: made by an earlier version of the code; run `dvc repro evaluate`"
    ):
        CliRunner().invoke(app, ["leaderboard"], catch_exceptions=False)
