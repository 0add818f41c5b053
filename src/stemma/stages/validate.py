"""Stage `validate`: rows that pass, rows in quarantine, and what was checked."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from stemma.adapters.expectations import GreatExpectations
from stemma.config import Params, Task
from stemma.data.corpus_inspection import hash_training_documents, inspect_corpus
from stemma.data.documents import DOCUMENT_SCHEMA, parquet_files
from stemma.data.quarantine import Inspection, Judge, QuarantineFile
from stemma.data.row_rules import describe_schema, document_rules, input_rules
from stemma.data.workspace import Workspace, open_workspace
from stemma.errors import InputError, ValidationError
from stemma.files import atomic_dir, read_json, write_json
from stemma.progress import Progress
from stemma.tasks.base import SPLITS
from stemma.tasks.corpus_overlap import EvaluationSet, measure_overlap
from stemma.tasks.inspection import find_task_repeats, inspect_split
from stemma.tasks.rules import overlap_column, split_figures, split_rules, task_rules
from stemma.tasks.storage import COUNTS_FILE, split_path

__all__ = ["run"]

logger = logging.getLogger(__name__)

NAMED: Final = 3  # inputs that the error names; the report has all


@dataclass(frozen=True, kw_only=True)
class _Bench:
    """What every check needs: who judges, and where rows go."""

    params: Params
    judge: Judge
    valid: Path
    refused: Path
    workspace: Workspace
    progress: Progress


@dataclass(frozen=True)
class _CheckedSplit:
    """A task's split after its rows were checked."""

    task: Task
    split: str
    raw: Path
    valid: Path
    inspection: Inspection


def run(
    params: Params, progress: Progress, *, corpora: Path, tasks: Path, out: Path, quarantine: Path, report: Path
) -> None:
    """Check every corpus and task; what passes is written only if no input is refused, the rest in any case."""
    progress.start("opening Great Expectations", None, "steps")
    judge = GreatExpectations()
    with atomic_dir(out) as valid, open_workspace("validate") as workspace:
        with atomic_dir(quarantine) as refused:
            bench = _Bench(
                params=params, judge=judge, valid=valid, refused=refused, workspace=workspace, progress=progress
            )
            inspections = [_check_corpus(bench, folder) for folder in _folders(corpora)]
            splits = [split for name in sorted(params.tasks) for split in _check_task(bench, name, tasks / name)]
            write_json(
                valid / "tasks" / "names.json", sorted(params.tasks)
            )  # so that the folder is there without tasks
        _check_splits(bench, splits)
        inspections += [split.inspection for split in splits]
        write_json(report, {"inputs": {inspection.name: inspection.report() for inspection in inspections}})
        _refuse(inspections)


def _check_corpus(bench: _Bench, folder: Path) -> Inspection:
    settings = bench.params.validation
    with QuarantineFile(bench.refused / "corpora" / f"{folder.name}.parquet") as quarantine:
        inspection = Inspection(f"corpora/{folder.name}", document_rules(settings), bench.judge, quarantine)
        inspect_corpus(folder, bench.valid / "corpora" / folder.name, inspection, bench.workspace, bench.progress)
    inspection.conclude({"columns": describe_schema(parquet_files(folder))}, input_rules(settings, DOCUMENT_SCHEMA))
    return inspection


def _check_task(bench: _Bench, name: str, folder: Path) -> Iterator[_CheckedSplit]:
    task = bench.params.tasks[name]
    rules = task_rules(task, bench.params.validation)
    repeats = find_task_repeats(task, folder, bench.workspace)
    bench.progress.start(f"tasks/{name}", repeats.places.num_rows, "rows")
    with QuarantineFile(bench.refused / "tasks" / f"{name}.parquet") as quarantine:
        for split in SPLITS:
            inspection = Inspection(f"tasks/{name}/{split}", rules, bench.judge, quarantine)
            raw, valid = split_path(folder, split), split_path(bench.valid / "tasks" / name, split)
            inspect_split(task, raw, valid, inspection, repeats, bench.progress)
            _tell_of_files(inspection, folder / COUNTS_FILE, split)
            yield _CheckedSplit(task, split, raw, valid, inspection)


def _tell_of_files(inspection: Inspection, path: Path, split: str) -> None:
    """Put what `prepare` counted in a split's files into the report; what a user should know of them is a warning."""
    if not path.is_file():
        return
    inspection.facts["files"] = read_json(path)[split]
    for file in inspection.facts["files"]:
        for warning in file["warnings"]:
            logger.warning("%s: %s", inspection.name, warning)


def _check_splits(bench: _Bench, splits: Sequence[_CheckedSplit]) -> None:
    """Check splits as wholes: their labels, and how much of those that are for evaluation the corpora hold."""
    params = bench.params
    evaluation = [split for split in splits if split.split != "train"]
    sets = [EvaluationSet(split.task.kind, split.valid, split.inspection.num_passed) for split in evaluation]
    shares: dict[str, dict[str, float]] = {split.inspection.name: {} for split in splits}
    corpora = _folders(bench.valid / "corpora")
    for corpus in corpora:
        length = params.validation.overlap_ngram
        read = partial(hash_training_documents, corpus, params.splits, length, bench.progress)
        overlaps = measure_overlap(sets, read, length, bench.workspace.memory_limit)
        for split, overlap in zip(evaluation, overlaps, strict=True):
            split.inspection.facts.setdefault("overlap", {})[corpus.name] = overlap.report()
            shares[split.inspection.name][overlap_column(corpus.name)] = overlap.share
    for split in splits:
        figures: dict[str, float | str] = {
            "columns": describe_schema([split.raw]),
            **split_figures(split.task.kind, split.inspection.facts["labels"]),
            **shares[split.inspection.name],
        }
        measured = [corpus.name for corpus in corpora] if split in evaluation else []
        split.inspection.conclude(figures, split_rules(split.task, params.validation, measured))


def _folders(parent: Path) -> list[Path]:
    folders = sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []
    if not folders:
        raise InputError(f"{parent}: no corpora there; run the stage that writes them")
    return folders


def _refuse(inspections: Sequence[Inspection]) -> None:
    """Fail, with the first failing rows, if an input as a whole must not be used."""
    refused = [inspection for inspection in inspections if inspection.problems]
    for inspection in refused:
        for failure in inspection.first_failures:
            logger.error("%s: %s", inspection.name, failure)
    if refused:
        problems = [f"{inspection.name}: {', '.join(inspection.problems)}" for inspection in refused]
        more = [f"and {len(problems) - NAMED} more inputs"] if len(problems) > NAMED else []
        advice = "mend the input, or change the limits if you know why"
        raise ValidationError("; ".join([*problems[:NAMED], *more, advice]))
