"""The table as data, and two of its rows held against each other."""

from itertools import product
from typing import Any

import pytest

from stemma.config import Params, Probe, ProbeFiles, TaskHub, parse_settings
from stemma.errors import InputError
from stemma.leaderboard.cells import score
from stemma.leaderboard.compare import compare_rows
from stemma.leaderboard.markdown import markdown
from stemma.leaderboard.own_rows import own_rows
from stemma.leaderboard.page import page
from stemma.leaderboard.table import build_table
from stemma.statistics import holm
from tests import toy_board


@pytest.fixture(scope="module")
def table():
    return toy_board.table()


def rows(table: dict[str, Any]) -> dict[str, Any]:
    return {row["name"]: row for row in table["rows"]}


def test_columns_are_tasks_and_probes_with_metric_and_n(table):
    told = [(one["name"], one["of"], one["metric"], one["n"], one["benchmark"]) for one in table["columns"]]
    assert told == [
        ("word-order", "task", "matthews", 1043, None),
        ("cola", "task", "matthews", 1043, "cola"),
        ("wordsim353", "probe", "spearman", 353, "wordsim353"),
        ("story-plurals", "probe", "accuracy", 10, None),
        ("tongues translated", "translation", "bleu", 200, None),
    ]


def test_every_variant_has_a_row_after_the_baselines(table):
    assert list(rows(table)) == ["chance", "majority", "bag-of-words", *toy_board.VARIANTS]
    cell = rows(table)["bert"]["cells"]["cola"]
    assert (cell["mean"], cell["low"], cell["high"], cell["n"], cell["seeds"]) == (0.5, 0.48, 0.52, 1043, [0.5, 0.5])
    assert rows(table)["glove"]["cells"]["wordsim353"]["coverage"] == 0.85
    assert rows(table)["ngram"]["cells"] == {}


def test_a_row_of_word_vectors_says_what_network_tasks_put_on_them(table):
    assert {row["head"] for row in table["rows"]} == {""}  # no task has an answer of them
    params, metrics = toy_board.params(), toy_board.metrics()
    scores = metrics["tasks"]["cola"]["rows"]
    metrics["tasks"]["cola"] = {**metrics["tasks"]["cola"], "rows": {**scores, "glove": scores["bert"]}}
    heads = {name: row["head"] for name, row in rows(build_table(params, metrics, {})).items()}
    assert {name: head for name, head in heads.items() if head} == {"glove": "CBoW head, frozen vectors"}
    tuned = params.variants["glove"].model_copy(update={"overrides": {"task_network": "bilstm", "tune": "whole"}})
    changed = params.model_copy(update={"variants": {**params.variants, "glove": tuned}})
    board = build_table(changed, metrics, {}) | {"samples": {}}
    assert rows(board)["glove"]["head"] == "BiLSTM + attention head, tuned vectors"
    assert "| glove<br><small>BiLSTM + attention head, tuned vectors</small> |" in markdown(board)
    assert '<small class="said">BiLSTM + attention head, tuned vectors</small>' in page(board, toy_board.CURVES)


def test_degenerate_seeds_are_counted(table):
    counts = {name: row["cells"]["cola"]["degenerate"] for name, row in rows(table).items() if "cola" in row["cells"]}
    assert counts == {"bert-untrained": 2, "bert-no-nsp": 1} | dict.fromkeys(
        ("chance", "majority", "bag-of-words", "bert"), 0
    )


def test_every_variant_and_column_has_a_figure_or_a_reason(table):
    missing = {(one["variant"], one["column"]): one["reason"] for one in table["missing"]}
    for variant, column in product(toy_board.VARIANTS, [one["name"] for one in table["columns"]]):
        assert (column in rows(table)[variant]["cells"]) != ((variant, column) in missing)
    assert missing["transformer", "cola"] == "it has no encoder to fine-tune"
    assert missing["bert", "wordsim353"] == "it has no vectors of words by themselves"
    assert missing["bert", "tongues translated"] == "it does not translate"
    assert missing["glove", "story-plurals"] == "too few of the words have vectors"


def test_a_pair_that_could_run_but_is_not_asked_for_says_so():
    params, metrics = toy_board.params(), toy_board.metrics()
    del metrics["tasks"]["cola"]["rows"]["bert-no-nsp"]
    metrics["tasks"]["cola"] = {**metrics["tasks"]["cola"], "comparisons": []}
    found = build_table(params, metrics, {})["missing"]
    reason = "not among the pairs of params.yaml"
    assert {"variant": "bert-no-nsp", "column": "cola", "reason": reason} in found


def test_a_transfer_has_a_row_of_its_own_and_reasons_for_what_it_lacks():
    values, metrics = toy_board.params().model_dump(), toy_board.metrics()
    values["transfers"] = {"bert-via-cola": {"pair": "bert-cola", "variant": "bert", "family": "bert"}}
    values["pairs"]["bert-via-cola-word-order"] = {"variant": "bert-via-cola", "family": "bert", "task": "word-order"}
    task = metrics["tasks"]["word-order"]
    metrics["tasks"]["word-order"] = {**task, "rows": {**task["rows"], "bert-via-cola": task["rows"]["bert"]}}
    found = build_table(Params(**values), metrics, {})
    assert list(rows(found))[-1] == "bert-via-cola"
    assert rows(found)["bert-via-cola"]["family"] == "bert"
    assert list(rows(found)["bert-via-cola"]["cells"]) == ["word-order"]
    reasons = {one["column"]: one["reason"] for one in found["missing"] if one["variant"] == "bert-via-cola"}
    assert reasons == {
        "cola": "not among the pairs of params.yaml",
        "wordsim353": "it has no vectors of words by themselves",
        "story-plurals": "it has no vectors of words by themselves",
        "tongues translated": "it does not translate",
    }


def test_published_rows_stand_there_only_for_a_column_of_that_name(table):
    assert table["published"]
    columns = {name for row in table["published"] for name in row["cells"]}
    assert columns == {"cola", "wordsim353"}
    bert = next(row for row in table["published"] if (row["name"], row["split"]) == ("BERT BASE", "test"))
    assert bert["cells"]["cola"] == {
        "value": 0.521,
        "metric": "matthews",
        "differs": ["test set, ours the file c"],
    }
    assert "without WNLI" in bert["average"]


SOURCES: list[tuple[dict[str, Any], str, str]] = [  # files, and how the rows of a dev and of a test figure differ
    ({"test": ["$STEMMA_DATA/glue/CoLA/dev.tsv.gz"]}, "", "test set, ours dev"),
    ({"test": ["eng.testa"]}, "", "test set, ours dev"),
    ({"test": ["original/sts-test.tsv.gz"]}, "dev set, ours test", ""),
    (
        {"train": ["all.tsv"], "test": ["all.tsv"]},
        "dev set, ours rows held out here",
        "test set, ours rows held out here",
    ),
    ({"test": ["a.tsv", "b.tsv"]}, "dev set, ours several files", "test set, ours several files"),
    ({"test": ["evaluated.tsv"]}, "dev set, ours the file evaluated.tsv", "test set, ours the file evaluated.tsv"),
]


@pytest.mark.parametrize(("files", "dev", "test"), SOURCES, ids=lambda value: str(value)[:30])
def test_published_rows_say_truly_what_rows_ours_are(files, dev, test):
    params, metrics = toy_board.params(), toy_board.metrics()
    source = params.tasks["cola"].source.model_copy(update={"files": files})
    tasks = {"cola": params.tasks["cola"].model_copy(update={"source": source})}
    metrics["tasks"] = {"cola": metrics["tasks"]["cola"]}
    published = build_table(params.model_copy(update={"tasks": tasks, "pairs": {}}), metrics, {})["published"]
    found = {row["split"]: row["cells"]["cola"]["differs"] for row in published if "cola" in row["cells"]}
    assert found == {split: [what] if what else [] for split, what in (("dev", dev), ("test", test))}


def test_a_part_of_a_file_and_of_the_hub_is_said_too():
    params = toy_board.params()
    parts = {"files": {"test": ["dev-v1.1.json"]}, "max_examples": {"test": 2000}}
    source = params.tasks["cola"].source.model_copy(update=parts)
    squad = params.tasks["cola"].model_copy(update={"source": source})
    hub = TaskHub(kind="hub", dataset="glue", revision="1", splits={"test": "validation_mismatched"}, format="mnli")
    mnli = params.tasks["cola"].model_copy(update={"source": hub})
    changed = params.model_copy(update={"tasks": {"squad": squad, "other": mnli}})
    assert own_rows(changed, "squad", 2000).differ("dev") == "dev set, ours 2,000 rows of dev"
    assert own_rows(changed, "other", 9832).differ("dev") == ""
    assert own_rows(changed, "wordsim353", 353).differ("test") == ""


def test_a_note_stands_in_its_column():
    params = toy_board.params()
    noted = params.evaluation.model_copy(update={"notes": {"cola": "half of it", "wordsim353": "all"}})
    columns = build_table(params.model_copy(update={"evaluation": noted}), toy_board.metrics(), {})["columns"]
    assert [column["note"] for column in columns] == ["", "half of it", "all", "", ""]


def test_another_metric_than_ours_is_named():
    params, metrics = toy_board.params(), toy_board.metrics()
    tasks = {"mrpc": params.tasks["cola"].model_copy(update={"metric": "accuracy"})}
    metrics["tasks"] = {"mrpc": {**metrics["tasks"]["cola"], "metric": "accuracy"}}
    published = build_table(params.model_copy(update={"tasks": tasks, "pairs": {}}), metrics, {})["published"]
    cells = {(row["name"], row["split"]): row["cells"].get("mrpc", {}) for row in published}
    assert cells["BERT BASE", "dev"]["metric"] == "accuracy"
    assert cells["BERT BASE", "test"]["differs"][1] == "f1, ours accuracy"
    assert cells["BERT BASE, full", "dev"]["differs"][1] == "a metric that the source does not name, ours accuracy"


def test_ablations_stand_beside_the_published_effect(table):
    found = {(one["variant"], one["base"]): one for one in table["ablations"]}
    assert set(found) == {("ngram-laplace", "ngram"), ("bert-untrained", "bert"), ("bert-no-nsp", "bert")}
    untrained = {effect["column"]: effect for effect in found["bert-untrained", "bert"]["effects"]}
    assert untrained["cola"]["difference"] == -0.5
    assert (untrained["cola"]["low"], untrained["cola"]["high"]) == (-0.53, -0.47)
    assert (untrained["cola"]["published"], untrained["cola"]["on"]) == (-0.565, "CoLA")
    assert (untrained["word-order"]["published"], untrained["word-order"]["on"]) == (-0.354, "GLUE's average")
    assert [untrained[name]["same_task"] for name in ("cola", "word-order")] == [True, False]
    assert untrained["cola"]["verdict"] == "same sign"
    (without,) = {effect["verdict"] for effect in found["bert-no-nsp", "bert"]["effects"]}
    assert without == "not clear: below 0.040 it would likely go unseen"
    (smoothing,) = found["ngram-laplace", "ngram"]["effects"]
    assert (smoothing["difference"], smoothing["published"], smoothing["verdict"]) == (70, None, "same sign")


def test_an_ablation_says_how_long_both_were_trained():
    params = toy_board.params()
    variant = params.variants["bert-no-nsp"]
    longer = variant.model_copy(update={"overrides": {**variant.overrides, "steps": 12345}})
    changed = params.model_copy(update={"variants": {**params.variants, "bert-no-nsp": longer}})
    found = {one["variant"]: one for one in build_table(changed, toy_board.metrics(), {})["ablations"]}
    steps = params.family_settings("bert")["steps"]
    assert found["bert-no-nsp"]["budget"] == f"as under an equal CPU budget: 12,345 against {steps:,} steps"
    assert found["bert-untrained"]["budget"] == ""


def test_an_effect_the_other_way_is_called_opposite():
    metrics = toy_board.metrics()
    task = metrics["tasks"]["cola"]
    turned = {"difference": -0.5, "low": -0.53, "high": -0.47}
    compared = [
        one | turned if (one["first"], one["second"]) == ("bert", "bert-untrained") else one
        for one in task["comparisons"]
    ]
    metrics["tasks"]["cola"] = {**task, "comparisons": compared}
    ablations = build_table(toy_board.params(), metrics, {})["ablations"]
    untrained = next(one for one in ablations if one["variant"] == "bert-untrained")
    verdicts = {effect["column"]: effect["verdict"] for effect in untrained["effects"]}
    assert verdicts == {"cola": "opposite sign", "word-order": "same sign"}


def with_pairs(metrics: dict[str, Any]) -> dict[str, Any]:
    """The report with minimal pairs, and what is said of the variants that answered them."""
    accuracies = {"ngram": [0.5, 0.6, 0.7, 0.8], "ngram-laplace": [0.4, 0.5, 0.6, 0.7], "bert": [0.9, 0.5, 0.9, 0.5]}
    metrics["minimal_pairs"] = {name: {"probes": {}} for name in toy_board.VARIANTS} | {
        name: {"probes": {"blimp": pairs(name, values)}} for name, values in accuracies.items()
    }
    metrics["probes"] = {"blimp": {"comparisons": [compared("ngram", "bert", -0.05, n=4)], "halves": {}}}
    return metrics


def compared(first: str, second: str, difference: float, n: int) -> dict[str, Any]:
    """What `compare_probe` says of two variants."""
    figures = {
        "difference": difference,
        "low": difference - 0.03,
        "high": difference + 0.03,
        "tail": 0.01,
        "p_value": 0.01,
    }
    rest = {"n": n, "holm": 0.02, "smallest_effect": 0.04, "excludes_zero": True, "mcnemar": []}
    return {"first": first, "second": second} | figures | rest


def pairs(name: str, values: list[float]) -> dict[str, Any]:
    paradigms = {f"paradigm-{place}": value for place, value in enumerate(values)}
    likelihood = "pseudo" if name == "bert" else "exact"
    figures = {"metric": "accuracy", "value": sum(values) / 4, "low": 0.3, "high": 0.9, "n": 4000}
    return figures | {"likelihood": likelihood, "paradigms": paradigms}


def pairs_settings() -> Params:
    params = toy_board.params()
    probe = Probe(kind="minimal-pairs", source=ProbeFiles(kind="files", paths=["pairs"], max_pairs=200))
    return params.model_copy(update={"probes": {"blimp": probe}})


def test_minimal_pairs_are_a_column_and_are_compared():
    board = build_table(pairs_settings(), with_pairs(toy_board.metrics()), {})
    assert [row["name"] for row in board["published"] if "blimp" in row["cells"]][:2] == ["5-gram", "LSTM"]
    (differs,) = {tuple(row["cells"]["blimp"]["differs"]) for row in board["published"] if "blimp" in row["cells"]}
    assert differs == ("test set, ours 200 pairs of each paradigm",)
    cells = rows(board)["bert"]["cells"]
    assert (cells["blimp"]["mean"], cells["blimp"]["note"]) == (pytest.approx(0.7), "pseudo-likelihood")
    missing = {one["variant"]: one["reason"] for one in board["missing"] if one["column"] == "blimp"}
    assert missing["glove"] == "it gives no sentence a probability"
    (one,) = compare_rows(board, "bert", "ngram", "blimp")
    assert (one["difference"], one["n"], one["holm"]) == (pytest.approx(0.05), 4, one["tail"])


def test_analogies_are_told_in_halves_where_both_are_asked():
    metrics = toy_board.metrics()
    sections = {
        "capitals": {"covered": 30, "value": 0.5},
        "family": {"covered": 10, "value": 0.1},
        "gram1-adverbs": {"covered": 20, "value": 0.25},
        "gram2-opposites": {"covered": 0, "value": None},
    }
    figures = {"metric": "accuracy", "n": 90, "covered": 60, "coverage": 2 / 3, "value": 0.35, "sections": sections}
    metrics["word_vectors"]["glove"]["probes"]["story-plurals"] = figures
    cell = rows(build_table(toy_board.params(), metrics, {}))["glove"]["cells"]["story-plurals"]
    assert cell["also"] == {"semantic": 0.4, "syntactic": 0.25}
    del sections["gram1-adverbs"]
    assert rows(build_table(toy_board.params(), metrics, {}))["glove"]["cells"]["story-plurals"]["also"] == {}


def test_two_rows_compare_on_tasks_and_probes_together():
    metrics = toy_board.metrics()
    metrics["probes"] = {"wordsim353": {"comparisons": [compared("bert", "bert-no-nsp", 0.2, n=301)], "halves": {}}}
    metrics["probes"]["story-plurals"] = {"comparisons": [], "halves": {}}
    board = build_table(toy_board.params(), metrics, {}) | {"samples": {}}
    assert list(board["comparisons"]) == ["word-order", "cola", "wordsim353"], "no two answered the other"
    found = compare_rows(board, "bert", "bert-no-nsp")
    assert [one["task"] for one in found] == ["word-order", "cola", "wordsim353"]
    assert [one["holm"] for one in found] == holm([one["tail"] for one in found])
    shown = "| wordsim353 | bert − bert-no-nsp | 301 | +0.200 [+0.170, +0.230] | 0.010 | 0.020 | 0.040 |"
    assert shown in markdown(board)
    assert "<td>301</td>" in page(board, toy_board.CURVES)


def fasttext(metrics: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """What the table says of n-grams, from comparisons of a fastText with and one without on some probe of analogies."""
    values = toy_board.params().model_dump()
    one = {**values["variants"]["glove"], "family": "fasttext", "overrides": {}}
    values["variants"] |= {"fasttext": one, "no-ngrams": {**one, "overrides": {"max_n": 0}}}
    values["probes"]["analogies"] = {"kind": "analogy", "source": {"kind": "bundled", "name": "google-analogies"}}
    figures = {
        "metric": "accuracy",
        "n": 19544,
        "covered": 9000,
        "coverage": 0.46,
        "value": 0.3,
        "low": 0.2,
        "high": 0.4,
    }
    probes = {"story-plurals": figures, "analogies": figures}
    metrics["word_vectors"] |= {name: {"vectors": "words", "probes": probes} for name in ("fasttext", "no-ngrams")}
    board = build_table(parse_settings(Params, values, "test"), metrics | {"probes": found}, {})
    (ablation,) = (one for one in board["ablations"] if one["variant"] == "fasttext")
    assert ablation["base"] == "no-ngrams"
    return {effect["column"]: effect for effect in ablation["effects"]}


def test_ngrams_of_fasttext_are_held_against_the_halves_of_googles_analogies():
    halves = {
        "semantic": [compared("fasttext", "no-ngrams", 0.1, n=4000)],
        "syntactic": [compared("no-ngrams", "fasttext", -0.2, n=5000)],
    }
    whole = {"comparisons": [compared("fasttext", "no-ngrams", 0.1, n=9000)], "halves": {}}
    found = fasttext(toy_board.metrics(), {"analogies": whole | {"halves": halves}, "story-plurals": whole})
    told = {name: (one["published"], one["on"], one["same_task"], one["verdict"]) for name, one in found.items()}
    assert told == {
        "story-plurals": (0.2541, "Google's analogies syntactic", False, "same sign"),
        "analogies semantic": (-0.0597, "Google's analogies semantic", True, "opposite sign"),
        "analogies syntactic": (0.2541, "Google's analogies syntactic", True, "same sign"),
    }
    assert fasttext(toy_board.metrics(), {}) == {}


def test_a_network_is_held_against_counts_of_five_words():
    values, metrics = toy_board.params().model_dump(), toy_board.metrics()
    values["variants"]["ngram"]["overrides"] = {"order": 5, "interpolation": [0.2] * 5}
    values["variants"]["nnlm"] = {**values["variants"]["glove"], "family": "nnlm"}
    metrics["language_models"]["nnlm"] = {"test": {"perplexity": 8.0}}
    board = build_table(parse_settings(Params, values, "test"), metrics, {}) | {"samples": {}}
    (one,) = (one for one in board["ablations"] if one["variant"] == "nnlm")
    assert (one["base"], one["budget"]) == ("ngram", "")
    (effect,) = one["effects"]
    assert (effect["difference"], effect["published"], effect["again"]) == (-2.0, -1.0, 0.6)
    assert effect["verdict"] == "lower here, published both ways"
    assert "-1.000 and +0.600 on Penn Treebank's perplexity" in markdown(board)


def test_a_translation_is_told_in_points(table):
    cell = rows(table)["transformer"]["cells"]["tongues translated"]
    assert score(cell) == "31.2 [29.1, 33.0]"


def test_two_rows_compare_either_way_round_corrected_over_their_tasks(table):
    one, back = compare_rows(table, "bert", "bag-of-words"), compare_rows(table, "bag-of-words", "bert")
    assert [compared["task"] for compared in one] == ["word-order", "cola"]
    assert one[0]["difference"] == pytest.approx(0.3)
    for first, second in zip(one, back, strict=True):
        assert (second["difference"], second["low"], second["high"]) == pytest.approx(
            (-first["difference"], -first["high"], -first["low"])
        )
        assert (second["first"], second["second"]) == ("bag-of-words", "bert")
    assert [compared["holm"] for compared in one] == holm([compared["tail"] for compared in one])
    (alone,) = compare_rows(table, "bert", "bag-of-words", "cola")
    assert alone["holm"] == alone["tail"]


@pytest.mark.parametrize(
    ("names", "task", "message"),
    [
        (("bert", "berta"), None, "no row 'berta'; there are chance, majority"),
        (("bert", "bert"), None, "is both rows"),
        (("bert", "BERT LARGE"), None, "'BERT LARGE' is a published row"),
        (("bert", "majority"), "snli", "--task: no 'snli' in the table; there are word-order"),
        (("bert", "ngram"), None, "no task has answers of both 'bert' and 'ngram'"),
        (("bert", "glove"), "wordsim353", "wordsim353 has answers of both"),
    ],
)
def test_rows_that_can_not_be_compared_are_named(table, names, task, message):
    with pytest.raises(InputError, match=message):
        compare_rows(table, names[0], names[1], task)
