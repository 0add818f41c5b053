"""Stage `prepare`: each task's splits, from the offline suite, original files or the Hub, and each probe, as parquet rows."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from stemma.adapters.hub import read_records
from stemma.config import OfflineProbe, OfflineTask, Params, Probe, ProbeBundled, ProbeFiles, Task, TaskFiles, TaskHub
from stemma.data.bundled import bundled_path
from stemma.data.input_files import InputFile, find_inputs
from stemma.data.source_files import find_source_files
from stemma.data.splits import SPLITS, Split
from stemma.errors import SettingsError
from stemma.files import atomic_dir, write_json
from stemma.progress import Progress
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.blimp import PairCount
from stemma.tasks.known import layout_of, official_rows
from stemma.tasks.loaders import FileCount, check_format, check_splits, complete_rows, count_rows, labelled, read_split
from stemma.tasks.offline import make_task
from stemma.tasks.offline_probes import make_probe
from stemma.tasks.probes import Row, probe_path, read_questions, write_probe
from stemma.tasks.records import convert_record
from stemma.tasks.storage import COUNTS_FILE, PlaceFile, SplitFile, places_path, row_groups, split_path

__all__ = ["run"]

logger = logging.getLogger(__name__)

Counts = Mapping[Split, list[FileCount]]


def run(params: Params, progress: Progress, *, corpora: Path, external: Path, out: Path, probes: Path) -> None:
    """Write every task's splits into its folder of `out`, and every probe's questions into a file of `probes`."""
    for name, task in params.tasks.items():
        check_splits(name, _split_names(task))
    with atomic_dir(out) as folder:
        for name, task in sorted(params.tasks.items()):
            counts: Counts = {split: [] for split in SPLITS}
            try:
                tables = _tables(task, params, corpora, external, counts)
                _prepare(name, task, tables, folder / name, progress)
                _report(counts, folder / name)
            except SettingsError as error:
                raise SettingsError(f"params.yaml: tasks.{name}.source: {error}") from None
    with atomic_dir(probes) as folder:
        for name, probe in sorted(params.probes.items()):
            try:
                _prepare_probe(name, probe, params, external, folder, progress)
            except SettingsError as error:
                raise SettingsError(f"params.yaml: probes.{name}.source: {error}") from None


def _prepare(
    name: str, task: Task, tables: Mapping[Split, Iterable[pa.Table]], folder: Path, progress: Progress
) -> None:
    for split in SPLITS:
        progress.start(f"{name} {split}", None, "rows")
        with SplitFile(split_path(folder, split), task.kind) as file, PlaceFile(places_path(folder, split)) as places:
            for table in tables[split]:
                file.write(places.take(table))
                progress.update(file.num_rows)


def _report(counts: Counts, folder: Path) -> None:
    """Say what each file held, for `validate` to tell, where rows come from files."""
    if any(counts.values()):
        said = {
            split: [{**asdict(count), "warnings": count.warnings()} for count in of_split]
            for split, of_split in counts.items()
        }
        write_json(folder / COUNTS_FILE, said)


def _prepare_probe(name: str, probe: Probe, params: Params, external: Path, folder: Path, progress: Progress) -> None:
    """Write a probe's questions; a public set that is not whole is a warning, for its score is no longer the set's."""
    count = PairCount()
    progress.start(name, None, "questions")
    progress.update(write_probe(probe_path(folder, name), probe.kind, _questions(probe, params, external, count)))
    for warning in count.warnings():
        logger.warning("probes/%s: %s", name, warning)


def _questions(probe: Probe, params: Params, external: Path, count: PairCount) -> Iterable[Row]:
    match probe.source:
        case OfflineProbe() as source:
            return make_probe(source.recipe, probe.kind, source.questions, params.seed)
        case ProbeBundled() as source:
            return read_questions([InputFile(bundled_path(source.name), source.name)], probe.kind)
        case ProbeFiles() as source:
            return read_questions(find_source_files(source, external), probe.kind, source.max_pairs, count)


def _split_names(task: Task) -> Iterable[str]:
    match task.source:
        case OfflineTask(examples=names) | TaskFiles(files=names) | TaskHub(splits=names):
            return names
    raise AssertionError(task.source)


def _tables(
    task: Task, params: Params, corpora: Path, external: Path, counts: Counts
) -> Mapping[Split, Iterable[pa.Table]]:
    match task.source:
        case OfflineTask() as source:
            return _offline_tables(task, source, params, corpora / source.corpus)
        case TaskFiles() as source:
            files = {split: find_inputs(source.files[split], source.sha256, external) for split in SPLITS}
            return {
                split: row_groups(read_split(task, split, files, params.splits, counts[split]), task.kind)
                for split in SPLITS
            }
        case TaskHub() as source:
            check_format(task, source.format)
            return {split: row_groups(_hub_rows(task, source, split, counts[split]), task.kind) for split in SPLITS}


def _offline_tables(
    task: Task, source: OfflineTask, params: Params, corpus: Path
) -> Mapping[Split, Iterable[pa.Table]]:
    examples = {str(split): count for split, count in source.examples.items()}
    made = make_task(source.recipe, corpus, source.sources, params.splits, examples, params.seed)
    if not all(table.schema.equals(ROW_SCHEMAS[task.kind]) for table in made.values()):
        raise SettingsError(f"recipe {source.recipe!r} makes no {task.kind} task")
    return {split: [made[split]] for split in SPLITS}


def _hub_rows(task: Task, source: TaskHub, split: Split, counts: list[FileCount]) -> Iterator[dict[str, object]]:
    count = FileCount(
        file=f"{source.dataset} {source.splits[split]}", official=official_rows(source.format, source.splits[split])
    )
    records = read_records(source.dataset, source.config, source.splits[split], source.revision)
    layout = layout_of(source)
    rows = labelled(
        (convert_record(record, where, task.kind, layout) for where, record in records), layout, count.leave_out
    )
    yield from complete_rows(count_rows(rows, count), split, count.file, [count])
    counts.append(count)
