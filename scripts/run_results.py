"""What a run in pieces has found so far, as files to commit: `run.json`, `metrics.json` and a short `README.md`."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from scripts.run_pieces import RunRecord, listed_order
from stemma.adapters import dvc
from stemma.adapters.provenance import environment_tags
from stemma.files import atomic_path, digest_file, read_json, write_json, write_text

__all__ = ["write_results"]

_REPORTS: Final = {  # whole files, by the stage that makes them
    "validate": ("reports/validation.json",),
    "evaluate": (
        "reports/evaluation/metrics.json",
        "reports/evaluation/results.md",
        "reports/leaderboard.json",
        "reports/leaderboard.md",
        "reports/leaderboard.html",
    ),
}


def write_results(root: Path, out: Path, record: RunRecord, left: Sequence[str]) -> None:
    """Write all that is there of stages that are done; what an earlier piece wrote is replaced."""
    lock = dvc.read_lock(root)
    done = [stage for stage in listed_order(root, list(lock)) if stage not in left]
    metrics = {stage: found for stage in done if (found := _metrics(root, lock[stage]))}
    run = {
        "commit": record.commit,
        "profile": record.profile,
        "settings_sha256": digest_file(root / "params.yaml"),
        "environment": environment_tags(root / "requirements.lock"),
        "data": _data_hashes(lock, done),
        "pieces": record.pieces,
        "stages": {stage: _stage(record, stage) for stage in [*done, *left] if stage in record.stages},
        "left": list(left),
    }
    write_json(out / "run.json", run)
    write_json(out / "metrics.json", metrics)
    for stage in done:
        _copy(root, out, _REPORTS.get(stage, ()))
    write_text(out / "README.md", _summary(run, metrics))


def _metrics(root: Path, locked: Mapping[str, Any]) -> dict[str, Any]:
    """A model's own figures, which its folder holds."""
    for out in locked.get("outs", []):
        path = root / out["path"] / "metrics.json"
        if path.is_file() and not out["path"].startswith("reports"):
            found: dict[str, Any] = read_json(path)
            return found
    return {}


def _data_hashes(lock: Mapping[str, Any], done: Iterable[str]) -> dict[str, str]:
    """DVC's hashes of the inputs and of what the data stages made of them."""
    entries = [entry for stage in done for part in ("deps", "outs") for entry in lock[stage].get(part, [])]
    return {
        entry["path"]: entry["md5"]
        for entry in sorted(entries, key=lambda entry: str(entry["path"]))
        if entry["path"].startswith(("data/", "models/tokenizers/")) and "md5" in entry
    }


def _stage(record: RunRecord, stage: str) -> dict[str, Any]:
    taken = record.stages[stage]
    return {"cpu_seconds": taken.cpu_seconds, "seconds": taken.seconds, "pieces": taken.pieces, "state": taken.state}


def _copy(root: Path, out: Path, names: Iterable[str]) -> None:
    for name in names:
        source, target = root / name, out / "-".join(Path(name).parts[1:])
        if source.is_file():
            with atomic_path(target) as temporary:
                shutil.copyfile(source, temporary)


def _summary(run: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    stages, left = run["stages"], run["left"]
    cpu = sum(stage["cpu_seconds"] for stage in stages.values())
    wall = sum(piece["seconds"] for piece in run["pieces"])
    state = "All stages are done" if not left else f"{len(left)} stages are left"
    lines = [
        f"# {run['profile']}",
        "",
        f"Commit `{run['commit'][:10]}`, profile `{run['profile']}` (sha256 of its settings `{run['settings_sha256'][:12]}…`),",
        f"made by `python -m scripts.real_run {run['profile']}`. {state}; {len(run['pieces'])} pieces, {wall / 3600:.2f} hours,",
        f"{cpu / 3600:.2f} hours of CPU time. `run.json` has hashes of all data, `metrics.json` what each model says of itself.",
        "",
        "| stage | CPU seconds | seconds | pieces | validation |",
        "|---|---|---|---|---|",
    ]
    for name, stage in stages.items():
        state = "" if stage["state"] == "done" else f" ({stage['state']})"
        lines.append(
            f"| `{name}`{state} | {stage['cpu_seconds']:,.0f} | {stage['seconds']:,.0f} | {len(stage['pieces'])}"
            f" | {_validation(metrics.get(name, {}))} |"
        )
    return "\n".join(lines) + "\n"


def _validation(metrics: Mapping[str, Any]) -> str:
    """Scores on validation rows, as means over seeds."""
    seeds = [seed["validation"] for seed in metrics.get("seeds", {}).values() if seed.get("validation")]
    names = [name for name in (seeds[0] if seeds else {}) if isinstance(seeds[0][name], int | float)]
    return ", ".join(f"{name} {fmean(seed[name] for seed in seeds):.3f}" for name in names)
