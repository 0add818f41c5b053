"""Published figures and effects: typed in right, and found for the tasks and changes that they are of."""

import re
from pathlib import Path
from typing import Any

import pytest

from stemma.config import Params, Probe, ProbeBundled, load_params
from stemma.leaderboard.benchmarks import TITLES, benchmark_of
from stemma.leaderboard.effects import EFFECTS, PERPLEXITY, Effect, effect_of, other_budget
from stemma.leaderboard.published import PUBLISHED
from tests import toy_board

ROOT = Path(__file__).resolve().parents[3]
METRICS = {"accuracy", "matthews", "f1", "em", "entity_f1", "spearman", "pearson", "unsaid"}
GPT = ("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte")


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row.system}, {row.source}, {row.split}")
def test_a_row_has_a_source_a_protocol_and_figures_in_points(row):
    assert row.source
    assert row.protocol
    assert row.figures
    for benchmark, figures in row.figures.items():
        assert benchmark in TITLES
        assert figures.keys() <= METRICS
        assert all(0 <= value <= 100 for value in figures.values())


def test_no_row_stands_there_twice():
    keys = [(row.system, row.source, row.split) for row in PUBLISHED]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("source", ["Devlin et al. 2019, Table 1", "Geiping and Goldstein 2022"])
def test_the_printed_average_is_that_of_the_nine_figures(source):
    """Which finds a figure that was typed wrong."""
    rows = [row for row in PUBLISHED if row.source == source]
    assert rows
    for row in rows:
        values = [next(iter(figures.values())) for figures in row.figures.values()]
        assert len(values) == 9
        assert sum(values) / 9 == pytest.approx(float(row.average.split()[0]), abs=0.11)


def test_the_miniatures_average_counts_wnli():
    """Both metrics of a task are one figure, as are both sets of MNLI, and WNLI's is the majority's 62.3 on that server."""
    rows = [row for row in PUBLISHED if row.source.startswith("Turc et al. 2019")]
    assert len(rows) == 4
    for row in rows:
        means = {name: sum(figures.values()) / len(figures) for name, figures in row.figures.items()}
        means["mnli"] = (means["mnli"] + means.pop("mnlimm")) / 2
        assert row.average.endswith("with WNLI")
        assert (sum(means.values()) + 62.3) / 9 == pytest.approx(float(row.average.split()[0]), abs=0.11)


def test_the_analogies_accuracy_is_that_of_both_kinds_of_questions():
    (row,) = (row for row in PUBLISHED if "googleanalogies" in row.figures)
    counts = [int(number.replace(",", "")) for number in re.findall(r"(\d,\d{3}) of", row.protocol)]
    right, semantic, syntactic = counts
    assert right == semantic + syntactic
    assert row.figures["googleanalogies"]["accuracy"] == pytest.approx(100 * right / (4103 + 8165), abs=0.005)
    assert "38.97 %" in row.protocol
    assert [round(100 * part, 2) for part in (semantic / 4103, syntactic / 8165)] == [38.97, 41.1]


def test_a_benchmark_is_known_however_it_is_spelt():
    params = toy_board.params()
    spelt = {"cola": "cola", "SST-2": "sst2", "mnli_mismatched": "mnlimm", "squad-1.1": "squad", "squad-v2": "squad2"}
    for name, benchmark in [*spelt.items(), ("squadshifts", None), ("emotion", None), ("conll2003", "conll2003")]:
        renamed = params.model_copy(update={"tasks": {name: params.tasks["cola"]}})
        assert benchmark_of(renamed, name) == benchmark
    own = params.model_copy(update={"tasks": {"cola": params.tasks["word-order"]}})
    assert benchmark_of(own, "cola") is None  # whatever it is called
    assert benchmark_of(params, "wordsim353") == "wordsim353"
    assert benchmark_of(params, "story-plurals") is None
    analogies = Probe(kind="analogy", source=ProbeBundled(kind="bundled", name="google-analogies"))
    assert benchmark_of(params.model_copy(update={"probes": {"words": analogies}}), "words") == "googleanalogies"


KNOWN_FILES: list[tuple[str, str, str, str | None]] = [  # a task's name, its format, its test file, and what it is
    ("sentiment", "sst-2", "SST-2/dev.tsv.gz", "sst2"),
    ("squadshifts", "squad-1.1", "new_wiki_v1.0.json.gz", None),
    ("squad", "squad-1.1", "questions.json", "squad"),
    ("cola", "rte", "RTE/dev.tsv", "rte"),
    ("cola", "rte", "own.tsv", None),
    ("inference", "mnli", "dev_mismatched.tsv", "mnlimm"),
    ("inference", "mnli", "dev_matched.tsv", "mnli"),
    ("ax", "ax", "diagnostic.tsv", None),
]


@pytest.mark.parametrize(("name", "format_name", "file", "benchmark"), KNOWN_FILES)
def test_a_known_format_says_which_benchmark_its_files_are_of(name, format_name, file, benchmark):
    params = toy_board.params()
    source = params.tasks["cola"].source.model_copy(update={"format": format_name, "files": {"test": [file]}})
    task = params.tasks["cola"].model_copy(update={"source": source})
    assert benchmark_of(params.model_copy(update={"tasks": {name: task}}), name) == benchmark


def settings(effect: Effect) -> tuple[dict[str, Any], dict[str, Any]]:
    families = load_params(ROOT / "params.yaml").families
    base = {**families[effect.instead_of or effect.family], **effect.before}
    return base, {**(families[effect.family] if effect.instead_of else base), **effect.after}


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: f"{effect.family}: {effect.what}")
def test_an_effect_is_found_by_its_change_alone(effect: Effect):
    (before, after), base = settings(effect), effect.instead_of or effect.family
    assert effect_of(base, before, effect.family, after) is effect
    assert effect_of(effect.family, after, base, before) is None
    assert effect_of(base, before, base, before) is None
    assert effect_of("elmo", before, "elmo", after) is None
    other = next(key for key in before if key not in effect.after and (key in effect.before or not effect.instead_of))
    changed = {other: "changed"}
    assert effect_of(base, before | changed, effect.family, after) is None
    assert effect.instead_of or effect_of(base, before, effect.family, after | changed) is None


def recognised(profile: str) -> tuple[Params, dict[tuple[str, str], str]]:
    params = load_params(ROOT / "profiles" / f"{profile}.yaml")
    return params, {
        (base, variant): effect.what
        for base in params.variants
        for variant in params.variants
        if (
            effect := effect_of(
                params.variants[base].family,
                params.family_settings(base),
                params.variants[variant].family,
                params.family_settings(variant),
            )
        )
    }


def test_the_ablations_of_the_profile_are_recognised():
    params, found = recognised("ablations")
    bert = {variant for base, variant in found if base == "bert"}
    of_bert = {name for name, variant in params.variants.items() if variant.family == "bert"}
    others = {"bert-left-to-right-bilstm", "bert-four-layers", "bert-four-layers-features"}
    assert bert == of_bert - {"bert"} - others
    told = "a frozen encoder with a BiLSTM on its last four layers side by side"
    assert found["bert-four-layers", "bert-four-layers-features"] == told
    gpt = {variant for base, variant in found if base == "gpt"}
    assert gpt == {"gpt-untrained", "gpt-no-auxiliary", "gpt-lstm"}
    assert found["bert-no-nsp", "bert-left-to-right"] == "left to right instead of both ways"
    assert found["bert", "bert-left-to-right"] == "left to right, and no next-sentence prediction"
    assert ("bert-left-to-right", "bert-left-to-right-bilstm") in found
    assert len(found) == len(bert) + len(gpt) + 3


def test_an_ablation_of_an_equal_budget_is_recognised_and_its_steps_are_told():
    params, found = recognised("lineage")
    assert found == {
        ("bert", "bert-untrained"): "no pretraining",
        ("bert", "bert-no-nsp"): "no next-sentence prediction",
        ("bert", "bert-left-to-right"): "left to right, and no next-sentence prediction",
        ("bert-no-nsp", "bert-left-to-right"): "left to right instead of both ways",
        ("ngram", "nnlm"): "a network instead of counted sequences of five words",
    }
    base, other, none = (params.family_settings(name) for name in ("bert", "bert-no-nsp", "bert-untrained"))
    told = f"as under an equal CPU budget: {other['steps']:,} against {base['steps']:,} steps"
    assert other_budget(base, other) == told
    assert other_budget(base, base) == other_budget(base, none) == ""


def test_a_change_with_no_training_at_all_is_another_change():
    before, after = settings(next(one for one in EFFECTS if one.what == "no next-sentence prediction"))
    assert effect_of("bert", before, "bert", after | {"steps": before["steps"] + 1}) is not None
    assert effect_of("bert", before, "bert", after | {"steps": 0}) is None
    assert effect_of("bert", before | {"steps": 0}, "bert", after) is None


def differences(names: tuple[str, ...], after: str, before: str) -> dict[str, float]:
    pairs = zip(after.split(), before.split(), strict=True)
    return {name: round(float(one) - float(other), 1) for name, (one, other) in zip(names, pairs, strict=True)}


FULL = "45.4 91.3 82.3 82.0 70.3 81.8 88.1 56.0"
FIVE = ("mnli", "qnli", "mrpc", "sst2", "squad")
BASE, NO_NSP = "84.4 88.4 86.7 92.7 88.5", "83.9 84.9 86.5 92.6 87.9"
LEFT, BILSTM = "82.1 84.3 77.5 92.1 77.8", "82.1 84.1 75.7 91.6 84.9"
TABLES = [
    ("gpt", "no pretraining", GPT, "18.9 84.0 79.4 30.9 65.5 75.7 71.2 53.8", FULL),
    ("gpt", "no auxiliary language model", GPT, "47.9 92.0 84.9 83.2 69.8 81.1 86.9 54.4", FULL),
    ("gpt", "an LSTM in the Transformer's place", GPT, "30.3 90.5 83.2 71.8 68.1 73.7 81.1 54.6", FULL),
    ("bert", "no next-sentence prediction", FIVE, NO_NSP, BASE),
    ("bert", "left to right instead of both ways", FIVE, LEFT, NO_NSP),
    ("bert", "left to right, and no next-sentence prediction", FIVE, LEFT, BASE),
    ("bert", "a BiLSTM on the left-to-right model", FIVE, BILSTM, LEFT),
]


@pytest.mark.parametrize(("family", "what", "names", "after", "before"), TABLES, ids=lambda value: str(value)[:30])
def test_sizes_are_the_differences_of_the_papers_rows(family, what, names, after, before):
    effect = next(one for one in EFFECTS if (one.family, one.what) == (family, what))
    assert effect.sizes == pytest.approx(differences(names, after, before))


@pytest.mark.parametrize(
    ("features", "published"), [("last", 94.9), ("sum-last-four", 95.9), ("concat-last-four", 96.1)]
)
def test_features_are_held_against_the_tuned_model_on_dev(features, published):
    (tuned,) = (
        row.figures["conll2003"]["entity_f1"]
        for row in PUBLISHED
        if (row.system, row.split) == ("BERT BASE", "dev") and "conll2003" in row.figures
    )
    (effect,) = (one for one in EFFECTS if one.after.get("features") == features)
    assert effect.sizes == {"conll2003": pytest.approx(published - tuned)}


def test_no_pretraining_is_the_difference_of_two_published_rows():
    rows = {row.system: row.figures for row in PUBLISHED if row.source == "Geiping and Goldstein 2022"}
    effect = next(one for one in EFFECTS if (one.family, one.what) == ("bert", "no pretraining"))
    for benchmark, size in effect.sizes.items():
        full, none = (
            next(iter(rows[system][benchmark].values())) for system in ("BERT BASE, full", "BERT BASE, no pretraining")
        )
        assert size == pytest.approx(none - full, abs=0.01)


def test_only_the_smoothing_of_laplace_has_no_size():
    unsized = [effect.what for effect in EFFECTS if None in effect.sizes.values()]
    assert unsized == ["Laplace's smoothing instead of Kneser and Ney's"]
    assert all(effect.sign for effect in EFFECTS if effect.sizes.get(PERPLEXITY, 0) is None)


def test_ngrams_are_the_difference_of_the_notebooks_rows():
    (effect,) = (one for one in EFFECTS if one.family == "fasttext")
    with_them, without = (34.92, 66.01), (40.89, 40.60)  # semantic, syntactic
    assert list(effect.sizes.values()) == pytest.approx([a - b for a, b in zip(with_them, without, strict=True)])


def test_both_networks_are_held_against_five_words_of_kneser_and_ney():
    (effect,) = (one for one in EFFECTS if one.family == "nnlm")
    assert [effect.sizes[PERPLEXITY], effect.again] == pytest.approx([140.2 - 141.2, 141.8 - 141.2])
