"""The results as people read them: a markdown table, a table for the terminal, and a place in a document for the former."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stemma.errors import InputError
from stemma.files import read_json, write_text
from stemma.tasks.second_metrics import tell_second

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["console_tables", "results_table", "write_results"]

_NONE = "–"


def results_table(metrics_path: Path) -> str:
    """The results as markdown: systems by tasks, differences between variants, and a table for everything else."""
    metrics = read_json(metrics_path)
    parts = [_markdown(*_task_cells(metrics["tasks"])), _notes(metrics)] if metrics["tasks"] else []
    differences = _difference_lines(metrics["tasks"])
    if differences:
        parts.append("\n".join(differences))
    if metrics["language_models"]:
        parts += [_markdown(*_language_cells(metrics["language_models"])), _LANGUAGE_NOTES]
    if _probe_names(metrics):
        parts += [_markdown(*_vector_cells(metrics)), _VECTOR_NOTES]
    for probe in _pair_probes(metrics):
        parts += [_markdown(*_pair_cells(metrics, probe)), _PAIR_NOTES]
    if metrics.get("translation"):
        parts += [_markdown(*_translation_cells(metrics["translation"])), _translation_notes(metrics["translation"])]
    if metrics.get("budget"):
        parts += [_markdown(*_budget_cells(metrics["budget"])), _BUDGET_NOTES]
    return "\n\n".join(parts) + "\n"


def console_tables(metrics_path: Path, seconds: Mapping[str, float] | None = None) -> "list[Table]":
    """The results as short tables for a terminal; with the seconds of variants' trainings, if they are given."""
    from rich.table import Table

    metrics = read_json(metrics_path)
    tables = []
    for title, cells in (
        ("Tasks: mean over seeds, and interval", _task_cells(metrics["tasks"])),
        ("Language models on test text", _language_cells(metrics["language_models"])),
        ("Word vectors: score, and share of the questions that it is of", _vector_cells(metrics)),
        *((f"Minimal pairs: {probe}", _pair_cells(metrics, probe)) for probe in _pair_probes(metrics)),
        ("Translations of test pairs", _translation_cells(metrics.get("translation", {}))),
        ("What pretraining took", _budget_cells(metrics.get("budget", {}), seconds)),
    ):
        header, rows = cells
        if not rows:
            continue
        table = Table(title=title, title_justify="left")
        for name in header:
            table.add_column(name, no_wrap=True)
        for row in rows:
            table.add_row(*row)
        tables.append(table)
    return tables


def write_results(metrics_path: Path, document: Path) -> None:
    """Put the results between the lines `<!-- results -->` and `<!-- /results -->` of a document."""
    if not document.is_file():
        raise InputError(f"{document}: no such file")
    text = document.read_text(encoding="utf-8")
    pattern = re.compile(r"(?<=<!-- results -->\n).*?(?=<!-- /results -->)", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise InputError(f"{document}: needs one pair of lines '<!-- results -->' and '<!-- /results -->'")
    table = f"\n{results_table(metrics_path)}\n"
    write_text(document, pattern.sub(lambda _: table, text))


def _task_cells(tasks: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """A column a task, a row a system; baselines first, in the order in which tasks name them."""
    systems = list(dict.fromkeys(system for task in tasks.values() for system in task["order"]))
    rows = []
    for system in systems:
        cells = [(task["metric"], task["rows"].get(system)) for task in tasks.values()]
        rows.append([system, *(_score(cell, metric) if cell else _NONE for metric, cell in cells)])
    return ["", *(f"{name} ({task['metric'].replace('_', ' ')})" for name, task in tasks.items())], rows


def _score(row: Mapping[str, Any], metric: str) -> str:
    beside = tell_second(metric, row.get("also", {}))
    return f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" + (f" ({beside})" if beside else "")


def _notes(metrics: Mapping[str, Any]) -> str:
    tasks, share = metrics["tasks"], f"{100 * metrics['confidence']:.4g} %"
    counts = ", ".join(f"{name} {task['n']:,}" for name, task in tasks.items())
    seeds = max((len(row["seeds"]) for task in tasks.values() for row in task["rows"].values()), default=1)
    leaked = sum(task["test_documents_in_pretraining"] for task in tasks.values())
    return (
        f"Test examples: {counts}. Means over {seeds} seeds with {share} bootstrap intervals (seeds, then examples). "
        f"Test documents in the pretraining split: {leaked}."
    )


def _difference_lines(tasks: Mapping[str, Any]) -> list[str]:
    """A line for each two variants on each task."""
    return [
        f"- {name}: {one['first']} − {one['second']} = {one['difference']:+.3f} [{one['low']:+.3f}, {one['high']:+.3f}]"
        f", p = {one['p_value']:.3f}{'' if one['excludes_zero'] else ' (no clear difference)'}"
        for name, task in tasks.items()
        for one in task["comparisons"]
        if {one["first"], one["second"]} <= set(task["variants"])
    ]


_LANGUAGE_NOTES = (
    "Perplexity is per token of the model's own tokenizer; bits per byte compare across tokenizers. A pseudo-likelihood "
    "(each token given all others, marked ~) is not a likelihood and compares with its own kind only; it is measured on a "
    "sample of the sentences, and the columns 'on the sample' hold the same sentences for every model."
)


def _language_cells(models: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    header = ["", "perplexity", "bits per byte", "perplexity on the sample", "bits per byte on the sample", "unknown"]
    rows = []
    for name, model in models.items():
        if model["likelihood"] == "none":
            rows.append([name, *[_NONE] * 5])
            continue
        test, sample = model.get("test"), model["sample"]
        rows.append([name, *_figures(test), *_figures(sample), f"{(test or sample)['unknown_rate']:.1%}"])
    return header, rows


def _figures(part: Mapping[str, Any] | None) -> list[str]:
    if part is None:
        return [_NONE, _NONE]
    mark = "~" if "pseudo_perplexity" in part else ""
    prefix = "pseudo_" if mark else ""
    perplexity, bits = part[f"{prefix}perplexity"], part[f"{prefix}bits_per_byte"]
    if perplexity is None:
        return ["∞", "∞"]
    return [f"{mark}{perplexity:,.1f}", f"{mark}{bits:.3f}"]


_VECTOR_NOTES = (
    "Word vectors as they are, trained for none of this. Similarity: Spearman's correlation of cosines with the judgements, "
    "with an interval over pairs. Analogies: share of right answers by 3CosAdd among all words but the three asked, with an "
    "interval over the pairs of words that questions are made of. In parentheses the share of questions whose words have "
    "vectors, which alone are scored, and for analogies the score when the others count as wrong."
)


def _probe_names(metrics: Mapping[str, Any]) -> list[str]:
    found = (variant.get("probes", {}) for variant in metrics.get("word_vectors", {}).values())
    return list(dict.fromkeys(name for probes in found for name in probes))


def _vector_cells(metrics: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """A column a probe, a row a variant; those without vectors are named too, unless no variant has any."""
    names = _probe_names(metrics)
    variants = metrics["word_vectors"] if names else {}
    kinds = {name: one["metric"] for variant in variants.values() for name, one in variant.get("probes", {}).items()}
    rows = [
        [name, *(_probe_score(variant["probes"][probe]) if "probes" in variant else "no vectors" for probe in names)]
        for name, variant in variants.items()
    ]
    return ["", *(f"{name} ({kinds[name]})" for name in names)], rows


def _probe_score(figures: Mapping[str, Any]) -> str:
    value, coverage = figures["value"], f"{figures['coverage']:.0%}"
    if value is None:
        return f"{_NONE} ({coverage})"
    of_all = f"; {figures['of_all']:.3f}" if "of_all" in figures else ""
    return f"{value:.3f}{_interval(figures)} ({coverage}{of_all})"


def _interval(figures: Mapping[str, Any]) -> str:
    return "" if figures.get("low") is None else f" [{figures['low']:.3f}, {figures['high']:.3f}]"


_PAIR_NOTES = (
    "Minimal pairs, zero-shot: the share of pairs whose right sentence the model finds likelier, at temperature 1; a tie counts "
    "one half, so chance is 0.5. The mean over paradigms, with an interval over paradigms; then the mean of each phenomenon. A "
    "pseudo-likelihood is marked ~. A model that gives no sentence a probability can't be asked."
)


def _pair_probes(metrics: Mapping[str, Any]) -> list[str]:
    return list(
        dict.fromkeys(probe for variant in metrics.get("minimal_pairs", {}).values() for probe in variant["probes"])
    )


def _pair_cells(metrics: Mapping[str, Any], probe: str) -> tuple[list[str], list[list[str]]]:
    """A row a variant: all paradigms, ties, and a column a phenomenon."""
    found = {name: variant["probes"].get(probe) for name, variant in metrics["minimal_pairs"].items()}
    phenomena = list(dict.fromkeys(name for one in found.values() if one for name in one["phenomena"]))
    rows = [
        [name, *(_pair_row(one, phenomena) if one else ["no scorer", *[_NONE] * (1 + len(phenomena))])]
        for name, one in found.items()
    ]
    return ["", f"{probe} (accuracy)", "ties", *phenomena], rows


def _pair_row(figures: Mapping[str, Any], phenomena: Sequence[str]) -> list[str]:
    mark = "~" if figures["likelihood"] == "pseudo" else ""
    parts = [f"{figures['phenomena'][name]['value']:.3f}" for name in phenomena]
    return [f"{mark}{figures['value']:.3f}{_interval(figures)}", f"{figures['ties']:.1%}", *parts]


def _translation_cells(translations: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    rows = [
        [
            name,
            f"{found['bleu']:.1f} [{found['low']:.1f}, {found['high']:.1f}]",
            f"{found['sources_left']:.1f}",
            f"{found['pairs']:,}",
        ]
        for name, found in translations.items()
    ]
    return ["", "BLEU", "BLEU of the sources as they are", "pairs"], rows


def _translation_notes(translations: Mapping[str, Any]) -> str:
    signatures = sorted({found["signature"] for found in translations.values()})
    return (
        "Translations of each corpus's test pairs, by beam search, with an interval over pairs; what leaving the sources as they"
        f" are scores stands beside. By sacrebleu: `{'`, `'.join(signatures)}`."
    )


_BUDGET_NOTES = (
    "What pretraining took: tokens gone through, repeats counted; what the model keeps (weights, or n-grams with their "
    "counts); and an estimate of floating-point operations, by the formula in the family's code. A family that counts "
    "instead of multiplying has none."
)


def _budget_cells(
    budget: Mapping[str, Any], seconds: Mapping[str, float] | None = None
) -> tuple[list[str], list[list[str]]]:
    rows = [
        [name, used["family"], *(_amount(used[key]) for key in ("tokens", "parameters", "flops"))]
        for name, used in budget.items()
    ]
    header = ["", "family", "tokens", "parameters", "FLOPs"]
    if seconds is None:
        return header, rows
    return [*header, "seconds"], [[*row, _amount(seconds.get(row[0]))] for row in rows]


def _amount(value: float | None) -> str:
    if value is None:
        return _NONE
    return f"{value:,.0f}" if value < 1e9 else f"{value:.2e}"


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
