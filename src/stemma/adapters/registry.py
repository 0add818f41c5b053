"""MLflow's model registry: versions with their bytes' digest, aliases, and each version's evidence.

A version counts only once it was loaded back and gave the answers that were stored: that is when it gets its digest.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml

from stemma.adapters.mlflow import OUTPUT_TAG
from stemma.adapters.store import MlflowStore, StoreDown, tracking_uri
from stemma.errors import ReleaseError

__all__ = ["CHALLENGER", "CHAMPION", "Registry", "Version"]

T = TypeVar("T")

CHAMPION: Final = "champion"
CHALLENGER: Final = "challenger"
_DIGEST_TAG: Final = "stemma.digest"
_EVIDENCE_TAG: Final = "stemma.evidence_run"
_EVIDENCE_DIGEST_TAG: Final = "stemma.evidence_digest"
_SETTINGS: Final = {  # the limits of a request, which by themselves are minutes, and silence
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
_NOT_THERE: Final = frozenset({"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"})


@dataclass(frozen=True)
class Version:
    """A version of a registered model."""

    model: str
    number: str
    tags: Mapping[str, str]

    @property
    def uri(self) -> str:
        """What MLflow calls it."""
        return f"models:/{self.model}/{self.number}"

    @property
    def digest(self) -> str:
        """The digest of its bytes, empty for one that was never checked."""
        return self.tags.get(_DIGEST_TAG, "")

    @property
    def evidence_digest(self) -> str:
        """The digest of what its scorecard is made of."""
        return self.tags.get(_EVIDENCE_DIGEST_TAG, "")


class Registry:
    """The registry of the store that runs are kept in."""

    def __init__(self) -> None:
        for name, value in _SETTINGS.items():
            os.environ.setdefault(name, value)
        import mlflow
        from mlflow.tracking import MlflowClient

        self._uri = tracking_uri()
        try:
            self._store = MlflowStore(self._uri)
            self._experiment = self._store.experiment()
        except StoreDown as error:
            raise ReleaseError(f"the MLflow store at {self._uri} does not answer: {error}") from None
        mlflow.set_tracking_uri(self._uri)  # loading a model has no other way to say where
        mlflow.set_registry_uri(self._uri)
        self._client = MlflowClient(self._uri, self._uri)

    def find(self, model: str, digest: str) -> Version | None:
        """The newest version with these bytes."""
        versions = self._ask(f"search {model}", lambda: self._client.search_model_versions(f"name='{model}'"))
        found = [_version(version) for version in versions if version.tags.get(_DIGEST_TAG) == digest]
        return max(found, key=lambda version: int(version.number), default=None)

    def at(self, model: str, alias: str) -> Version | None:
        """The version that an alias names."""
        number = self._aliases(model).get(alias)
        return None if number is None else self.get(model, str(number))

    def get(self, model: str, number: str) -> Version:
        """A version by its number."""
        return _version(self._ask(f"find {model} {number}", lambda: self._client.get_model_version(model, number)))

    def set_alias(self, version: Version, alias: str) -> None:
        """Let an alias name this version."""
        self._ask(
            f"set @{alias}",
            lambda: self._client.set_registered_model_alias(version.model, alias, version.number),
        )

    def tag(self, version: Version, tags: Mapping[str, str]) -> Version:
        """Write facts on a version."""

        def write() -> None:
            for name, value in tags.items():
                self._client.set_model_version_tag(version.model, version.number, name, value)

        self._ask(f"tag {version.uri}", write)
        return self.get(version.model, version.number)

    def confirm(self, version: Version, digest: str) -> Version:
        """Let a version count: it was loaded back and checked."""
        return self.tag(version, {_DIGEST_TAG: digest})

    def find_maker(self, digest: str) -> str | None:
        """The run that wrote these bytes, if the store has it."""
        try:
            found = self._store.find_run(OUTPUT_TAG, digest)
        except StoreDown as error:
            raise ReleaseError(f"the MLflow store at {self._uri} does not answer: {error}") from None
        return found.id if found is not None and not found.deleted else None

    def register(self, model: str, packed: Path, run: str, tags: Mapping[str, str], description: str) -> Version:
        """Upload a model that MLflow's `save_model` wrote into a folder, as a new version made by a run."""

        def upload() -> Any:
            logged = self._client.create_logged_model(self._experiment, name=model, source_run_id=run, tags=dict(tags))
            self._client.log_model_artifacts(logged.model_id, str(packed))
            self._client.finalize_logged_model(logged.model_id, "READY")
            if not self._client.search_registered_models(f"name='{model}'"):
                self._client.create_registered_model(model)
            return self._client.create_model_version(
                model, logged.model_uri, run, dict(tags), description=description, model_id=logged.model_id
            )

        return _version(self._ask(f"register {model}", upload))

    def keep_evidence(self, model: str, folder: Path, metrics: Mapping[str, float], tags: Mapping[str, str]) -> str:
        """Keep a folder of evidence as a run of its own; its id."""

        def upload() -> str:
            name = {"mlflow.runName": f"release {model}"}
            run: str = self._client.create_run(self._experiment, tags={**tags, **name}).info.run_id
            for key, value in metrics.items():
                self._client.log_metric(run, key, value)
            self._client.log_artifacts(run, str(folder), "evidence")
            self._client.set_terminated(run)
            return run

        return self._ask(f"keep the evidence of {model}", upload)

    def link_evidence(self, version: Version, run: str, digest: str) -> Version:
        """Let a version's evidence be that of a run."""
        return self.tag(version, {_EVIDENCE_TAG: run, _EVIDENCE_DIGEST_TAG: digest})

    @contextmanager
    def evidence(self, version: Version) -> Iterator[Path | None]:
        """A version's evidence, in a folder for as long as the block runs."""
        run = version.tags.get(_EVIDENCE_TAG)
        if run is None:
            yield None
            return
        with tempfile.TemporaryDirectory() as folder:
            self._ask("read evidence", lambda: self._client.download_artifacts(run, "evidence", folder))
            yield Path(folder) / "evidence"

    @contextmanager
    def download(self, uri: str) -> Iterator[Path]:
        """The fine-tuned model's own folder in a registered model, for as long as the block runs."""
        from mlflow.artifacts import download_artifacts

        folder = Path(tempfile.mkdtemp())
        try:
            local = Path(self._ask(f"load {uri}", lambda: download_artifacts(artifact_uri=uri, dst_path=str(folder))))
            flavors = yaml.safe_load((local / "MLmodel").read_text(encoding="utf-8"))["flavors"]
            yield local / flavors["python_function"]["artifacts"]["model"]["path"]
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _aliases(self, model: str) -> Mapping[str, str]:
        from mlflow.exceptions import MlflowException

        try:
            aliases: Mapping[str, str] = self._client.get_registered_model(model).aliases
        except MlflowException as error:
            if error.error_code not in _NOT_THERE:
                raise ReleaseError(f"the MLflow registry could not look up {model}: {error}") from None
            return {}
        return aliases

    def _ask(self, what: str, question: Callable[[], T]) -> T:
        from mlflow.exceptions import MlflowException

        try:
            return question()
        except (MlflowException, OSError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise ReleaseError(f"the MLflow registry at {self._uri} could not {what}: {reason}") from None


def _version(version: Any) -> Version:
    return Version(version.name, str(version.version), dict(version.tags))
