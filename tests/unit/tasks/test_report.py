"""The results as people read them."""

import io

import pytest
from rich.console import Console

from stemma.errors import InputError
from stemma.files import write_json
from stemma.tasks.report import console_tables, results_table, write_results

ROW = {"mean": 0.5, "low": 0.41, "high": 0.5912, "seeds": [0.4, 0.6], "also": {}}
METRICS = {
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


def test_console(metrics_path):
    text = io.StringIO()
    for table in console_tables(metrics_path):
        Console(file=text, width=200).print(table)
    assert "0.500 [0.410, 0.591]" in text.getvalue()
    assert "~55.5" in text.getvalue()


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
