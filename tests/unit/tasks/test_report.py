"""The results as people read them."""

import io
import json
from typing import Any

import pytest
from rich.console import Console

from stemma.errors import InputError
from stemma.files import write_json
from stemma.tasks.report import console_tables, results_table, write_results

ROW = {"mean": 0.5, "low": 0.41, "high": 0.5912, "seeds": [0.4, 0.6], "also": {}}
METRICS: dict[str, Any] = {
    "confidence": 0.9,
    "tasks": {
        "entities": {
            "kind": "tagging",
            "metric": "entity_f1",
            "n": 1200,
            "order": ["chance", "memory", "bert", "bert-untrained"],
            "variants": ["bert", "bert-untrained"],
            "test_documents_in_pretraining": 0,
            "rows": {"chance": ROW, "memory": ROW, "bert": ROW, "bert-untrained": ROW},
            "comparisons": [
                {"first": "bert", "second": second, "difference": 0.1, "low": low, "high": 0.3, "p_value": 0.04}
                | {"excludes_zero": low > 0, "mcnemar": []}
                for second, low in (("bert-untrained", -0.01), ("memory", 0.05))
            ],
        },
        "word-order": {
            "kind": "classification",
            "metric": "matthews",
            "n": 10,
            "order": ["chance"],
            "variants": [],
            "test_documents_in_pretraining": 0,
            "rows": {"chance": ROW},
            "comparisons": [],
        },
    },
    "language_models": {
        "bert": {
            "family": "bert",
            "likelihood": "pseudo",
            "sample": {"pseudo_perplexity": 55.55, "pseudo_bits_per_byte": 1.2, "unknown_rate": 0.0},
        },
        "ngram": {
            "family": "ngram",
            "likelihood": "exact",
            "test": {"perplexity": 1234.56, "bits_per_byte": 2.2, "unknown_rate": 0.051},
            "sample": {"perplexity": None, "bits_per_byte": None, "unknown_rate": 0.05},
        },
        "vectors": {"family": "word2vec", "likelihood": "none"},
    },
    "word_vectors": {
        "bert": {"family": "bert", "vectors": "none"},
        "vectors": {
            "family": "word2vec",
            "vectors": "words",
            "words": 900,
            "size": 50,
            "probes": {
                "alike": {"metric": "spearman", "value": 0.25, "low": 0.2, "high": 0.3, "coverage": 0.5},
                "capitals": {"metric": "accuracy", "value": 0.5, "coverage": 0.96, "of_all": 0.48, "sections": {}}
                | {"low": 0.4, "high": 0.6},
                "rare": {"metric": "spearman", "value": None, "low": None, "high": None, "coverage": 0.0},
            },
        },
    },
    "budget": {
        "bert": {"family": "bert", "tokens": 2_400_000, "parameters": 700_000, "flops": 1.25e13},
        "ngram": {"family": "ngram", "tokens": 500, "parameters": 1200, "flops": None},
    },
}


@pytest.fixture
def metrics_path(tmp_path):
    write_json(tmp_path / "metrics.json", METRICS)
    return tmp_path / "metrics.json"


def test_markdown(metrics_path):
    table = results_table(metrics_path)
    assert "|  | entities (entity f1) | word-order (matthews) |" in table
    assert "| bert | 0.500 [0.410, 0.591] | – |" in table
    assert "Test examples: entities 1,200, word-order 10. Means over 2 seeds with 90 % bootstrap intervals" in table
    assert "- entities: bert − bert-untrained = +0.100 [-0.010, +0.300], p = 0.040 (no clear difference)" in table
    assert "bert − memory" not in table  # only variants; the rest is in metrics.json
    assert "| bert | – | – | ~55.5 | ~1.200 | 0.0% |" in table
    assert "| ngram | 1,234.6 | 2.200 | ∞ | ∞ | 5.1% |" in table
    assert "| vectors | – | – | – | – | – |" in table
    widths = {line.count("|") for line in table.splitlines() if "entities (" in line or line.startswith("| chance")}
    assert len(widths) == 1


def test_second_metrics_stand_behind_the_first(tmp_path):
    row = {**ROW, "also": {"precision": 0.75, "recall": 0.375}}
    entities = {**METRICS["tasks"]["entities"], "rows": {**METRICS["tasks"]["entities"]["rows"], "bert": row}}
    write_json(tmp_path / "metrics.json", {**METRICS, "tasks": {**METRICS["tasks"], "entities": entities}})
    table = results_table(tmp_path / "metrics.json")
    assert "| bert | 0.500 [0.410, 0.591] (precision 0.750, recall 0.375) | – |" in table


def test_console(metrics_path):
    text = io.StringIO()
    for table in console_tables(metrics_path):
        Console(file=text, width=200).print(table)
    assert "0.500 [0.410, 0.591]" in text.getvalue()
    assert "~55.5" in text.getvalue()
    assert "0.250 [0.200, 0.300] (50%)" in text.getvalue()
    assert "1.25e+13" in text.getvalue()


def test_word_vectors_say_what_they_cover_and_who_has_none(metrics_path):
    table = results_table(metrics_path)
    assert "|  | alike (spearman) | capitals (accuracy) | rare (spearman) |" in table
    assert "| bert | no vectors | no vectors | no vectors |" in table
    assert "| vectors | 0.250 [0.200, 0.300] (50%) | 0.500 [0.400, 0.600] (96%; 0.480) | – (0%) |" in table


def test_budgets(metrics_path):
    table = results_table(metrics_path)
    assert "| bert | bert | 2,400,000 | 700,000 | 1.25e+13 |" in table
    assert "| ngram | ngram | 500 | 1,200 | – |" in table


def test_seconds_are_shown_only_when_given(metrics_path):
    for seconds in (None, {"bert": 185.4}):
        *_, table = console_tables(metrics_path, seconds)
        text = io.StringIO()
        Console(file=text, width=200).print(table)
        assert ("seconds" in text.getvalue(), "185" in text.getvalue()) == (seconds is not None,) * 2


def test_translations(tmp_path):
    found = {"family": "transformer", "pairs": 1000, "bleu": 31.25, "low": 29.94, "high": 32.4, "sources_left": 3.01}
    write_json(
        tmp_path / "metrics.json", METRICS | {"translation": {"transformer": found | {"signature": "a|tok:13a"}}}
    )
    table = results_table(tmp_path / "metrics.json")
    assert "| transformer | 31.2 [29.9, 32.4] | 3.0 | 1,000 |" in table
    assert "By sacrebleu: `a|tok:13a`." in table
    titles = [str(table.title) for table in console_tables(tmp_path / "metrics.json")]
    assert "Translations of test pairs" in titles


def test_without_translations_there_is_no_table_of_them(metrics_path):
    assert "BLEU" not in results_table(metrics_path)


def test_without_tasks_there_is_no_table_of_them(metrics_path, tmp_path):
    metrics = json.loads(metrics_path.read_text()) | {"tasks": {}}
    (tmp_path / "none.json").write_text(json.dumps(metrics))
    assert results_table(tmp_path / "none.json").startswith("|  | perplexity")


@pytest.mark.parametrize("vectors", [{}, {"bert": {"family": "bert", "vectors": "none"}}])
def test_without_a_probe_there_is_no_table_of_them(tmp_path, vectors):
    write_json(tmp_path / "metrics.json", METRICS | {"word_vectors": vectors})
    assert "3CosAdd" not in results_table(tmp_path / "metrics.json")
    titles = [str(table.title) for table in console_tables(tmp_path / "metrics.json")]
    assert not [title for title in titles if "vectors" in title]


def test_results_go_between_their_markers_and_nowhere_else(metrics_path, tmp_path):
    document = tmp_path / "README.md"
    document.write_text("before\n<!-- results -->\nformer figures\n<!-- /results -->\nafter\n")
    write_results(metrics_path, document)
    first = document.read_text()
    assert first.startswith("before\n<!-- results -->\n\n|")
    assert first.endswith("<!-- /results -->\nafter\n")
    assert "former figures" not in first
    write_results(metrics_path, document)
    assert document.read_text() == first


@pytest.mark.parametrize("text", ["no markers\n", "<!-- results -->\n"])
def test_a_document_without_its_markers_is_left_alone(metrics_path, tmp_path, text):
    document = tmp_path / "README.md"
    document.write_text(text)
    with pytest.raises(InputError, match="needs one pair of lines"):
        write_results(metrics_path, document)
    assert document.read_text() == text
