"""Run a profile from a clone fixed at one commit, in pieces of so many minutes, and keep what came out after each.

    STEMMA_DATA=… python -m scripts.real_run lineage

The first call clones this checkout's commit beside it (`--clone` says where else), with the files of `data/external/`, and lets
the clone use the profile. Every call goes on where the last one stopped or was killed, until nothing is stale: 0 is returned
when all is done, 3 when something is left for the next call. What is at work when the time is over is stopped; training goes on
from its checkpoint. Stages run in the order in which `dvc.yaml` and the profile list them, which is from cheap to dear, two side
by side (`--jobs`). After each piece `docs/results/PROFILE/` here has the metrics so far, to be committed.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from scripts.run_pieces import PieceOfRun, RunRecord
from scripts.run_results import write_results
from stemma.adapters.plan import make_plan
from stemma.adapters.settings import PARAMS, PROFILES, use_profile
from stemma.errors import InputError, StemmaError
from stemma.fence import LOCKS, hold

__all__ = ["fixed_clone", "main", "run_piece"]

_EXTERNAL: Final = Path("data/external")
_LEFT: Final = 3  # the exit code of a piece after which there is more to do


def main() -> int:
    """One piece."""
    asked = _parse()
    here = Path.cwd()
    clone = asked.clone or here.parent / f"{here.name}-{asked.profile}"
    try:
        fixed_clone(here, clone, asked.profile)
        left = run_piece(clone, here / asked.out / asked.profile, minutes=asked.minutes, jobs=asked.jobs)
    except StemmaError as error:
        print(f"stemma: {error}", file=sys.stderr)
        return 2
    return _LEFT if left else 0


def fixed_clone(here: Path, clone: Path, profile: str) -> RunRecord:
    """The clone's record: made with the clone, whole or not at all, or checked, where there is one."""
    if not clone.exists():
        _make_clone(here, clone, profile)
    record = RunRecord.read(clone)
    if record.profile != profile:
        raise InputError(f"{clone}: runs the profile {record.profile!r}; name another folder with --clone")
    if _git(clone, "rev-parse", "HEAD") != record.commit or _edits(clone):
        raise InputError(
            f"{clone}: is no longer as commit {record.commit[:10]} has it; restore it, or begin in a new one"
        )
    if (clone / PARAMS).read_bytes() != (clone / PROFILES / f"{profile}.yaml").read_bytes():
        raise InputError(f"{clone / PARAMS}: is not the profile {profile!r}; run `stemma settings use {profile}` there")
    return record


def run_piece(root: Path, out: Path, *, minutes: float, jobs: int) -> list[str]:
    """Run what is stale for so long, and write the results so far; the stages that are left."""
    with hold("pipeline", folder=root / LOCKS, wait=0):
        record = RunRecord.read(root)
        plan = make_plan(root)
        try:
            failures = PieceOfRun(root, plan, record, seconds=minutes * 60, jobs=jobs).run() if plan.steps else {}
        finally:
            left = [step.stage for step in make_plan(root).steps]
            write_results(root, out, record, left)
    print(f"{out}: {len(left)} stages are left{': ' + ', '.join(left[:5]) if left else ''}{' …' if left[5:] else ''}")
    if failures:
        raise InputError("; ".join(f"{stage}: {message}" for stage, message in failures.items()))
    return left


def _make_clone(here: Path, clone: Path, profile: str) -> None:
    new = clone.with_name(f".{clone.name}.tmp")
    shutil.rmtree(new, ignore_errors=True)
    if not (here / ".git").exists():
        raise InputError(f"{here}: run this from the project's top folder")
    commit = _git(here, "rev-parse", "HEAD")
    _git(here, "clone", "--quiet", "--no-checkout", str(here), str(new))
    _git(new, "checkout", "--quiet", "--detach", commit)
    shutil.copytree(here / _EXTERNAL, new / _EXTERNAL, dirs_exist_ok=True)
    use_profile(new, profile)
    RunRecord(root=new, commit=commit, profile=profile).save()
    new.rename(clone)


def _edits(clone: Path) -> list[str]:
    """Files that differ from the commit, without what a run is to change."""
    lines = _git(clone, "status", "--porcelain", "--untracked-files=no").splitlines()
    names = [line.split(maxsplit=1)[1] for line in lines]
    return [name for name in names if name not in (str(PARAMS), "dvc.lock") and not name.startswith("reports/")]


def _git(folder: Path, *arguments: str) -> str:
    result = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode:
        raise InputError(f"git {' '.join(arguments)}: {' '.join(result.stderr.split())}")
    return result.stdout.strip()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run a profile in pieces, from a clone fixed at one commit.")
    parser.add_argument("profile")
    parser.add_argument("--minutes", type=float, default=90.0, help="how long this piece may take")
    parser.add_argument("--jobs", type=int, default=2, help="stages side by side")
    parser.add_argument("--clone", type=Path, help="the clone's folder; made if it is not there")
    parser.add_argument(
        "--out", type=Path, default=Path("docs/results"), help="where the profile's folder of results lies"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
