"""A report of `evaluate` with a little of everything that the leaderboard shows, and the settings that it belongs to."""

from itertools import combinations
from pathlib import Path
from typing import Any, Final

from stemma.config import Params, load_params, parse_settings
from stemma.leaderboard.table import build_table

ROOT: Final = Path(__file__).resolve().parents[1]
VARIANTS: Final = ("ngram", "ngram-laplace", "glove", "bert", "bert-untrained", "bert-no-nsp", "transformer")
TUNED: Final = ("bert", "bert-untrained", "bert-no-nsp")
SCORES: Final = {
    "chance": 0.0,
    "majority": 0.0,
    "bag-of-words": 0.2,
    "bert": 0.5,
    "bert-untrained": 0.0,
    "bert-no-nsp": 0.48,
}
CURVES: Final = {
    "pretraining": [{"variant": "bert", "step": str(step), "loss": str(8 - step / 50)} for step in range(0, 300, 2)],
    "finetuning": [
        {"task": task, "variant": variant, "epoch": str(epoch), "score": str(epoch / 10)}
        for task in ("cola", "word-order")
        for variant in TUNED
        for epoch in (1, 2, 3)
    ],
}
SAMPLES: Final = {
    "cola": [
        {
            "id": "1",
            "asked": [{"name": "text", "text": "<script>alert('no')</script> & so it goes"}],
            "wanted": "acceptable",
            "answers": [{"system": name, "answer": "<b>", "right": name == "bert"} for name in TUNED],
        }
    ],
    "word-order": [],
}


def params(**changes: Any) -> Params:
    """The project's settings with these variants, a public task, one of its own, and two probes."""
    values = load_params(ROOT / "params.yaml").model_dump()
    corpus = values["variants"]["bert"]["corpus"]
    families = {"ngram": "ngram", "ngram-laplace": "ngram", "glove": "glove"}
    values["corpora"]["tongues"] = values["corpora"][corpus]
    values["tokenizers"]["tongues"] = {**values["tokenizers"]["word"], "corpus": "tongues"}
    overrides: dict[str, Any] = {
        "ngram-laplace": {"smoothing": "laplace"},
        "bert-untrained": {"steps": 0},
        "bert-no-nsp": {"next_sentence": False},
    }
    values["variants"] = {
        name: {
            "family": families.get(name, "bert"),
            "corpus": corpus,
            "tokenizer": "word" if name in families else "wordpiece",
            "overrides": overrides.get(name, {}),
        }
        for name in VARIANTS
        if name != "transformer"
    }
    other = {"transformer": {"family": "transformer", "corpus": "tongues", "tokenizer": "tongues"}}
    values["variants"] |= other
    own = {**values["tasks"]["word-order"], "metric": "matthews"}
    files = {"kind": "files", "format": "tsv", "files": {"train": ["a"], "validation": ["b"], "test": ["c"]}}
    values["tasks"] = {"word-order": own, "cola": {**own, "source": files}}
    values["pairs"] = {
        f"{name}-{task}": {"variant": name, "family": "bert", "task": task}
        for task in values["tasks"]
        for name in TUNED
    }
    similarity = {"kind": "similarity", "source": {"kind": "bundled", "name": "wordsim353"}}
    offline = {"kind": "analogy", "source": {"kind": "offline", "recipe": "story-plurals", "questions": 10}}
    values["probes"] = {"wordsim353": similarity, "story-plurals": offline}
    values["release"]["floors"] = {}
    values["evaluation"]["notes"] = {"cola": "its dev file, 100 rows for training"}
    return parse_settings(Params, values | changes, "test")


def comparison(first: str, second: str) -> dict[str, Any]:
    """What `Systems.comparisons` says of two rows: two variants have Holm's p-value, and small differences are unclear."""
    difference = SCORES[first] - SCORES[second]
    clear = abs(difference) > 0.05
    return {
        "first": first,
        "second": second,
        "n": 1043,
        "difference": difference,
        "low": difference - 0.03,
        "high": difference + 0.03,
        "p_value": 0.001 if clear else 0.3,
        "tail": 0.0001 if clear else 0.3,
        "excludes_zero": clear,
        "smallest_effect": 0.04,
        "holm": (0.0003 if clear else 0.3) if {first, second} <= set(TUNED) else None,
        "mcnemar": [0.001, 0.02],
    }


def metrics() -> dict[str, Any]:
    """The report."""
    rows = {
        name: {"mean": mean, "low": mean - 0.02, "high": mean + 0.02, "seeds": [mean] * (2 if name in TUNED else 1)}
        | {"also": {"accuracy": 0.5}}
        for name, mean in SCORES.items()
    }
    task = {
        "kind": "classification",
        "metric": "matthews",
        "n": 1043,
        "order": list(SCORES),
        "variants": list(TUNED),
        "rows": rows,
        "comparisons": [comparison(*pair) for pair in combinations(SCORES, 2)],
    }
    probes = {
        "wordsim353": {"metric": "spearman", "n": 353, "covered": 300, "coverage": 0.85, "value": 0.4, "low": 0.3}
        | {"high": 0.5},
        "story-plurals": {"metric": "accuracy", "n": 10, "covered": 0, "coverage": 0.0, "value": None},
    }
    vectors = {name: {"vectors": "none"} for name in VARIANTS} | {"glove": {"vectors": "words", "probes": probes}}
    models = {"ngram": {"test": {"perplexity": 10.0}}, "ngram-laplace": {"test": {"perplexity": 80.0}}}
    return {
        "confidence": 0.95,
        "tasks": {"word-order": task, "cola": task},
        "word_vectors": vectors,
        "language_models": models,
        "translation": {"transformer": {"bleu": 31.2, "low": 29.1, "high": 33.0, "pairs": 200}},
    }


def table() -> dict[str, Any]:
    """The leaderboard of these; of one variant both seeds are degenerate on one task, of another one seed is."""
    degenerate = {"cola": {"bert-untrained": [1, 2], "bert-no-nsp": [2]}}
    return build_table(params(), metrics(), degenerate) | {"samples": SAMPLES}
