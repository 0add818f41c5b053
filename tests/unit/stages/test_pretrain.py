"""The stage: a whole model folder or none, and no scratch left behind."""

import json
from pathlib import Path
from typing import Any

import pytest

from stemma.config import Params, load_params
from stemma.errors import InputError, SettingsError, TrainingError
from stemma.files import digest_tree, read_json, verify_manifest
from stemma.progress import NullProgress
from stemma.stages import pretrain
from stemma.training.tracker import NullTracker
from tests.toy_ngrams import save_corpus

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))
    return tmp_path / "scratch"


@pytest.fixture
def params() -> Params:
    return load_params(ROOT / "params.yaml")


@pytest.fixture
def corpus(tmp_path: Path) -> dict[str, Path]:
    tokens, tokenizer = save_corpus(tmp_path, ["a", "b"], ["a b", "b a a"], ["a a"])
    return {"tokens": tokens, "tokenizer": tokenizer}


def test_a_model_folder_is_complete(tmp_path: Path, scratch: Path, params: Params, corpus: dict[str, Path]) -> None:
    out = tmp_path / "out"
    run("ngram", params, out, corpus)
    files = {path.name for path in out.iterdir()}
    assert files == {
        *("model.safetensors", "ngram.json", "tokenizer.json", "tokenizer_config.json"),
        *("metrics.json", "family.json", "manifest.json", "tasks.json"),
    }
    assert set(verify_manifest(out)["files"]) == files - {"manifest.json"}
    assert read_json(out / "family.json") == {"family": "ngram", "variant": "ngram"}
    assert read_json(out / "metrics.json")["validation_perplexity"] > 1
    assert not list(scratch.iterdir())


def test_a_second_run_gives_equal_bytes(tmp_path: Path, params: Params, corpus: dict[str, Path]) -> None:
    for out in ("one", "two"):
        run("ngram", params, tmp_path / out, corpus)
    run("ngram-laplace", params, tmp_path / "other", corpus)
    assert digest_tree([tmp_path / "one"]) == digest_tree([tmp_path / "two"]) != digest_tree([tmp_path / "other"])


def test_settings_and_metrics_are_tracked(tmp_path: Path, params: Params, corpus: dict[str, Path]) -> None:
    tracker = RecordingTracker()
    pretrain.run("ngram-laplace", params, tracker, NullProgress(), out=tmp_path / "out", **corpus)
    assert tracker.params["smoothing"] == "laplace"
    assert tracker.params["variant"] == "ngram-laplace"
    assert tracker.metrics == read_json(tmp_path / "out" / "metrics.json")


def test_what_fails_leaves_the_old_model(tmp_path: Path, params: Params, corpus: dict[str, Path]) -> None:
    out = tmp_path / "out"
    run("ngram", params, out, corpus)
    before = digest_tree([out])
    empty, tokenizer = save_corpus(tmp_path / "empty", ["a"], [], ["a"])
    with pytest.raises(TrainingError):
        run("ngram", params, out, {"tokens": empty, "tokenizer": tokenizer})
    assert digest_tree([out]) == before
    assert {path.name for path in tmp_path.iterdir()} >= {"out"}
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


def test_a_variant_that_is_not_there_is_named(tmp_path: Path, params: Params, corpus: dict[str, Path]) -> None:
    with pytest.raises(SettingsError, match="no variant 'ngrm'"):
        run("ngrm", params, tmp_path / "out", corpus)


def test_a_missing_tokenizer_file_is_named(tmp_path: Path, params: Params, corpus: dict[str, Path]) -> None:
    (corpus["tokenizer"] / "tokenizer_config.json").unlink()
    with pytest.raises(InputError, match=r"tokenizer_config\.json: no such file"):
        run("ngram", params, tmp_path / "out", corpus)


def run(name: str, params: Params, out: Path, corpus: dict[str, Path]) -> None:
    pretrain.run(name, params, NullTracker(), NullProgress(), out=out, **corpus)


class RecordingTracker(NullTracker):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self.metrics: dict[str, float] = {}

    def log_params(self, params: Any) -> None:
        self.params |= params

    def log_metrics(self, metrics: Any, step: int) -> None:
        json.dumps(step)
        self.metrics |= metrics
