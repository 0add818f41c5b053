"""How answers are scored: labels, scores, spans as the SQuAD scripts do, tags as conlleval does.

Every score, in 0..1 (matthews: -1..1), is a function of sums over examples. So `per_example` gives each example's part
of those sums, and the score of any resample of the examples is a matrix product and a formula, with no Python per row.

Of two labels, F1 is that of the last (the positive one); of more, the mean over all labels of the task. A label that is
neither wanted nor given, and a correlation with a constant, count 0, as in scikit-learn.

Spearman's correlation is Pearson's of ranks (equal values share the mean of theirs). The ranks are those among all examples,
in a resample too, where they are no longer quite its own: so that it is made of sums like any other score. Of a few hundred
examples, the intervals differ by less than 0.01 from those with ranks of each resample (the tests compare them).
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import rankdata

from stemma.errors import InputError
from stemma.protocols import HeadKind

__all__ = ["METRICS", "Additive", "Floats", "Statistics", "additive", "from_statistics", "per_example", "score"]

Floats = npt.NDArray[np.float64]
Statistics = dict[str, Floats]  # (examples,), or (examples, labels)

METRICS: Final[dict[HeadKind, tuple[str, ...]]] = {
    "classification": ("accuracy", "matthews", "f1"),
    "regression": ("spearman", "pearson"),
    "span": ("em", "f1"),
    "tagging": ("entity_f1", "precision", "recall"),
    "choice": ("accuracy",),
}
_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_ARTICLES: Final = re.compile(r"\b(a|an|the)\b")
_SHOWN: Final = 5
_ROUNDING: Final = 1e-12
_CORRELATED: Final = {"pearson": ("gold_score", "given_score"), "spearman": ("gold_rank", "given_rank")}


@dataclass(frozen=True)
class Additive:
    """A score that is `finish` of the sums of `columns` over examples."""

    columns: Floats  # (examples, columns)
    finish: Callable[[Floats], Floats]  # (..., columns) -> (...)


def score(kind: HeadKind, rows: pa.Table, predictions: pa.Table, labels: Sequence[str]) -> dict[str, float]:
    """Every metric of a kind of task, of predictions for rows; the two are matched by id."""
    statistics = per_example(kind, rows, predictions, labels)
    return {metric: float(from_statistics(metric, statistics)) for metric in METRICS[kind]}


def per_example(kind: HeadKind, rows: pa.Table, predictions: pa.Table, labels: Sequence[str]) -> Statistics:
    """Each example's part of the sums that the metrics of this kind are made of, in the order of `rows`.

    An entry named after a metric is that metric of each example; `true`, `predicted` and `gold` are counts (of right
    answers, of answers given, of answers wanted), for classification and choice one column a label.
    """
    matched = _match(rows, predictions)
    if kind in ("classification", "choice"):
        return _labels_statistics(rows, matched, labels)
    if kind == "regression":
        return _scores_statistics(rows, matched)
    return _span_statistics(rows, matched) if kind == "span" else _tags_statistics(rows, matched, labels)


def from_statistics(metric: str, statistics: Statistics, weights: npt.NDArray[np.generic] | None = None) -> Floats:
    """A metric of all examples, or for `weights` (draws, examples) of every draw: how often it holds each example."""
    parts = additive(metric, statistics)
    if weights is None:
        return parts.finish(parts.columns.sum(axis=0))
    return parts.finish(weights.astype(np.float64) @ parts.columns)


def additive(metric: str, statistics: Statistics) -> Additive:
    """A metric as columns to be summed over examples and what to make of the sums."""
    if metric in statistics:
        values = statistics[metric]
        return Additive(np.column_stack([values, np.ones_like(values)]), _mean)
    if metric in _CORRELATED:
        return Additive(_moments(*(statistics[name] for name in _CORRELATED[metric])), _correlation)
    columns = np.column_stack([statistics[name] for name in ("true", "predicted", "gold")])
    return Additive(columns, _FORMULAS[metric])


def _match(rows: pa.Table, predictions: pa.Table) -> pa.Table:
    """The predictions in the order of the rows, one each."""
    wanted, given = rows["id"], predictions["id"]
    if not len(wanted):
        raise InputError("nothing to score: there are no rows")
    for ids, of in ((wanted, "rows"), (given, "predictions")):
        counts = pc.value_counts(ids)
        _refuse(counts.field("values").filter(pc.greater(counts.field("counts"), 1)), f"{of} with the same id")
    positions = pc.index_in(wanted, value_set=given.combine_chunks())
    _refuse(wanted.filter(pc.is_null(positions)), "rows without a prediction")
    _refuse(given.filter(pc.invert(pc.is_in(given, value_set=wanted.combine_chunks()))), "predictions for no row")
    return predictions.take(positions)


def _refuse(ids: pa.ChunkedArray | pa.Array, what: str) -> None:
    if len(ids):
        names = ", ".join(repr(value) for value in ids[:_SHOWN].to_pylist())
        raise InputError(f"{len(ids)} {what}: {names}{', …' if len(ids) > _SHOWN else ''}; predict these rows again")


def _labels_statistics(rows: pa.Table, predictions: pa.Table, labels: Sequence[str]) -> Statistics:
    gold = _codes(rows["label"], labels, rows["id"], "label")
    predicted = _codes(predictions["label"], labels, rows["id"], "predicted label")
    one_hot = np.eye(len(labels))
    right = gold == predicted
    return {
        "accuracy": right.astype(np.float64),
        "true": one_hot[gold] * right[:, None],
        "predicted": one_hot[predicted],
        "gold": one_hot[gold],
    }


def _scores_statistics(rows: pa.Table, predictions: pa.Table) -> Statistics:
    given = np.asarray(predictions["score"].to_numpy(), dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(given))
    if len(wrong):
        at = int(wrong[0])
        raise InputError(f"row {rows['id'][at].as_py()!r}: predicted score {given[at]} is no finite number")
    gold = np.asarray(rows["score"].to_numpy(), dtype=np.float64)
    return {
        "gold_score": gold,
        "given_score": given,
        "gold_rank": rankdata(gold),
        "given_rank": rankdata(given),
    }


def _moments(gold: Floats, given: Floats) -> Floats:
    """What two columns' correlation is made of (examples, 6); both are shifted to their means, which changes nothing else."""
    a, b = (column - column.mean() if np.ptp(column) else np.zeros_like(column) for column in (gold, given))
    return np.column_stack([np.ones_like(a), a, b, a * a, b * b, a * b])


def _codes(values: pa.ChunkedArray, names: Sequence[str], ids: pa.ChunkedArray, what: str) -> npt.NDArray[np.int64]:
    """Each value's position among `names`."""
    codes = pc.index_in(values, value_set=pa.array(names, pa.string()))
    if codes.null_count:
        at = pc.index(pc.is_null(codes), True).as_py()
        raise InputError(f"row {ids[at].as_py()!r}: {what} {values[at].as_py()!r} is not one of {', '.join(names)}")
    return np.asarray(codes.to_numpy(), dtype=np.int64)


def _span_statistics(rows: pa.Table, predictions: pa.Table) -> Statistics:
    exact, overlap = np.zeros(len(rows)), np.zeros(len(rows))
    for row, (answers, text) in enumerate(
        zip(rows["answers"].to_pylist(), predictions["text"].to_pylist(), strict=True)
    ):
        given = _normalise(text)
        if not answers:  # right is to say nothing, as in SQuAD 2.0
            exact[row] = overlap[row] = not given
            continue
        wanted = [_normalise(answer["text"]) for answer in answers]
        exact[row] = given in wanted
        overlap[row] = max(_token_f1(given.split(), answer.split()) for answer in wanted)
    return {"em": exact, "f1": overlap}


def _normalise(answer: str) -> str:
    """Small letters, without ASCII punctuation and articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def _token_f1(given: list[str], wanted: list[str]) -> float:
    """2PR / (P + R) of two bags of words, 0 when they share none."""
    shared = sum((Counter(given) & Counter(wanted)).values())
    return 2 * shared / (len(given) + len(wanted)) if shared else 0.0


def _tags_statistics(rows: pa.Table, predictions: pa.Table, labels: Sequence[str]) -> Statistics:
    """Entities counted by sentence: right when first token, last token and type are."""
    lengths = _lengths(rows["tags"])
    wrong = np.flatnonzero(lengths != _lengths(predictions["tags"]))
    if len(wrong):
        raise InputError(f"row {rows['id'][int(wrong[0])].as_py()!r}: the prediction has not one tag a token")
    sentences = np.repeat(np.arange(len(rows)), lengths)  # (tokens,)
    gold = _entities(rows, rows["tags"], labels, sentences)
    given = _entities(rows, predictions["tags"], labels, sentences)
    starts, of_gold, of_given = np.intersect1d(gold.starts, given.starts, assume_unique=True, return_indices=True)
    right = (gold.ends[of_gold] == given.ends[of_given]) & (gold.types[of_gold] == given.types[of_given])

    def count(tokens: npt.NDArray[np.int64]) -> Floats:
        return np.bincount(sentences[tokens], minlength=len(rows)).astype(np.float64)

    return {"true": count(starts[right]), "predicted": count(given.starts), "gold": count(gold.starts)}


@dataclass(frozen=True)
class _Entities:
    starts: npt.NDArray[np.int64]  # (entities,): position of the first token in all sentences laid end to end
    ends: npt.NDArray[np.int64]  # (entities,): and of the last
    types: npt.NDArray[np.int64]


def _entities(
    rows: pa.Table, tags: pa.ChunkedArray, labels: Sequence[str], sentences: npt.NDArray[np.int64]
) -> _Entities:
    """The entities of IOB2 tags; an `I-` that continues nothing of its type begins an entity, as conlleval has it."""
    token_ids = rows["id"].take(pa.array(sentences))
    codes = _codes(pc.list_flatten(tags), labels, token_ids, "tag")
    types_of, begins_of = _read_labels(labels)
    types, begins = types_of[codes], begins_of[codes]
    outside = types < 0
    new = np.ones(len(codes), dtype=bool)  # does this token not go on with what its left neighbour is?
    new[1:] = begins[1:] | (types[1:] != types[:-1]) | (sentences[1:] != sentences[:-1])
    starts = np.flatnonzero(new & ~outside)
    last = np.append(new[1:], True)
    return _Entities(starts, np.flatnonzero(last & ~outside), types[starts])


def _read_labels(labels: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Each tag's type, -1 for `O`, and whether it begins an entity."""
    for label in labels:
        if label != "O" and label[:2] not in ("B-", "I-"):
            raise InputError(f"label {label!r}: a tag is 'O', or 'B-' or 'I-' and a type")
    names = sorted({label[2:] for label in labels if label != "O"})
    types = [-1 if label == "O" else names.index(label[2:]) for label in labels]
    return np.array(types, dtype=np.int64), np.array([label.startswith("B-") for label in labels], dtype=bool)


def _lengths(lists: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    return np.asarray(pc.list_value_length(lists).to_numpy(), dtype=np.int64)


def _mean(sums: Floats) -> Floats:
    return _ratio(sums[..., 0], sums[..., 1])


def _counts(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Sums of true, predicted and gold, each (..., labels)."""
    true, predicted, gold = np.split(sums, 3, axis=-1)
    return true, predicted, gold


def _f1(sums: Floats) -> Floats:
    true, predicted, gold = _counts(sums)
    by_label = _ratio(2 * true, predicted + gold)
    return by_label[..., -1] if by_label.shape[-1] <= 2 else by_label.mean(axis=-1)


def _precision(sums: Floats) -> Floats:
    true, predicted, _ = _counts(sums)
    return _ratio(true, predicted)[..., 0]


def _recall(sums: Floats) -> Floats:
    true, _, gold = _counts(sums)
    return _ratio(true, gold)[..., 0]


def _matthews(sums: Floats) -> Floats:
    """The correlation of two labellings (Gorodkin 2004), of which Matthews' is the case of two labels."""
    true, predicted, gold = _counts(sums)
    right, total = true.sum(axis=-1), gold.sum(axis=-1)
    covariance = right * total - (predicted * gold).sum(axis=-1)
    variances = [total**2 - (counts**2).sum(axis=-1) for counts in (predicted, gold)]
    return _ratio(covariance, np.sqrt(variances[0]) * np.sqrt(variances[1]))


def _correlation(sums: Floats) -> Floats:
    """Pearson's correlation from sums of 1, a, b, a², b², ab."""
    total, a, b, a_squared, b_squared, product = np.moveaxis(sums, -1, 0)
    variances = [total * squared - one**2 for one, squared in ((a, a_squared), (b, b_squared))]
    # A column that does not vary has no variance but for the rounding of its sums.
    variances = [
        np.where(variance > _ROUNDING * total * squared, variance, 0.0)
        for variance, squared in zip(variances, (a_squared, b_squared), strict=True)
    ]
    return _ratio(total * product - a * b, np.sqrt(variances[0]) * np.sqrt(variances[1]))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """The quotient, 0 where there is nothing to divide by."""
    nothing = denominator == 0
    return np.asarray(np.where(nothing, 0.0, numerator / np.where(nothing, 1.0, denominator)))


_FORMULAS: Final[dict[str, Callable[[Floats], Floats]]] = {
    "matthews": _matthews,
    "f1": _f1,
    "entity_f1": _f1,
    "precision": _precision,
    "recall": _recall,
}
