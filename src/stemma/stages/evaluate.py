"""Stage `evaluate`: scores of every variant on held-out text or pairs, probes and its tasks' test splits, with baselines."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stemma.config import OfflineTask, Params, Task
from stemma.errors import InputError, SettingsError
from stemma.families import load_family
from stemma.files import atomic_dir, read_json, verify_manifest, write_json, write_text
from stemma.leaderboard.build import write_leaderboard
from stemma.progress import Progress
from stemma.tasks.base import ANSWERS, PREDICTION_SCHEMAS
from stemma.tasks.baselines import BASELINES, CHANCE, chance_statistics
from stemma.tasks.encoded import encode_once
from stemma.tasks.language import count_sentences, measure, read_ids, read_sentences, sample_sentences
from stemma.tasks.metrics import METRICS, Statistics, per_example
from stemma.tasks.minimal_pairs import ask_pairs, measure_pairs
from stemma.tasks.plots import finetuning_curves, pretraining_curves, scores_csv
from stemma.tasks.predictor import load_predictor
from stemma.tasks.probe_answers import answers_path, read_answers, write_answers
from stemma.tasks.probe_comparisons import compare_probe
from stemma.tasks.probe_figures import measure_answers
from stemma.tasks.probes import probe_path, read_probe
from stemma.tasks.report import results_table
from stemma.tasks.storage import read_rows, split_path
from stemma.tasks.systems import Systems
from stemma.tasks.translation import measure_translations, read_parallel
from stemma.tasks.word_vectors import ask_words, spelling

__all__ = ["run"]

_BATCH = 256  # rows predicted between two reports of progress
_DIGITS = 6  # of figures in the report: other machines' sums may differ further down


def run(
    params: Params,
    progress: Progress,
    *,
    corpora: Path,
    tasks: Path,
    probes: Path,
    pretrained: Path,
    finetuned: Path,
    out: Path,
    predictions: Path,
    leaderboard: Path,
) -> None:
    """Measure everything; the report appears at `out`, every answer given at `predictions`, the table at `leaderboard`."""
    models = {name: _language_model(params, name, corpora, pretrained, progress) for name in params.variants}
    with atomic_dir(predictions) as answers:
        vectors = {name: _word_vectors(params, name, probes, pretrained, answers, progress) for name in params.variants}
        pairs = {name: _minimal_pairs(params, name, probes, pretrained, answers, progress) for name in params.variants}
        compared = {name: _compared(params, name, probes, answers) for name in params.probes}
        results = {
            name: _task(params, name, tasks / name, corpora, finetuned, answers, progress) for name in params.tasks
        }
        translations = {
            name: _translation(params, name, corpora, pretrained, answers, progress)
            for name, variant in params.variants.items()
            if load_family(variant.family).load_translator is not None
        }
    with atomic_dir(out) as folder:
        metrics = {
            "budget": {name: _budget(params, name, pretrained) for name in params.variants},
            "confidence": params.evaluation.confidence,
            "language_models": models,
            "minimal_pairs": pairs,
            "probes": compared,
            "tasks": results,
            "translation": translations,
            "word_vectors": vectors,
        }
        write_json(folder / "metrics.json", _round(metrics))
        summary = {**_summary(models, vectors, results, translations), "minimal_pairs": _overall(pairs)}
        write_json(folder / "summary.json", _round(summary))
        write_text(folder / "plots" / "scores.csv", scores_csv(_round(results)))
        write_text(
            folder / "plots" / "pretraining.csv", pretraining_curves({v: pretrained / v for v in params.variants})
        )
        curves = {(pair.task, pair.variant): finetuned / name for name, pair in params.pairs.items()}
        write_text(folder / "plots" / "finetuning.csv", finetuning_curves(curves))
        write_text(folder / "results.md", results_table(folder / "metrics.json"))
    write_leaderboard(params, leaderboard, tasks=tasks, evaluation=out, predictions=predictions)


def _language_model(params: Params, name: str, corpora: Path, pretrained: Path, progress: Progress) -> dict[str, Any]:
    """A variant's figures on the test split of its corpus: on a sample, and on all of it unless that takes too long."""
    variant = params.variants[name]
    load_scorer = load_family(variant.family).load_scorer
    if load_scorer is None:
        return {"family": variant.family, "likelihood": "none"}
    verify_manifest(pretrained / name)
    scorer = load_scorer(pretrained / name)
    test = corpora / variant.corpus / "test"
    sample = sample_sentences(test, params.evaluation.pseudo_perplexity_sentences)
    if not sample:
        raise InputError(f"{test}: no sentences; raise splits.test in params.yaml")
    progress.start(f"{name} on a sample", len(sample), "sentences")
    result: dict[str, Any] = {
        "family": variant.family,
        "likelihood": "pseudo" if scorer.pseudo else "exact",
        "sample": measure(scorer, sample, progress).as_dict(),
    }
    if not scorer.pseudo:
        progress.start(f"{name} on test text", count_sentences(test), "sentences")
        result["test"] = measure(scorer, read_sentences(test), progress).as_dict()
    return result


def _word_vectors(
    params: Params, name: str, probes: Path, pretrained: Path, answers: Path, progress: Progress
) -> dict[str, Any]:
    """What every probe finds in a variant's word vectors."""
    family, folder = params.variants[name].family, pretrained / name
    load_vectors = load_family(family).load_vectors
    if load_vectors is None:
        return {"family": family, "vectors": "none"}
    verify_manifest(folder)
    vectors, spell = load_vectors(folder), spelling(folder)
    figures = {}
    asked = {probe: settings for probe, settings in params.probes.items() if settings.kind != "minimal-pairs"}
    progress.start(f"{name} on probes", len(asked), "probes")
    for done, (probe, settings) in enumerate(asked.items(), start=1):
        columns = read_probe(probe_path(probes, probe), settings.kind)
        given = ask_words(settings.kind, columns, vectors, spell)
        write_answers(answers_path(answers, probe, name), settings.kind, given)
        figures[probe] = measure_answers(settings.kind, columns, given, params.evaluation)
        progress.update(done)
    words, size = vectors.matrix.shape
    return {"family": family, "vectors": "words", "words": words, "size": size, "probes": figures}


def _minimal_pairs(
    params: Params, name: str, probes: Path, pretrained: Path, answers: Path, progress: Progress
) -> dict[str, Any]:
    """What a variant's scorer makes of every set of minimal pairs."""
    family, folder = params.variants[name].family, pretrained / name
    load_scorer = load_family(family).load_scorer
    asked = [probe for probe, settings in params.probes.items() if settings.kind == "minimal-pairs"]
    if load_scorer is None or not asked:
        return {"family": family, "probes": {}}
    scorer, figures = load_scorer(folder), {}
    for probe in asked:
        columns = read_probe(probe_path(probes, probe), "minimal-pairs")
        given = ask_pairs(columns, scorer, progress)
        write_answers(answers_path(answers, probe, name), "minimal-pairs", given)
        figures[probe] = measure_pairs(columns, given, params.evaluation, pseudo=scorer.pseudo)
    return {"family": family, "probes": figures}


def _compared(params: Params, probe: str, probes: Path, answers: Path) -> dict[str, Any]:
    """Every two variants that answered a probe, from the answers that are stored."""
    kind = params.probes[probe].kind
    columns = read_probe(probe_path(probes, probe), kind)
    num_questions = len(next(iter(columns.values())))
    given = {
        name: read_answers(path, kind, num_questions)
        for name in params.variants
        if (path := answers_path(answers, probe, name)).is_file()
    }
    return compare_probe(kind, columns, given, params.evaluation)


def _overall(pairs: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {probe: figures["value"] for probe, figures in found["probes"].items()}
        for name, found in pairs.items()
        if found["probes"]
    }


def _translation(
    params: Params, name: str, corpora: Path, pretrained: Path, answers: Path, progress: Progress
) -> dict[str, Any]:
    """A variant's translations of the test split of its corpus."""
    variant = params.variants[name]
    load_translator = load_family(variant.family).load_translator
    assert load_translator is not None
    verify_manifest(pretrained / name)
    translator, text = load_translator(pretrained / name), read_parallel(corpora / variant.corpus)
    progress.start(f"{name} on test pairs", len(text.sources), "pairs")
    translations: list[str] = []
    for begin in range(0, len(text.sources), _BATCH):
        translations += translator.translate(text.sources[begin : begin + _BATCH])
        progress.update(len(translations))
    table = pa.table({**text._asdict(), "translations": translations})
    path = answers / "translations" / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd")
    return {"family": variant.family, **measure_translations(text, translations, params.evaluation)}


def _budget(params: Params, name: str, pretrained: Path) -> dict[str, Any]:
    """What a variant's pretraining took, as its family counted it; none where it counts no such thing."""
    counted = read_json(pretrained / name / "metrics.json")
    used = {key: counted.get(key) for key in ("tokens", "parameters", "flops")}
    return {"family": params.variants[name].family, **used}


def _task(
    params: Params, name: str, folder: Path, corpora: Path, finetuned: Path, answers: Path, progress: Progress
) -> dict[str, Any]:
    """All systems on one task's test split: baselines, then variants."""
    task = params.tasks[name]
    train, test = (_table(split_path(folder, split), task) for split in ("train", "test"))
    leaked = _leaked(params, name, test, corpora)
    pairs = {pair.variant: key for key, pair in params.pairs.items() if pair.task == (task.tuned_on or name)}
    seeds = _shared_seeds(pairs.values(), finetuned)
    runs = _baselines(params, name, train, test, answers, progress)
    for variant, pair in pairs.items():
        if variant in runs:
            raise SettingsError(f"params.yaml: variants.{variant}: a baseline has this name; choose another")
        runs[variant] = [
            per_example(task.kind, test, _read_predictions(path, task), task.labels)
            for path in _predict_seeds(pair, seeds, test, task, finetuned, answers / f"{variant}-{name}", progress)
        ]
    systems = Systems(task.metric, runs, params.evaluation)
    progress.start(f"{name}: intervals", 1, "tables")
    result = {
        "kind": task.kind,
        "metric": task.metric,
        "n": len(test),
        "order": list(runs),
        "variants": list(pairs),
        "test_documents_in_pretraining": leaked,
        "rows": systems.rows([metric for metric in METRICS[task.kind] if metric != task.metric]),
        "comparisons": systems.comparisons(list(pairs)),
    }
    progress.update(1)
    return result


def _baselines(
    params: Params, name: str, train: pa.Table, test: pa.Table, answers: Path, progress: Progress
) -> dict[str, list[Statistics]]:
    task = params.tasks[name]
    baselines = BASELINES[task.kind]
    progress.start(f"{name}: baselines", len(baselines) + 1, "baselines")
    seed = params.evaluation.bootstrap_seed
    runs = {CHANCE: [chance_statistics(task.kind, train, test, task.labels, seed=seed)]}
    progress.update(1)
    for done, (baseline, predict) in enumerate(baselines.items(), start=2):
        predictions = predict(train, _without_answers(test, task), task.labels)
        _write_predictions(answers / f"{baseline}-{name}" / "seed-0.parquet", predictions, task)
        runs[baseline] = [per_example(task.kind, test, predictions, task.labels)]
        progress.update(done)
    return runs


def _predict_seeds(
    pair: str, seeds: list[int], test: pa.Table, task: Task, finetuned: Path, answers: Path, progress: Progress
) -> Iterator[Path]:
    """Let every seed's model answer the test split; yields the files of answers, by seed."""
    progress.start(f"{pair} on test rows", len(seeds) * len(test), "rows")
    questions, features = _without_answers(test, task), None
    for number, seed in enumerate(seeds):
        predictor = load_predictor(finetuned / pair / f"seed-{seed}")
        if features is None:  # a pair's seeds have one tokenizer
            features = encode_once(questions, predictor.task, predictor.tokenizer, predictor.task.max_length)
        report = partial(_report, progress, number * len(test))
        predictions = predictor.predict(questions, features, at_once=_BATCH, report=report)
        path = answers / f"seed-{seed}.parquet"
        _write_predictions(path, predictions, task)
        yield path


def _report(progress: Progress, before: int, rows: int) -> None:
    progress.update(before + rows)


def _shared_seeds(pairs: Iterable[str], finetuned: Path) -> list[int]:
    """The seeds that there are models of; the same for all pairs of a task, or they could not be compared."""
    found: dict[str, list[int]] = {}
    for pair in pairs:
        names = (re.fullmatch(r"seed-(\d+)", path.name) for path in (finetuned / pair).glob("seed-*"))
        found[pair] = sorted(int(name[1]) for name in names if name)
        if not found[pair]:
            raise InputError(f"{finetuned / pair}: no fine-tuned models there; run `dvc repro finetune@{pair}`")
        first = next(iter(found))
        if found[pair] != found[first]:
            raise InputError(
                f"{finetuned}: {pair} has seeds {found[pair]} and {first} has {found[first]}; run `dvc repro` for both"
            )
    return next(iter(found.values()), [])


def _leaked(params: Params, name: str, test: pa.Table, corpora: Path) -> int:
    """How many documents of the test rows some variant's pretraining has seen; in an offline task there must be none."""
    documents = set(test["document"].to_pylist()) - {""}
    seen: set[str] = set()
    for corpus in sorted({variant.corpus for variant in params.variants.values()}):
        seen |= documents.intersection(read_ids(corpora / corpus / "train"))
    if seen and isinstance(params.tasks[name].source, OfflineTask):
        raise InputError(
            f"task {name!r}: {len(seen)} documents of its test rows are in the pretraining split, such as {min(seen)!r};"
            " run `dvc repro prepare clean` so that both use the same splits"
        )
    return len(seen)


def _summary(
    models: Mapping[str, Any], vectors: Mapping[str, Any], results: Mapping[str, Any], translations: Mapping[str, Any]
) -> dict[str, Any]:
    """The figures that `dvc metrics diff` compares."""
    language = {
        name: {
            key: value
            for key, value in (model.get("test") or model.get("sample") or {}).items()
            if key.endswith(("perplexity", "bits_per_byte")) and value is not None
        }
        for name, model in models.items()
    }
    probed = {
        name: {probe: figures["value"] for probe, figures in found["probes"].items() if figures["value"] is not None}
        for name, found in vectors.items()
        if "probes" in found
    }
    scores = {name: {system: row["mean"] for system, row in task["rows"].items()} for name, task in results.items()}
    translated = {name: {"bleu": found["bleu"]} for name, found in translations.items()}
    return {"language_models": language, "tasks": scores, "translation": translated, "word_vectors": probed}


def _table(path: Path, task: Task) -> pa.Table:
    table = pa.concat_tables(read_rows(path, task.kind))
    if not len(table):
        raise InputError(f"{path}: no rows")
    return table


def _without_answers(rows: pa.Table, task: Task) -> pa.Table:
    """What a system may see of test rows."""
    return rows.drop_columns([ANSWERS[task.kind]])


def _write_predictions(path: Path, predictions: pa.Table, task: Task) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(predictions.cast(PREDICTION_SCHEMAS[task.kind]), path, compression="zstd")


def _read_predictions(path: Path, task: Task) -> pa.Table:
    return pq.read_table(path, schema=PREDICTION_SCHEMAS[task.kind])


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, Mapping):
        return {key: _round(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_round(item) for item in value]
    return value
