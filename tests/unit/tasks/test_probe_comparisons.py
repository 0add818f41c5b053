"""Two variants on a probe: paired over what both cover, against loops that draw one by one."""

from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import spearmanr

from stemma.config import Evaluation
from stemma.errors import InputError
from stemma.statistics import holm, smallest_effect
from stemma.tasks.probe_answers import answers_path, read_answers, write_answers
from stemma.tasks.probe_comparisons import compare_probe

SETTINGS = Evaluation(confidence=0.95, bootstrap_draws=3000, bootstrap_seed=1, pseudo_perplexity_sentences=1)


def analogies(count: int) -> dict[str, list[Any]]:
    both = list(permutations(range(count), 2))
    half = ["capitals" if number % 2 else "gram1" for number in range(len(both))]
    return {"section": half, "first": [f"w{one}" for one, _ in both], "third": [f"w{other}" for _, other in both]}


def given(values: np.ndarray[Any, Any], covered: np.ndarray[Any, Any], name: str) -> pa.Table:
    return pa.table({name: pa.array(values, mask=~covered)})


def test_analogies_are_paired_over_pairs_of_words_among_questions_that_both_cover() -> None:
    asked, rng = analogies(10), np.random.default_rng(2)
    first, third = (np.array(asked[name]) for name in ("first", "third"))
    right = {name: rng.random(len(first)) < share for name, share in (("a", 0.7), ("b", 0.4))}
    covered = {"a": (first != "w3") & (third != "w3"), "b": rng.random(len(first)) < 0.8}
    answers = {name: given(right[name], covered[name], "right") for name in right}
    (one,) = compare_probe("analogy", asked, answers, SETTINGS)["comparisons"]
    both = covered["a"] & covered["b"]
    assert one["n"] == both.sum() < min(covered["a"].sum(), covered["b"].sum())
    ours = right["a"].astype(float) - right["b"]
    assert one["difference"] == pytest.approx(ours[both].mean())
    words, draws = sorted({*first[both], *third[both]}), []
    for _ in range(3000):
        drawn = Counter(rng.choice(words, len(words)).tolist())
        weights = np.array([drawn[x] * drawn[y] for x, y in zip(first[both], third[both], strict=True)])
        draws.append(np.average(ours[both], weights=weights))
    assert (one["low"], one["high"]) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.03)
    assert one["smallest_effect"] == pytest.approx(smallest_effect(float(np.std(draws)), confidence=0.95), rel=0.1)
    assert one["mcnemar"] == [], "questions share their words, and are no news to each other"


def test_halves_of_analogies_are_compared_where_both_are_asked() -> None:
    asked, rng = analogies(8), np.random.default_rng(5)
    syntactic = np.array([name == "gram1" for name in asked["section"]])
    everything = np.ones(len(syntactic), bool)
    answers = {
        "a": given(syntactic | (rng.random(len(syntactic)) < 0.5), everything, "right"),
        "b": given(~syntactic, everything, "right"),
    }
    found = compare_probe("analogy", asked, answers, SETTINGS)
    halves = {half: compared[0] for half, compared in found["halves"].items()}
    assert list(halves) == ["semantic", "syntactic"]
    assert (halves["syntactic"]["difference"], halves["syntactic"]["n"]) == (1.0, syntactic.sum())
    assert halves["semantic"]["difference"] < 0
    alone = {
        name: [value for value, keep in zip(column, syntactic, strict=True) if keep] for name, column in asked.items()
    }
    only = {name: table.filter(pa.array(syntactic)) for name, table in answers.items()}
    assert compare_probe("analogy", alone, only, SETTINGS)["halves"] == {}


def test_similarity_is_paired_over_words_that_both_cover() -> None:
    rng = np.random.default_rng(4)
    gold = rng.random(150)
    cosines = {name: gold + rng.normal(size=150) * noise for name, noise in (("a", 0.2), ("b", 0.8))}
    covered = {"a": rng.random(150) < 0.9, "b": rng.random(150) < 0.9}
    answers = {name: given(cosines[name], covered[name], "cosine") for name in cosines}
    found = compare_probe("similarity", {"score": gold.tolist()}, answers, SETTINGS)
    (one,), both = found["comparisons"], covered["a"] & covered["b"]
    assert one["n"] == both.sum()

    def difference(places: Any) -> float:
        a, b = (spearmanr(gold[places], cosines[name][places]).statistic for name in ("a", "b"))
        return float(a - b)

    places = np.flatnonzero(both)
    assert one["difference"] == pytest.approx(difference(places))
    draws = [difference(rng.choice(places, len(places))) for _ in range(1500)]
    assert (one["low"], one["high"]) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.03)
    assert one["p_value"] < 0.01
    assert found["halves"] == {}


def test_minimal_pairs_are_paired_over_paradigms() -> None:
    asked = {"paradigm": [f"p{number // 4}" for number in range(16)], "phenomenon": ["x"] * 16}
    better, worse = np.tile([1, 1, 1, 0.5], 4), np.tile([1, 1, 0.5, 0.5], 4)
    answers = {name: pa.table({"points": points}) for name, points in (("better", better), ("worse", worse))}
    (one,) = compare_probe("minimal-pairs", asked, answers, SETTINGS)["comparisons"]
    assert (one["difference"], one["low"], one["high"], one["n"]) == pytest.approx((0.125, 0.125, 0.125, 4))
    single = asked | {"paradigm": ["p"] * 16}
    assert compare_probe("minimal-pairs", single, answers, SETTINGS)["comparisons"] == []


def test_every_two_variants_are_corrected_together_whatever_they_cover() -> None:
    asked, rng = analogies(7), np.random.default_rng(9)
    number, everything = len(asked["first"]), np.ones(len(asked["first"]), bool)
    shares = {"a": 0.9, "b": 0.5, "c": 0.4}
    answers = {name: given(rng.random(number) < share, everything, "right") for name, share in shares.items()}
    answers["few"] = given(rng.random(number) < 0.5, rng.random(number) < 0.6, "right")
    answers["none"] = given(np.zeros(number, bool), ~everything, "right")
    compared = compare_probe("analogy", asked, answers, SETTINGS)["comparisons"]
    pairs = [(one["first"], one["second"]) for one in compared]
    assert pairs == [("a", "b"), ("a", "c"), ("a", "few"), ("b", "c"), ("b", "few"), ("c", "few")]
    assert [one["holm"] for one in compared] == holm([one["tail"] for one in compared])
    assert {one["n"] for one in compared} == {number, len(answers["few"]) - answers["few"]["right"].null_count}
    alone = compare_probe("analogy", asked, {name: answers[name] for name in ("a", "b")}, SETTINGS)["comparisons"]
    assert compared[0] | {"holm": 0} == alone[0] | {"holm": 0}, "who else is asked changes no draw"


def test_what_is_the_same_throughout_has_no_order_to_compare() -> None:
    gold = [1.0, 2.0, 3.0]
    answers = {"a": pa.table({"cosine": [0.1, 0.2, 0.3]}), "flat": pa.table({"cosine": [0.1, 0.1, 0.1]})}
    assert compare_probe("similarity", {"score": gold}, answers, SETTINGS)["comparisons"] == []


def test_what_has_nothing_in_common_is_not_compared() -> None:
    cosines = {"a": [0.1, 0.2, None, None], "b": [None, None, 0.3, 0.1]}
    answers = {name: pa.table({"cosine": pa.array(values, pa.float64())}) for name, values in cosines.items()}
    assert compare_probe("similarity", {"score": [1.0, 2.0, 3.0, 4.0]}, answers, SETTINGS)["comparisons"] == []


def test_stored_answers_are_checked(tmp_path: Path) -> None:
    path = answers_path(tmp_path, "plurals", "glove")
    table = pa.table({"answer": ["boats", None], "right": [True, None]})
    write_answers(path, "analogy", table)
    first = path.read_bytes()
    write_answers(path, "analogy", table)
    assert path.read_bytes() == first
    assert read_answers(path, "analogy", 2).to_pydict() == table.to_pydict()
    with pytest.raises(InputError, match=r"not the answers to the 3 questions there are; run `dvc repro evaluate`"):
        read_answers(path, "analogy", 3)
    with pytest.raises(InputError, match="not the answers"):
        read_answers(path, "similarity", 2)
    with pytest.raises(InputError, match="no such file"):
        read_answers(answers_path(tmp_path, "plurals", "bert"), "analogy", 2)
