"""The metrics that stand beside a task's own."""

import pytest

from stemma.tasks.second_metrics import tell_second

ALSO = {
    "accuracy": 0.7925,
    "matthews": 0.4,
    "em": 0.25,
    "pearson": 0.84,
    "spearman": 0.83,
    "precision": 0.5,
    "recall": 0.25,
}


@pytest.mark.parametrize(
    ("metric", "names", "told"),
    [
        ("f1", ("accuracy", "matthews"), "accuracy 0.792"),  # MRPC and QQP
        ("f1", ("em",), "em 0.250"),  # SQuAD
        ("spearman", ("pearson",), "pearson 0.840"),  # STS-B
        ("entity_f1", ("precision", "recall"), "precision 0.500, recall 0.250"),
        ("accuracy", ("matthews",), ""),
        ("bleu", (), ""),
    ],
)
def test_a_score_tells_what_its_benchmark_reports_with_it(metric, names, told):
    assert tell_second(metric, {name: ALSO[name] for name in names}) == told
