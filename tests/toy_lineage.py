"""A leaderboard as wide as they get: the profile `lineage`, twelve variants on nine tasks and eight probes, figures made up."""

from itertools import combinations
from typing import Any, Final

import numpy as np

from stemma.config import Params, load_params
from stemma.leaderboard.table import build_table
from tests.toy_board import ROOT

BASELINES: Final = ("chance", "majority", "bag-of-words")
SECOND: Final = {
    "regression": ("pearson",),
    "tagging": ("precision", "recall"),
    "span": ("em",),
    "classification": ("accuracy",),
}
TEXT: Final = (
    "The committee that met on Tuesday said it would not, as some had feared, put off the vote until the spring. "
)


def table() -> dict[str, Any]:
    """The table, with samples as long as they get."""
    params = load_params(ROOT / "profiles" / "lineage.yaml")
    rng = np.random.default_rng(1)
    metrics = _metrics(params, rng)
    degenerate = {"wnli": {"glove": [1, 2, 3], "bert-untrained": [2]}}
    samples = {name: [_sample(list(task["rows"])[2:]) for _ in range(6)] for name, task in metrics["tasks"].items()}
    return build_table(params, metrics, degenerate) | {"samples": samples}


def curves() -> dict[str, list[dict[str, str]]]:
    """A curve of each variant on each task, and of each pretraining."""
    params = load_params(ROOT / "profiles" / "lineage.yaml")
    return {
        "pretraining": [
            {"variant": variant, "step": str(step), "loss": str(8 - step / (40 + place))}
            for place, variant in enumerate(params.variants)
            for step in range(0, 300, 10)
        ],
        "finetuning": [
            {"task": pair.task, "variant": pair.variant, "epoch": str(epoch), "score": str((epoch + place % 12) / 15)}
            for place, pair in enumerate(params.pairs.values())
            for epoch in (1, 2, 3)
        ],
    }


def _metrics(params: Params, rng: np.random.Generator) -> dict[str, Any]:
    tasks = {name: _task(params, name, rng) for name in params.tasks}
    similarity = [name for name, probe in params.probes.items() if probe.kind == "similarity"]
    words, scorers = ("cooccurrence", "glove", "word2vec", "fasttext", "nnlm"), ("ngram", "nnlm", "elmo", "gpt", "bert")
    vectors = {
        name: {
            "probes": {probe: _probe("spearman", rng) | {"coverage": 0.93} for probe in similarity} | _analogies(rng)
        }
        for name in words
    }
    pairs = {
        name: {"probes": {"blimp": _probe("accuracy", rng) | {"likelihood": "pseudo" if name == "bert" else "exact"}}}
        for name in scorers
    }
    return {
        "confidence": 0.95,
        "tasks": tasks,
        "word_vectors": vectors,
        "minimal_pairs": pairs,
        "language_models": {},
    }


def _task(params: Params, name: str, rng: np.random.Generator) -> dict[str, Any]:
    task = params.tasks[name]
    variants = [pair.variant for pair in params.pairs.values() if pair.task == name]
    rows: dict[str, dict[str, Any]] = {}
    for system in (*BASELINES, *variants):
        mean = float(rng.uniform(0.1, 0.9))
        figures = {
            "mean": mean,
            "low": mean - 0.031,
            "high": mean + 0.027,
            "seeds": [mean] * (3 if system in variants else 1),
        }
        rows[system] = figures | {"also": dict.fromkeys(SECOND.get(task.kind, ()), mean - 0.05)}
    compared = [
        {"first": one, "second": other, "difference": rows[one]["mean"] - rows[other]["mean"], "low": -0.1, "high": 0.2}
        | {"n": 1821, "p_value": 0.2, "tail": 0.2, "smallest_effect": 0.05, "mcnemar": [0.1], "excludes_zero": False}
        | {"holm": 0.9 if {one, other} <= set(variants) else None}
        for one, other in combinations(rows, 2)
    ]
    facts = {"kind": task.kind, "metric": task.metric, "n": 1821, "order": list(rows), "variants": variants}
    return facts | {"rows": rows, "comparisons": compared}


def _probe(metric: str, rng: np.random.Generator) -> dict[str, Any]:
    value = float(rng.uniform(0.2, 0.7))
    return {"metric": metric, "n": 3000, "value": value, "low": value - 0.03, "high": value + 0.03}


def _analogies(rng: np.random.Generator) -> dict[str, Any]:
    sections = {name: {"covered": 100, "value": float(rng.uniform(0.1, 0.5))} for name in ("capitals", "gram1-adverbs")}
    figures = {"metric": "accuracy", "n": 19544, "coverage": 0.62, "value": 0.3, "sections": sections}
    figures |= {"low": 0.27, "high": 0.33}
    return {"google-analogies": figures}


def _sample(systems: list[str]) -> dict[str, Any]:
    asked = [{"name": "context", "text": TEXT * 2}, {"name": "question", "text": TEXT}]
    told = [
        {"system": name, "answer": TEXT[: 5 + 7 * place], "right": place % 3 == 0} for place, name in enumerate(systems)
    ]
    return {"id": "1", "asked": asked, "wanted": TEXT[:40], "answers": told}
