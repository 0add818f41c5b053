"""Scores and their sufficient statistics."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from stemma.errors import InputError
from stemma.statistics import percentile_interval, resamples, spearman
from stemma.tasks.base import PREDICTION_SCHEMAS, ROW_SCHEMAS
from stemma.tasks.metrics import METRICS, from_statistics, per_example, score

LABELS = ["no", "yes"]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def scored(gold: Sequence[float], given: Sequence[float]) -> tuple[pa.Table, pa.Table]:
    rows = [
        {"id": f"r{i}", "document": "", "text": "t", "text_pair": None, "score": score} for i, score in enumerate(gold)
    ]
    predictions = [{"id": f"r{i}", "score": score} for i, score in enumerate(given)]
    return (
        pa.Table.from_pylist(rows, schema=ROW_SCHEMAS["regression"]),
        pa.Table.from_pylist(predictions, schema=PREDICTION_SCHEMAS["regression"]),
    )


def labelled(gold: Sequence[str], given: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    rows = [
        {"id": f"r{i}", "document": "", "text": "t", "text_pair": None, "label": label} for i, label in enumerate(gold)
    ]
    predictions = [{"id": f"r{i}", "label": label, "probabilities": [1.0]} for i, label in enumerate(given)]
    return (
        pa.Table.from_pylist(rows, schema=ROW_SCHEMAS["classification"]),
        pa.Table.from_pylist(predictions, schema=PREDICTION_SCHEMAS["classification"]),
    )


def answered(answers: Sequence[Sequence[str]], given: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    rows = [
        {
            "id": f"r{i}",
            "document": "",
            "context": "c",
            "question": "q",
            "answers": [{"text": text, "start": 0} for text in texts],
        }
        for i, texts in enumerate(answers)
    ]
    predictions = [{"id": f"r{i}", "text": text, "start": 0, "end": 0, "score": 0.0} for i, text in enumerate(given)]
    return (
        pa.Table.from_pylist(rows, schema=ROW_SCHEMAS["span"]),
        pa.Table.from_pylist(predictions, schema=PREDICTION_SCHEMAS["span"]),
    )


def tagged(gold: Sequence[str], given: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """Sentences of tags, each written as one string."""
    rows = [
        {"id": f"r{i}", "document": "", "tokens": tags.split(), "tags": tags.split()} for i, tags in enumerate(gold)
    ]
    predictions = [{"id": f"r{i}", "tags": tags.split()} for i, tags in enumerate(given)]
    return (
        pa.Table.from_pylist(rows, schema=ROW_SCHEMAS["tagging"]),
        pa.Table.from_pylist(predictions, schema=PREDICTION_SCHEMAS["tagging"]),
    )


def test_classification_by_hand():
    rows, predictions = labelled(["yes", "yes", "yes", "no", "no"], ["yes", "yes", "no", "yes", "no"])
    scores = score("classification", rows, predictions, LABELS)
    # two true, one false positive; one true, one false negative
    assert scores == pytest.approx(
        {"accuracy": 3 / 5, "f1": 4 / 6, "matthews": (2 * 1 - 1 * 1) / np.sqrt(3 * 3 * 2 * 2)}
    )


def test_the_last_of_two_labels_is_the_positive_one():
    rows, predictions = labelled(["yes", "no", "no"], ["no", "no", "no"])
    assert score("classification", rows, predictions, ["no", "yes"])["f1"] == 0
    assert score("classification", rows, predictions, ["yes", "no"])["f1"] == pytest.approx(4 / 5)


def test_f1_of_more_labels_is_the_mean_over_all_of_them():
    rows, predictions = labelled(["a", "b", "b"], ["a", "b", "a"])
    by_label = (2 / 3 + 2 / 3 + 0) / 3  # nobody says c, and it still counts
    assert score("classification", rows, predictions, ["a", "b", "c"])["f1"] == pytest.approx(by_label)


def test_a_constant_answer_does_not_correlate():
    rows, predictions = labelled(["yes", "no"], ["yes", "yes"])
    assert score("classification", rows, predictions, LABELS)["matthews"] == 0


@pytest.mark.parametrize(
    ("gold", "given", "true", "predicted", "wanted"),
    [
        ("B-PER I-PER O", "B-PER I-PER O", 1, 1, 1),
        ("B-PER I-PER O", "B-PER O O", 0, 1, 1),  # too short
        ("B-PER I-PER O", "B-LOC I-LOC O", 0, 1, 1),  # wrong type
        ("B-PER B-PER O", "B-PER I-PER O", 0, 1, 2),  # two entities side by side
        ("B-PER I-PER O", "I-PER I-PER O", 1, 1, 1),  # an I- after nothing begins an entity
        ("B-PER O B-LOC", "B-PER I-LOC I-LOC", 1, 2, 2),  # and so does an I- of another type
        ("O O O", "O O O", 0, 0, 0),
    ],
)
def test_entities(gold: str, given: str, true: int, predicted: int, wanted: int):
    rows, predictions = tagged([gold], [given])
    statistics = per_example("tagging", rows, predictions, TAGS)
    assert {name: values.tolist() for name, values in statistics.items()} == {
        "true": [true],
        "predicted": [predicted],
        "gold": [wanted],
    }


def test_an_entity_ends_with_its_sentence():
    rows, predictions = tagged(["O B-PER", "I-PER O"], ["O B-PER", "I-PER O"])
    assert per_example("tagging", rows, predictions, TAGS)["gold"].tolist() == [1, 1]


def test_an_empty_sentence_has_no_entities():
    rows, predictions = tagged(["B-PER", "", "B-LOC"], ["B-PER", "", "O"])
    assert per_example("tagging", rows, predictions, TAGS)["gold"].tolist() == [1, 0, 1]
    assert score("tagging", rows, predictions, TAGS) == pytest.approx(
        {"entity_f1": 2 / 3, "precision": 1, "recall": 0.5}
    )


@pytest.mark.parametrize("kind", list(METRICS))
def test_a_draw_scores_as_its_examples_do(kind):
    """Weights of a resample and the resample itself, with its repeated rows, give the same score."""
    rng = np.random.default_rng(1)
    if kind in ("classification", "choice"):
        labels = ["a", "b", "c"]
        rows, predictions = labelled(rng.choice(labels, 30).tolist(), rng.choice(labels, 30).tolist())
    elif kind == "span":
        words = ["red", "fox", "the", "old dog"]
        labels = []
        rows, predictions = answered([[x] for x in rng.choice(words, 30)], rng.choice(words, 30).tolist())
    elif kind == "regression":
        labels = []
        rows, predictions = scored(rng.normal(size=30).round(1).tolist(), rng.normal(size=30).round(1).tolist())
    else:
        labels = TAGS
        rows, predictions = tagged(*([" ".join(rng.choice(TAGS, 8)) for _ in range(30)] for _ in range(2)))
    statistics = per_example(kind, rows, predictions, labels)
    drawn = rng.integers(30, size=(4, 30))
    weights = np.stack([np.bincount(draw, minlength=30) for draw in drawn])
    for draw, weight in zip(drawn, weights, strict=True):
        ids = pa.array([f"copy{i}" for i in range(30)])
        again, predicted_again = (table.take(draw).set_column(0, "id", ids) for table in (rows, predictions))
        expected = score(kind, again, predicted_again, labels)
        for metric in set(METRICS[kind]) - {"spearman"}:  # whose ranks are those of all examples
            assert from_statistics(metric, statistics, weight[None])[0] == pytest.approx(expected[metric], abs=1e-12)


def test_a_resample_with_the_ranks_of_all_examples_is_close_to_one_with_its_own():
    rng = np.random.default_rng(3)
    gold = rng.normal(size=300)
    given = gold + rng.normal(size=300)
    statistics = per_example("regression", *scored(gold.tolist(), given.tolist()), [])
    weights = next(resamples(300, draws=500, seed=1))
    ours, exact = from_statistics("spearman", statistics, weights), spearman(gold, given, weights)
    assert abs(ours - exact).max() < 0.02
    assert percentile_interval(ours, 0.95).low == pytest.approx(percentile_interval(exact, 0.95).low, abs=0.01)


@pytest.mark.parametrize("metric", METRICS["regression"])
def test_a_correlation_with_a_constant_is_none(metric):
    rows, predictions = scored([0.1, 0.2, 0.3], [0.1, 0.1, 0.1])
    statistics = per_example("regression", rows, predictions, [])
    assert from_statistics(metric, statistics) == 0
    rows, predictions = scored([0.1, 0.2, 0.3], [0.3, 0.1, 0.2])
    statistics = per_example("regression", rows, predictions, [])
    assert from_statistics(metric, statistics, np.array([[3, 0, 0], [0, 1e6, 0]])).tolist() == [0, 0]


def test_a_score_that_is_no_number_is_named():
    with pytest.raises(InputError, match="row 'r1': predicted score nan is no finite number"):
        score("regression", *scored([1, 2], [1, float("nan")]), [])


def test_predictions_are_matched_by_id():
    rows, predictions = labelled(["yes", "no", "no"], ["yes", "no", "no"])
    assert score("classification", rows, predictions.take([2, 0, 1]), LABELS)["accuracy"] == 1


@pytest.mark.parametrize(
    ("keep_rows", "keep_predictions", "message"),
    [
        ([0, 1], [0], r"1 rows without a prediction: 'r1'"),
        ([0], [0, 1], r"1 predictions for no row: 'r1'"),
        ([0, 1], [0, 1, 1], r"1 predictions with the same id: 'r1'"),
        ([0, 0], [0], r"1 rows with the same id: 'r0'"),
        ([], [], r"there are no rows"),
    ],
)
def test_ids_must_match(keep_rows, keep_predictions, message):
    rows, predictions = labelled(["yes", "no"], ["yes", "no"])
    with pytest.raises(InputError, match=message):
        score(
            "classification",
            rows.take(pa.array(keep_rows, pa.int64())),
            predictions.take(pa.array(keep_predictions, pa.int64())),
            LABELS,
        )


def test_many_missing_ids_are_counted_but_not_all_named():
    rows, predictions = labelled(["yes"] * 9, ["yes"] * 9)
    with pytest.raises(InputError, match=r"8 rows .*'r5', …;"):
        score("classification", rows, predictions.slice(0, 1), LABELS)


def test_bad_answers_are_named():
    with pytest.raises(InputError, match=r"row 'r1': predicted label 'maybe' is not one of no, yes"):
        score("classification", *labelled(["yes", "no"], ["yes", "maybe"]), LABELS)
    with pytest.raises(InputError, match=r"row 'r1': tag 'B-ORG'"):
        score("tagging", *tagged(["O", "O O"], ["O", "O B-ORG"]), TAGS)
    with pytest.raises(InputError, match=r"row 'r0': the prediction has not one tag a token"):
        score("tagging", *tagged(["O O"], ["O"]), TAGS)
    with pytest.raises(InputError, match=r"label 'S-PER'"):
        score("tagging", *tagged(["O"], ["O"]), ["O", "S-PER"])
