"""What answers to probes of word vectors are worth: rank correlation with people's judgement, and the share of analogies.

Questions that could not be asked are left out, and how many is said (coverage); for analogies a second figure counts what is
left out as wrong, so that a small vocabulary is no advantage.

The interval of a correlation is over pairs of words, ranked anew in each resample. That of analogies is over the pairs of words
that they are made of, of which each stands in many questions: over questions it would be far too narrow. A pair is known by
its first word, so that what is asked of that word in another section is no news either.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stemma.config import Evaluation
from stemma.statistics import percentile_interval, resamples, spearman
from stemma.tasks.probes import ProbeKind
from stemma.tasks.systems import Systems

__all__ = ["half_of", "measure_answers", "renumber", "word_pairs"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_NO_INTERVAL: Final = {"low": None, "high": None}


def measure_answers(
    kind: ProbeKind, columns: Mapping[str, Sequence[Any]], answers: pa.Table, settings: Evaluation
) -> dict[str, Any]:
    """A probe's figures, from its questions and the answers to them."""
    if kind == "similarity":
        return _measure_similarity(np.array(columns["score"], np.float64), answers, settings)
    return _measure_analogies(columns, answers, settings)


def half_of(section: str) -> Literal["semantic", "syntactic"]:
    """Which half of Google's analogies a section is in: those of grammar say so in their names."""
    return "syntactic" if section.startswith("gram") else "semantic"


def word_pairs(columns: Mapping[str, Sequence[Any]]) -> Ints:
    """The two pairs of words of each analogy, as numbers (questions, 2)."""
    return renumber(np.array([columns["first"], columns["third"]]).T)


def renumber(things: npt.NDArray[Any]) -> Ints:
    """Things as numbers from 0, each of which there is."""
    return np.asarray(np.unique(things, return_inverse=True)[1].reshape(things.shape), np.int64)


def _measure_similarity(gold: Floats, answers: pa.Table, settings: Evaluation) -> dict[str, Any]:
    cosines = answers["cosine"].to_numpy()
    known = ~np.isnan(cosines)
    result: dict[str, Any] = {"metric": "spearman", "n": len(gold), "covered": int(known.sum())}
    result["composed"] = int(answers["composed"].to_numpy().sum())
    result["coverage"] = result["covered"] / len(gold)
    return result | _correlation(cosines[known], gold[known], settings)


def _correlation(found: Floats, gold: Floats, settings: Evaluation) -> dict[str, Any]:
    """The correlation and its interval; none where there is no order to compare."""
    if len(found) < 2:
        return {"value": None, **_NO_INTERVAL}
    value = float(spearman(found, gold, np.ones((1, len(found))))[0])
    blocks = resamples(len(found), draws=settings.bootstrap_draws, seed=settings.bootstrap_seed)
    draws = np.concatenate([spearman(found, gold, weights) for weights in blocks])
    draws = draws[np.isfinite(draws)]
    if not np.isfinite(value) or not len(draws):
        return {"value": None, **_NO_INTERVAL}
    interval = percentile_interval(draws, settings.confidence)
    return {"value": value, "low": interval.low, "high": interval.high}


def _measure_analogies(columns: Mapping[str, Sequence[Any]], answers: pa.Table, settings: Evaluation) -> dict[str, Any]:
    covered = answers["right"].is_valid().to_numpy()
    right = answers["right"].fill_null(False).to_numpy()
    sections = np.array(columns["section"])
    figures = {
        name: _accuracy(right[sections == name], covered[sections == name])
        for name in dict.fromkeys(columns["section"])
    }
    interval = _over_pairs(right[covered], word_pairs(columns)[covered], settings)
    return {"metric": "accuracy", **_accuracy(right, covered), **interval, "sections": figures}


def _accuracy(right: Bools, covered: Bools) -> dict[str, Any]:
    """The share of right answers among what is covered, and among all."""
    number, num_right = int(covered.sum()), int(right.sum())
    return {
        "n": len(covered),
        "covered": number,
        "coverage": number / len(covered),
        "value": num_right / number if number else None,
        "of_all": num_right / len(covered),
    }


def _over_pairs(right: Bools, pairs: Ints, settings: Evaluation) -> Mapping[str, float | None]:
    """The interval over pairs of words; a single question has none."""
    if len(right) < 2:
        return _NO_INTERVAL
    systems = Systems("accuracy", {"": [{"accuracy": right.astype(np.float64)}]}, settings, renumber(pairs))
    row = systems.rows([])[""]
    return {"low": row["low"], "high": row["high"]}
