"""The registry on a real SQLite store: versions count once confirmed, aliases move, evidence comes back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stemma.adapters.registry import CHALLENGER, CHAMPION, Registry, Version
from stemma.errors import ReleaseError

MLMODEL = "flavors:\n  python_function:\n    artifacts:\n      model: {path: artifacts/seed-1, uri: x}\n"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("registry"))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield Registry()


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    folder = tmp_path / "packed"
    (folder / "artifacts" / "seed-1").mkdir(parents=True)
    (folder / "MLmodel").write_text(MLMODEL)
    (folder / "artifacts" / "seed-1" / "weights").write_text("1 2 3")
    return folder


@pytest.fixture
def version(registry: Registry, packed: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Version:
    """A new version of a model of the test's own."""
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "scorecard.json").write_text("{}")
    run = registry.keep_evidence("m", tmp_path / "evidence", {"mean": 0.5}, {"why": "test"})
    version = registry.register(request.node.name.replace("_", "-"), packed, run, {"stemma.seed": "1"}, "a card")
    return registry.link_evidence(version, run, "e" * 64)


def test_a_version_counts_once_it_is_confirmed(registry: Registry, version: Version) -> None:
    assert (version.number, version.digest, version.evidence_digest) == ("1", "", "e" * 64)
    assert registry.find(version.model, "d" * 64) is None
    confirmed = registry.confirm(version, "d" * 64)
    assert registry.find(version.model, "d" * 64) == confirmed
    assert registry.find("another", "d" * 64) is None


def test_aliases_move_from_version_to_version(registry: Registry, version: Version, packed: Path) -> None:
    assert registry.at(version.model, CHAMPION) is None
    second = registry.register(version.model, packed, registry_run(version), {}, "")
    registry.set_alias(version, CHAMPION)
    registry.set_alias(second, CHALLENGER)
    assert (number(registry, version.model, CHAMPION), number(registry, version.model, CHALLENGER)) == ("1", "2")
    registry.set_alias(second, CHAMPION)
    assert number(registry, version.model, CHAMPION) == "2"


def test_no_model_has_no_champion(registry: Registry) -> None:
    assert registry.at("never-registered", CHAMPION) is None


def test_evidence_comes_back_and_its_absence_is_said(registry: Registry, version: Version, packed: Path) -> None:
    with registry.evidence(version) as folder:
        assert folder is not None
        assert (folder / "scorecard.json").read_text() == "{}"
    bare = registry.register(version.model, packed, registry_run(version), {}, "")
    with registry.evidence(bare) as nothing:
        assert nothing is None


def test_the_models_own_folder_comes_back(registry: Registry, version: Version) -> None:
    registry.set_alias(version, CHAMPION)
    for uri in (version.uri, f"models:/{version.model}@{CHAMPION}"):
        with registry.download(uri) as folder:
            assert (folder / "weights").read_text() == "1 2 3"
    assert not folder.exists()


@pytest.mark.parametrize("uri", ["models:/none@champion", "models:/none/3", "models:/", "models:/none@"])
def test_what_is_not_there_is_said_in_one_line(registry: Registry, uri: str) -> None:
    with pytest.raises(ReleaseError, match="could not load models:/") as caught, registry.download(uri):
        pass
    assert "\n" not in str(caught.value)


def test_the_run_that_made_some_bytes(registry: Registry) -> None:
    assert registry.find_maker("f" * 64) is None
    run = registry._store.create_run("finetune@a", {"stemma.output_digest": "f" * 64}, 1)
    assert registry.find_maker("f" * 64) == run


def test_a_server_that_is_gone_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(ReleaseError, match=r"the MLflow store at http://127\.0\.0\.1:9 does not answer"):
        Registry()


def registry_run(version: Version) -> str:
    return version.tags["stemma.evidence_run"]


def number(registry: Registry, model: str, alias: str) -> str | None:
    found = registry.at(model, alias)
    return found.number if found else None
