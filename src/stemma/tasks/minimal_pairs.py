"""Minimal pairs (BLiMP, Warstadt et al. 2020): of two sentences that hardly differ, a model should find the right one likelier.

The whole sentences are compared, by log-probability, or by pseudo-log-likelihood where a model has no other (Salazar et al.
2020), as the model gives them: at temperature 1, since one that is chosen on these pairs would flatter. A tie counts one half: a
model to which both are the same words, unknown ones among them, has not chosen. What differs by less than rounding is a tie too.

The score is the mean over paradigms, and its interval a bootstrap over them: the pairs of a paradigm come from one template, so
that one over pairs would be far too narrow. A single paradigm has no interval.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stemma.config import Evaluation
from stemma.progress import Progress
from stemma.protocols import Scorer
from stemma.statistics import percentile_interval, resamples
from stemma.tasks.probe_answers import ANSWER_SCHEMAS

__all__ = ["ask_pairs", "judge", "measure_pairs", "paradigm_accuracies"]

Floats = npt.NDArray[np.float64]
_ROUNDING: Final = 1e-5  # of a sentence's nats: single precision, summed in another order
_BLOCK: Final = 256  # sentences between two reports of progress


def ask_pairs(columns: Mapping[str, Sequence[Any]], scorer: Scorer, progress: Progress) -> pa.Table:
    """What a scorer's choice in each pair of a probe is worth."""
    points = judge(*_score(columns["good"], columns["bad"], scorer, progress))
    return pa.table({"points": points.astype(np.float32)}, schema=ANSWER_SCHEMAS["minimal-pairs"])


def measure_pairs(
    columns: Mapping[str, Sequence[Any]], answers: pa.Table, settings: Evaluation, *, pseudo: bool
) -> dict[str, Any]:
    """The accuracy of answers to the pairs of a probe: over paradigms with an interval, and for each phenomenon."""
    by_paradigm = paradigm_accuracies(columns, answers)
    accuracies = np.array(list(by_paradigm.values()))
    of = dict(zip(columns["paradigm"], columns["phenomenon"], strict=True))
    phenomena = {
        phenomenon: _figures(accuracies[[of[name] == phenomenon for name in by_paradigm]])
        for phenomenon in dict.fromkeys(columns["phenomenon"])
    }
    return {
        "metric": "accuracy",
        "likelihood": "pseudo" if pseudo else "exact",
        "n": len(answers),
        "ties": float((answers["points"].to_numpy() == 0.5).mean()),
        **_figures(accuracies),
        **_interval(accuracies, settings),
        "phenomena": phenomena,
        "paradigms": by_paradigm,
    }


def paradigm_accuracies(columns: Mapping[str, Sequence[Any]], answers: pa.Table) -> dict[str, float]:
    """The mean of each paradigm's points, in the order in which paradigms are met."""
    names = list(dict.fromkeys(columns["paradigm"]))
    numbers = {name: number for number, name in enumerate(names)}
    places = [numbers[name] for name in columns["paradigm"]]
    means = np.bincount(places, weights=answers["points"].to_numpy()) / np.bincount(places)
    return dict(zip(names, means.tolist(), strict=True))


def judge(good: Floats, bad: Floats) -> Floats:
    """From the nats of right and of wrong sentences: 1 where the right one is likelier, 0 where it is not, ½ for ties."""
    same = (good == bad) | (np.isinf(good) & np.isinf(bad))  # two that are held for impossible are no choice either
    with np.errstate(invalid="ignore"):
        same |= np.abs(good - bad) <= _ROUNDING * np.maximum(1.0, np.minimum(np.abs(good), np.abs(bad)))
    return np.where(same, 0.5, (good < bad).astype(np.float64))


def _score(good: Sequence[str], bad: Sequence[str], scorer: Scorer, progress: Progress) -> tuple[Floats, Floats]:
    """The nats of both sentences of every pair; a sentence that is in many pairs is scored once."""
    sentences = list(dict.fromkeys([*good, *bad]))
    progress.start("minimal pairs", len(sentences), "sentences")
    nats: dict[str, float] = {}
    for begin in range(0, len(sentences), _BLOCK):
        block = sentences[begin : begin + _BLOCK]
        nats.update(zip(block, scorer.score(block).nats.tolist(), strict=True))
        progress.update(len(nats))
    right, wrong = (np.array([nats[sentence] for sentence in side], np.float64) for side in (good, bad))
    return right, wrong


def _figures(accuracies: Floats) -> dict[str, Any]:
    return {"value": float(accuracies.mean()), "num_paradigms": len(accuracies)}


def _interval(accuracies: Floats, settings: Evaluation) -> dict[str, float | None]:
    if len(accuracies) < 2:
        return {"low": None, "high": None}
    blocks = resamples(len(accuracies), draws=settings.bootstrap_draws, seed=settings.bootstrap_seed)
    draws = np.concatenate([weights @ accuracies for weights in blocks]) / len(accuracies)
    interval = percentile_interval(draws, settings.confidence)
    return {"low": interval.low, "high": interval.high}
