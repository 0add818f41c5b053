"""The first worked example: the probability of a sentence by the chain rule, and what the order of its words does to it."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from stemma.config import Settings, parse_settings
from stemma.families import families, load_family
from stemma.families.ngram.chain import sentence_factors
from stemma.families.ngram.family import FAMILY as NGRAM
from stemma.families.ngram.family import NgramScorer
from stemma.lessons import explain
from stemma.lessons.chain_rule import CORPUS, ORDERS, ngram_settings, train
from tests.toy_ngrams import SMOOTHINGS

PARAMS = yaml.safe_load((Path(__file__).parents[2] / "params.yaml").read_text())
# families with exact scores, and fewer steps where those of the default run are more than such a small text asks for
OTHERS: dict[str, dict[str, Any]] = {"nnlm": {"steps": 300}, "elmo": {"steps": 60, "cells": 64}, "gpt": {"steps": 60}}


def models() -> list[Any]:
    ngrams = [pytest.param("ngram", ngram_settings(name, 3), CORPUS, id=f"ngram-{name}") for name in SMOOTHINGS]
    for name, fewer in OTHERS.items():
        settings = parse_settings(load_family(name).params, PARAMS["families"][name] | fewer, "params.yaml")
        ngrams.append(pytest.param(name, settings, CORPUS * 30, id=name))  # a network has to see things more than once
    return ngrams


def test_every_family_with_scores_is_asked() -> None:
    assert {name for name in families() if load_family(name).load_scorer} == {"ngram", "bert", *OTHERS}


@pytest.mark.parametrize(("family", "settings", "corpus"), models())
def test_words_in_order_are_likelier(tmp_path: Path, family: str, settings: Settings, corpus: tuple[str, ...]) -> None:
    scorer = train(load_family(family), settings, corpus, tmp_path)
    assert not scorer.pseudo
    in_order, *others = scorer.score(ORDERS).nats.tolist()
    assert math.isfinite(in_order)
    assert in_order < min(others)


def ngrams(tmp_path: Path, smoothing: str, order: int) -> NgramScorer:
    scorer = train(NGRAM, ngram_settings(smoothing, order), CORPUS, tmp_path)
    assert isinstance(scorer, NgramScorer)
    return scorer


def occurrences(words: str) -> int:
    """How often some words stand side by side in the corpus."""
    return sum(f" <s> {sentence} </s> ".count(f" {words} ") for sentence in CORPUS)


def add_one(sentence: str, order: int) -> float:
    """The product of (count + 1) / (count of the context + V), by hand."""
    words = ["<s>", *sentence.split(), "</s>"]
    num_events = len({word for line in CORPUS for word in line.split()}) + 2  # the unknown word and </s>
    ends = range(1, len(words))
    ngrams = [words[max(0, end - order + 1) : end + 1] for end in ends]
    return math.prod(
        (occurrences(" ".join(ngram)) + 1) / (occurrences(" ".join(ngram[:-1])) + num_events) for ngram in ngrams
    )


def test_maximum_likelihood_is_a_ratio_of_counts(tmp_path: Path) -> None:
    """P(一个 | 我想要吃) = count(我想要吃一个) / count(我想要吃)."""
    scorer = ngrams(tmp_path, "maximum-likelihood", 5)
    factor = sentence_factors(scorer.model, scorer.tokenizer, ORDERS[0])[4]
    assert (factor.word, factor.context) == ("一个", ("我", "想", "要", "吃"))
    assert (
        (factor.count, factor.context_count) == (occurrences("我 想 要 吃 一个"), occurrences("我 想 要 吃")) == (2, 3)
    )
    assert factor.probability == pytest.approx(2 / 3)


@pytest.mark.parametrize("order", [1, 2, 5])
def test_with_one_added_no_sentence_is_impossible(tmp_path: Path, order: int) -> None:
    scorer = ngrams(tmp_path, "laplace", order)
    assert np.isfinite(scorer.score([*ORDERS, "梨 梨 梨 梨", "从未 见过 的 词", ""]).nats).all()


def test_what_is_told() -> None:
    lines = list(explain("chain-rule"))
    assert "         2          3     0.666667  P(一个 | 我 想 要 吃)" in lines
    rows = [line.removesuffix(")").split("  P(") for line in lines if line.strip().startswith("product")]
    assert [(sentence, float(left.split()[1])) for left, sentence in rows[1:]] == [
        # 11 of 33 sentences begin with 我, 5 of those 11 go on with 想; then 5/5, 3/5, 2/3, 3/6 and 3/3
        (ORDERS[0], pytest.approx(11 / 33 * 5 / 11 * 3 / 5 * 2 / 3 * 3 / 6, rel=1e-5)),
        (ORDERS[1], 0),
        (ORDERS[2], 0),
        *((order, pytest.approx(add_one(order, 5), rel=1e-5)) for order in ORDERS),
    ]
