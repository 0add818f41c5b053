"""Evidence survives its way to disk and back, and what is missing is named with what to run."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stemma.adapters.evidence import Sources, gather, read_evidence, validation_scores, write_evidence
from stemma.adapters.model_card import write_card
from stemma.errors import InputError, ReleaseError
from stemma.files import digest_tree, write_json
from stemma.release.gate import compare
from stemma.tasks.base import PREDICTION_SCHEMAS, ROW_SCHEMAS
from tests import toy_tasks

PARAMS = toy_tasks.params()
PAIR = "bert-first"


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    """The outputs of a pipeline that answered 8 and 6 of 10 test rows right, by two seeds."""
    sources = Sources(
        tasks=tmp_path / "tasks",
        finetuned=tmp_path / "finetuned",
        evaluation=tmp_path / "e",
        predictions=tmp_path / "p",
    )
    rows = [toy_tasks.make_row("first", number, np.random.default_rng(number)) for number in range(10)]
    write_table(sources.tasks / "first" / "test.parquet", rows, ROW_SCHEMAS["classification"])
    for seed, right in ((1, 8), (2, 6)):
        answers = [{"id": row["id"], "label": row["label"], "probabilities": [0.5, 0.5]} for row in rows]
        for answer in answers[right:]:
            answer["label"] = {"yes": "no", "no": "yes"}[answer["label"]]
        write_table(sources.predictions / PAIR / f"seed-{seed}.parquet", answers, PREDICTION_SCHEMAS["classification"])
    scores = {"1": {"validation": {"accuracy": 0.75}}, "2": {"validation": {"accuracy": 0.5}}}
    write_json(sources.finetuned / PAIR / "metrics.json", {"seeds": scores})
    row = {"mean": 0.7, "low": 0.4, "high": 0.9, "seeds": [0.8, 0.6]}
    tasks = {"first": {"rows": {"bert": row, "majority": {"mean": 0.5}}}}
    write_json(sources.evaluation / "metrics.json", {"confidence": 0.95, "tasks": tasks})
    return sources


def write_table(path: Path, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)


def test_a_scorecard_holds_the_reports_figures_and_each_examples_part(sources: Sources) -> None:
    card = gather(PARAMS, PAIR, sources)
    assert (card.model, card.task, card.metric, card.majority) == (PAIR, "first", "accuracy", 0.5)
    assert (card.mean, card.low, card.high, card.seeds) == (0.7, 0.4, 0.9, {1: 0.8, 2: 0.6})
    assert card.examples is not None
    assert card.examples.finish is not None
    np.testing.assert_allclose(card.examples.finish(card.examples.columns.sum(axis=1)), [0.8, 0.6])
    assert validation_scores(PARAMS, PAIR, sources) == {1: 0.75, 2: 0.5}


def test_evidence_comes_back_as_it_was(sources: Sources, tmp_path: Path) -> None:
    card = gather(PARAMS, PAIR, sources)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_evidence(card, tmp_path / name)
    assert digest_tree([tmp_path / "one"]) == digest_tree([tmp_path / "two"])
    back = read_evidence(tmp_path / "one")
    assert back.as_dict() == card.as_dict()
    assert back.examples is not None
    assert card.examples is not None
    assert back.examples.ids == card.examples.ids
    np.testing.assert_array_equal(back.examples.columns, card.examples.columns)
    comparison = compare(card, back)
    assert comparison is not None
    assert comparison.value == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda report: report["tasks"].pop("first"), r"no results of bert-first .*dvc repro evaluate"),
        (lambda report: report["tasks"]["first"]["rows"].pop("majority"), r"no results of bert-first"),
        (lambda report: report["tasks"]["first"]["rows"]["bert"].pop("low"), r"no results of bert-first"),
        (lambda report: report.pop("confidence"), r"no results of bert-first"),
    ],
)
def test_a_report_without_the_figures_is_named(sources: Sources, change: Any, message: str) -> None:
    path = sources.evaluation / "metrics.json"
    report = json.loads(path.read_text())
    change(report)
    path.write_text(json.dumps(report))
    with pytest.raises(InputError, match=message):
        gather(PARAMS, PAIR, sources)


@pytest.mark.parametrize("seeds", [[0.8, 0.61], [0.8], [0.6, 0.8]])
def test_a_report_of_other_predictions_is_refused(sources: Sources, seeds: list[float]) -> None:
    path = sources.evaluation / "metrics.json"
    report = json.loads(path.read_text())
    report["tasks"]["first"]["rows"]["bert"]["seeds"] = seeds
    path.write_text(json.dumps(report))
    with pytest.raises(ReleaseError, match="not those of its predictions"):
        gather(PARAMS, PAIR, sources)


def test_predictions_that_are_missing_are_named(sources: Sources) -> None:
    (sources.predictions / PAIR / "seed-2.parquet").unlink()
    with pytest.raises(InputError, match=r"seed-2\.parquet: no such file; run `dvc repro evaluate`"):
        gather(PARAMS, PAIR, sources)


@pytest.mark.parametrize("text", ["{}", '{"seeds": {"a": {}}}', '{"seeds": {"1": {"validation": {"f1": 1}}}}'])
def test_validation_scores_that_are_missing_are_named(sources: Sources, text: str) -> None:
    (sources.finetuned / PAIR / "metrics.json").write_text(text)
    with pytest.raises(InputError, match="run `dvc repro finetune@bert-first`"):
        validation_scores(PARAMS, PAIR, sources)


def test_the_card_says_what_it_is_how_good_it_is_and_where_it_comes_from(sources: Sources) -> None:
    from huggingface_hub import ModelCard

    text = write_card(PARAMS, gather(PARAMS, PAIR, sources), 2, {"digest": "d" * 64, "training run": "r1"})
    card: Any = ModelCard(text)
    assert card.data.model_name == PAIR
    assert card.data.eval_results[0].metric_value == 0.7
    for part in ("**0.7000**", "[0.4000, 0.9000]", "| 1 | 0.8000 |", "weights of seed 2", "d" * 64, "`r1`", "licence"):
        assert part in text
