"""What finds a span without reading: where it tends to be, and which words around it the question repeats.

A candidate is a run of tokens inside a sentence of the context, no longer than almost all training answers, with a word at
both ends. The bag of words is a logistic regression over a dozen figures of a candidate (how much of the question lies close
by, in its sentence and in itself, its length, rarity, capitals and digits), in the spirit of the baselines of
Richardson et al. (2013) and Rajpurkar et al. (2016), without their syntax trees. It knows no order of words.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stemma.tasks.base import PREDICTION_SCHEMAS

__all__ = ["OverlapModel", "fit_overlap", "guess_spans", "predict_overlap", "predict_typical"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_SENTENCE_END: Final = frozenset(".!?")
_WINDOWS: Final = (2, 5, 15)  # tokens on each side
_LENGTH_SHARE: Final = 0.95  # of training answers that candidates are long enough for
_TRAIN_ROWS: Final = 4000  # plenty for a dozen weights
_NEGATIVES: Final = 30  # candidates drawn from each training row


@dataclass(frozen=True)
class OverlapModel:
    """What a bag of words learned of a task's training rows."""

    rarity: dict[str, float]  # log of documents by documents with the word
    unseen: float
    max_tokens: int
    weights: Floats  # (figures,)


class _Context:
    """A context's tokens and its candidates."""

    def __init__(self, text: str, max_tokens: int) -> None:
        self.text, self.max_tokens = text, max_tokens
        matches = list(_TOKEN.finditer(text))
        self.tokens = [match.group() for match in matches]
        self.words = [token.lower() for token in self.tokens]
        self.begins = np.array([match.start() for match in matches], dtype=np.int64)
        self.finishes = np.array([match.end() for match in matches], dtype=np.int64)

    @cached_property
    def sentences(self) -> Ints:
        """The number of each token's sentence."""
        ends = np.array([token in _SENTENCE_END for token in self.tokens], dtype=np.int64)
        return np.cumsum(ends) - ends

    @cached_property
    def candidates(self) -> tuple[Ints, Ints]:
        """First and last token of each candidate."""
        count = len(self.tokens)
        first = np.repeat(np.arange(count), self.max_tokens)
        last = first + np.tile(np.arange(self.max_tokens), count)
        first, last = first[last < count], last[last < count]
        is_word = np.array([token[0].isalnum() for token in self.tokens], dtype=bool)
        keep = is_word[first] & is_word[last] & (self.sentences[first] == self.sentences[last])
        return first[keep], last[keep]


def predict_typical(train: pa.Table, test: pa.Table) -> pa.Table:
    """The span as far into its context as the median training answer, and of the median length."""
    rows = train.slice(0, _TRAIN_ROWS)
    wheres = [
        len(_TOKEN.findall(row["context"][: answer["start"]])) / max(1, len(_TOKEN.findall(row["context"])))
        for row in rows.select(["context", "answers"]).to_pylist()
        for answer in row["answers"][:1]
    ]
    where, length = float(np.median(wheres or [0.0])), int(np.median(_answer_lengths(rows)))

    def choose(context: _Context, _: str) -> list[int]:
        first, last = context.candidates
        begin = where * len(context.tokens)
        return [int(np.argmin(np.abs(first - begin) + np.abs(last - (begin + length - 1))))]

    return _predict(test, _max_tokens(train), choose)[0]


def guess_spans(train: pa.Table, test: pa.Table, *, guesses: int, rng: np.random.Generator) -> list[pa.Table]:
    """Spans from any word on, each as long as an answer drawn from training, or as the sentence allows."""
    lengths = _answer_lengths(train)

    def choose(context: _Context, _: str) -> list[int]:
        first, last = context.candidates
        starts = rng.choice(np.unique(first), guesses)[:, None]
        wanted = starts + rng.choice(lengths, guesses)[:, None] - 1
        distances = np.where(first == starts, np.abs(last - wanted), len(context.tokens))  # (guesses, candidates)
        return [int(chosen) for chosen in np.argmin(distances, axis=1)]

    return _predict(test, _max_tokens(train), choose, guesses)


def fit_overlap(train: pa.Table, *, seed: int) -> OverlapModel:
    """Learn which figures tell a training answer from other candidates of its context."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    rows = train.slice(0, _TRAIN_ROWS)
    rarity, unseen = _rarity(set(rows["context"].to_pylist()))
    model = OverlapModel(rarity, unseen, _max_tokens(train), np.zeros(_NUM_FIGURES))
    figures, right = _training_candidates(rows, model, np.random.default_rng(seed))
    if not right.any():  # no training answer is a candidate: nothing to learn from
        return model
    scaler = StandardScaler().fit(figures)
    fitted = LogisticRegression(max_iter=1000).fit(scaler.transform(figures), right)
    return OverlapModel(rarity, unseen, model.max_tokens, fitted.coef_[0] / scaler.scale_)


def predict_overlap(model: OverlapModel, test: pa.Table) -> pa.Table:
    """Each context's candidate with the best figures."""

    def choose(context: _Context, question: str) -> list[int]:
        return [int(np.argmax(_figures(context, question, model) @ model.weights))]

    return _predict(test, model.max_tokens, choose)[0]


def _predict(
    test: pa.Table, max_tokens: int, choose: Callable[[_Context, str], list[int]], num_tables: int = 1
) -> list[pa.Table]:
    """Tables of predictions, with one of the chosen candidates each; an empty span where there is no candidate."""
    tables: list[list[dict[str, object]]] = [[] for _ in range(num_tables)]
    for row in test.select(["id", "context", "question"]).to_pylist():
        context = _Context(row["context"], max_tokens)
        first, last = context.candidates
        chosen = choose(context, row["question"]) if len(first) else [-1] * num_tables
        for table, candidate in zip(tables, chosen, strict=True):
            begin = int(context.begins[first[candidate]]) if len(first) else 0
            finish = int(context.finishes[last[candidate]]) if len(first) else 0
            table.append(
                {"id": row["id"], "text": context.text[begin:finish], "start": begin, "end": finish, "score": 0.0}
            )
    return [pa.Table.from_pylist(table, schema=PREDICTION_SCHEMAS["span"]) for table in tables]


def _training_candidates(
    rows: pa.Table, model: OverlapModel, rng: np.random.Generator
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Figures of the answers and of some other candidates, and which are the answers."""
    figures, right = [np.zeros((0, _NUM_FIGURES))], [np.zeros(0, dtype=bool)]
    for row in rows.to_pylist():
        context = _Context(row["context"], model.max_tokens)
        first, last = context.candidates
        begin = row["answers"][0]["start"] if row["answers"] else -1
        finish = begin + len(row["answers"][0]["text"]) if row["answers"] else -1
        is_answer = (context.begins[first] == begin) & (context.finishes[last] == finish)
        if not is_answer.any():
            continue
        others = rng.permutation(np.flatnonzero(~is_answer))[:_NEGATIVES]
        taken = np.append(np.flatnonzero(is_answer), others)
        figures.append(_figures(context, row["question"], model)[taken])
        right.append(is_answer[taken])
    return np.concatenate(figures), np.concatenate(right)


_NUM_FIGURES: Final = len(_WINDOWS) + 10


def _figures(context: _Context, question: str, model: OverlapModel) -> Floats:
    """The figures (candidates, figures) that the bag of words weighs."""
    first, last = context.candidates
    asked = {token.lower() for token in _TOKEN.findall(question)}
    rarity = np.array([model.rarity.get(word, model.unseen) for word in context.words])
    shared = np.array([weight if word in asked else 0.0 for word, weight in zip(context.words, rarity, strict=True)])
    total = sum(model.rarity.get(word, model.unseen) for word in asked) or 1.0
    length = last - first + 1
    inside = _sums(shared, first, last + 1)
    near = [_sums(shared, first - width, last + 1 + width) - inside for width in _WINDOWS]
    by_sentence = np.bincount(context.sentences, weights=shared)
    capitals = np.array([float(token[0].isupper()) for token in context.tokens])
    digits = np.array([float(token[0].isdigit()) for token in context.tokens])
    figures = [
        *(value / total for value in near),
        inside / total,
        (by_sentence[context.sentences[first]] - inside) / total,
        length.astype(np.float64),
        (length == 1).astype(np.float64),
        _sums(rarity, first, last + 1) / length,
        _sums(capitals, first, last + 1) / length,
        _sums(digits, first, last + 1) / length,
        first / len(context.tokens),
        _beside(rarity, first - 1),
        _beside(rarity, last + 1),
    ]
    return np.stack(figures, axis=1)


def _sums(values: Floats, begin: Ints, end: Ints) -> Floats:
    """The sums of values[begin:end], cut to what there is."""
    running = np.append(0.0, np.cumsum(values))
    return np.asarray(running[np.clip(end, 0, len(values))] - running[np.clip(begin, 0, len(values))])


def _beside(values: Floats, at: Ints) -> Floats:
    """The values at some places, 0 beyond the ends."""
    outside = (at < 0) | (at >= len(values))
    return np.where(outside, 0.0, values[np.clip(at, 0, len(values) - 1)])


def _rarity(contexts: Iterable[str]) -> tuple[dict[str, float], float]:
    """How rare each word is among contexts: log of their number by the number that have it; and so for a word of none."""
    texts = sorted(contexts)
    counts = Counter(word for text in texts for word in {token.lower() for token in _TOKEN.findall(text)})
    return {word: float(np.log((len(texts) + 1) / count)) for word, count in counts.items()}, float(
        np.log(len(texts) + 1)
    )


def _answer_lengths(train: pa.Table) -> Ints:
    """The number of tokens of every training answer."""
    texts = (answer["text"] for answers in train["answers"].to_pylist() for answer in answers)
    return np.array([max(1, len(_TOKEN.findall(text))) for text in texts] or [1], dtype=np.int64)


def _max_tokens(train: pa.Table) -> int:
    return int(np.quantile(_answer_lengths(train), _LENGTH_SHARE, method="higher"))
