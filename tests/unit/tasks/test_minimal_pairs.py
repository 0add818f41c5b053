"""Minimal pairs: files, ties, the mean over paradigms and its interval, and the pairs of the stories."""

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stemma.config import Evaluation
from stemma.data.input_files import InputFile
from stemma.data.lexicon import PEOPLE
from stemma.data.stories import write_stories
from stemma.progress import NullProgress
from stemma.protocols import Scores
from stemma.tasks.minimal_pairs import ask_pairs, judge, measure_pairs
from stemma.tasks.offline_probes import make_probe
from stemma.tasks.probes import probe_path, read_probe, read_questions, write_probe

SETTINGS = Evaluation(confidence=0.95, bootstrap_draws=500, bootstrap_seed=1, pseudo_perplexity_sentences=1)


class Counting:
    """A sentence costs a nat for each of its letters `x`; knows how often it was asked."""

    def __init__(self, *, pseudo: bool = False) -> None:
        self.pseudo, self.asked = pseudo, Counter[str]()

    def score(self, sentences: Sequence[str]) -> Scores:
        self.asked.update(sentences)
        nats = np.array([float(sentence.count("x")) for sentence in sentences])
        return Scores(nats=nats, num_predictions=np.ones(len(nats), int), num_unknown=np.zeros(len(nats), int))


def columns(*rows: tuple[str, str, str, str]) -> dict[str, list[Any]]:
    return dict(zip(("paradigm", "phenomenon", "good", "bad"), map(list, zip(*rows, strict=True)), strict=True))


def test_a_tie_counts_one_half() -> None:
    good = np.array([1.0, 2.0, 3.0, 50.0, np.inf, np.inf, 1.0, 1e6])
    bad = np.array([2.0, 1.0, 3.0, 50.0001, np.inf, 1.0, np.inf, 1e6 + 20])
    assert judge(good, bad).tolist() == [1, 0, 0.5, 0.5, 0.5, 0, 1, 1]


def test_the_score_is_the_mean_over_paradigms_with_an_interval_over_them() -> None:
    rows = columns(
        ("a", "one", "1", "x1"),
        ("a", "one", "2", "x2"),
        ("a", "one", "3", "x3"),
        ("b", "one", "x4", "4"),
        ("c", "two", "5", "6"),
    )
    scorer = Counting()
    answers = ask_pairs(rows, scorer, NullProgress())
    assert answers["points"].to_pylist() == [1, 1, 1, 0, 0.5]
    found = measure_pairs(rows, answers, SETTINGS, pseudo=True)
    assert found["paradigms"] == {"a": 1.0, "b": 0.0, "c": 0.5}
    assert found["value"] == 0.5
    assert found["phenomena"] == {
        "one": {"value": 0.5, "num_paradigms": 2},
        "two": {"value": 0.5, "num_paradigms": 1},
    }
    assert (found["n"], found["ties"], found["likelihood"], found["num_paradigms"]) == (5, 0.2, "pseudo", 3)
    assert (found["low"], found["high"]) == (0.0, 1.0), "three paradigms say little, whatever the number of pairs"
    rows = columns(("a", "one", "1", "x1"), ("a", "one", "2", "x2"))
    single = measure_pairs(rows, ask_pairs(rows, scorer, NullProgress()), SETTINGS, pseudo=False)
    assert (single["value"], single["low"], single["high"]) == (1.0, None, None)


def test_a_sentence_of_many_pairs_is_scored_once() -> None:
    scorer = Counting()
    ask_pairs(columns(("a", "a", "1", "x"), ("a", "a", "1", "xx")), scorer, NullProgress())
    assert scorer.asked == {"1": 1, "x": 1, "xx": 1}


def test_blimps_files_are_a_probe(tmp_path: Path) -> None:
    rows = [
        {
            "sentence_good": "A cat sleeps.",
            "sentence_bad": bad,
            "UID": "p",
            "linguistics_term": "agreement",
            "pairID": str(at),
        }
        for at, bad in enumerate(("A cat sleep.", "A cat sleeps."))  # the second pair is a tie, as some of BLiMP's are
    ]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    files = [InputFile(tmp_path / "p.jsonl.gz", "p.jsonl.gz")]
    write_probe(probe_path(tmp_path, "probe"), "minimal-pairs", read_questions(files, "minimal-pairs"))
    found = read_probe(probe_path(tmp_path, "probe"), "minimal-pairs")
    assert (found["paradigm"], found["phenomenon"]) == (["p", "p"], ["agreement", "agreement"])
    assert found["bad"] == ["A cat sleep.", "A cat sleeps."]


def test_pairs_of_the_stories_are_what_they_can_and_can_not_have() -> None:
    rows = make_probe("story-pairs", "minimal-pairs", 120, seed=3)
    assert Counter(row["paradigm"] for row in rows) == dict.fromkeys(
        ["number", "there-is", "article", "order", "pronoun", "neither-nor"], 20
    )
    assert (
        rows
        == make_probe("story-pairs", "minimal-pairs", 120, seed=3)
        != make_probe("story-pairs", "minimal-pairs", 120, 4)
    )
    for row in rows:
        good, bad = row["good"].split(), row["bad"].split()
        assert len(good) == len(bad)
        assert 1 <= sum(one != other for one, other in zip(good, bad, strict=True)) <= 2
    # who is she and who is he is the stories' own rule: read it from stories
    text = " ".join(document.text for document in write_stories(150, seed=9))
    for row in (row for row in rows if row["paradigm"] == "pronoun"):
        name = row["good"].split()[0]
        assert name in PEOPLE
        said = {
            pronoun
            for pronoun in ("she", "he")
            if any(
                f", and then {pronoun} " in sentence
                for sentence in text.split(".")
                if sentence.strip().startswith(f"{name} ")
            )
        }
        assert not said or f"then {said.pop()} " in row["good"]
