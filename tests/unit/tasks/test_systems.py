"""Systems side by side."""

import numpy as np
import pytest
from scipy.stats import rankdata

from stemma.config import Evaluation
from stemma.statistics import holm, mcnemar
from stemma.tasks.metrics import Statistics
from stemma.tasks.systems import Systems

SETTINGS = Evaluation(confidence=0.95, bootstrap_draws=300, bootstrap_seed=1, pseudo_perplexity_sentences=1)


def answers(share: float, seeds: int, rng: np.random.Generator, count: int = 300) -> list[Statistics]:
    """Runs of a two-label task whose answers are right with probability `share`."""
    gold = np.arange(count) % 2
    runs: list[Statistics] = []
    for _ in range(seeds):
        right = rng.random(count) < share
        given = np.where(right, gold, 1 - gold)
        eye = np.eye(2)
        runs.append(
            {
                "accuracy": right.astype(float),
                "true": eye[gold] * right[:, None],
                "predicted": eye[given],
                "gold": eye[gold],
            }
        )
    return runs


@pytest.fixture(scope="module")
def systems() -> Systems:
    rng = np.random.default_rng(1)
    runs = {"majority": answers(0.5, 1, rng), "good": answers(0.9, 3, rng), "poor": answers(0.7, 3, rng)}
    guess = {name: values * 0.5 for name, values in answers(1, 1, rng)[0].items()}
    return Systems("matthews", {"chance": [guess], **runs}, SETTINGS)


def test_rows(systems):
    rows = systems.rows(["accuracy", "f1"])
    assert list(rows) == ["chance", "majority", "good", "poor"]
    good = rows["good"]
    assert len(good["seeds"]) == 3
    assert good["mean"] == pytest.approx(np.mean(good["seeds"]))
    assert good["low"] < good["mean"] < good["high"]
    assert good["also"]["accuracy"] == pytest.approx(np.mean([run["accuracy"].mean() for run in systems.runs["good"]]))
    assert set(good["also"]) == {"accuracy", "f1"}


def test_every_variant_is_compared_with_every_other_system_once(systems):
    compared = [(one["first"], one["second"]) for one in systems.comparisons(["good", "poor"])]
    assert compared == [
        ("good", "poor"),
        ("good", "chance"),
        ("good", "majority"),
        ("poor", "chance"),
        ("poor", "majority"),
        ("chance", "majority"),
    ]


def test_a_clear_difference_is_flagged(systems):
    good_poor = systems.comparisons(["good", "poor"])[0]
    rows = systems.rows([])
    assert good_poor["difference"] == pytest.approx(rows["good"]["mean"] - rows["poor"]["mean"])
    assert good_poor["excludes_zero"]
    assert good_poor["p_value"] < 0.05
    assert good_poor["mcnemar"] == pytest.approx(
        [
            mcnemar(one["accuracy"] > 0, other["accuracy"] > 0)
            for one, other in zip(systems.runs["good"], systems.runs["poor"], strict=True)
        ]
    )


def test_a_single_run_is_compared_with_each_seed_and_guesses_are_neither_right_nor_wrong(systems):
    comparisons = {(one["first"], one["second"]): one for one in systems.comparisons(["good"])}
    assert len(comparisons["good", "majority"]["mcnemar"]) == 3
    assert comparisons["good", "chance"]["mcnemar"] == []


def test_pairs_of_variants_are_corrected_together_and_say_what_they_could_have_seen(systems):
    compared = systems.comparisons(["good", "poor", "majority"])
    of_variants, others = compared[:3], compared[3:]
    assert [one["holm"] for one in of_variants] == pytest.approx(holm([one["tail"] for one in of_variants]))
    assert all(one["holm"] >= one["tail"] for one in of_variants)
    assert [one["holm"] for one in others] == [None] * len(others)
    for one in of_variants:
        half = (one["high"] - one["low"]) / 2
        assert one["smallest_effect"] == pytest.approx(half * 2.8 / 1.96, rel=0.15)


def test_equal_systems_are_not_flagged():
    rng = np.random.default_rng(2)
    runs = answers(0.8, 2, rng)
    (one,) = Systems("accuracy", {"a": runs, "b": runs}, SETTINGS).comparisons(["a", "b"])
    assert (one["difference"], one["low"], one["high"], one["excludes_zero"]) == (0, 0, 0, False)
    assert (one["holm"], one["smallest_effect"]) == (1, 0)


def test_a_sentence_is_right_with_all_its_entities_and_no_other():
    def run(true: list[float], predicted: list[float]) -> Statistics:
        return {"true": np.array(true), "predicted": np.array(predicted), "gold": np.array([1.0, 0.0, 2.0])}

    one, other = run([1.0, 0.0, 2.0], [1.0, 1.0, 2.0]), run([0.0, 0.0, 2.0], [0.0, 0.0, 2.0])
    (compared,) = Systems("entity_f1", {"a": [one], "b": [other]}, SETTINGS).comparisons(["a", "b"])
    assert compared["mcnemar"] == [mcnemar(np.array([True, False, True]), np.array([False, True, True]))]


def test_correlations_have_intervals_and_differences_but_nobody_is_right():
    rng = np.random.default_rng(1)
    gold = rng.normal(size=200)

    def run(noise: float) -> Statistics:
        given = gold + noise * rng.normal(size=200)
        return {
            "gold_score": gold,
            "given_score": given,
            "gold_rank": rankdata(gold),
            "given_rank": rankdata(given),
        }

    systems = Systems("spearman", {"good": [run(0.2), run(0.2)], "bad": [run(3), run(3)]}, SETTINGS)
    rows = systems.rows(["pearson"])
    assert rows["good"]["low"] < rows["good"]["mean"] < rows["good"]["high"]
    assert rows["good"]["also"]["pearson"] > 0.9 > rows["bad"]["also"]["pearson"]
    compared = systems.comparisons(["good", "bad"])[0]
    assert compared["excludes_zero"]
    assert compared["mcnemar"] == []
