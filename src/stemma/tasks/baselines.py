"""What a model must beat to have learned something: guessing, the commonest answer, memory, a bag of words.

- `chance` guesses each answer uniformly (a span: from any word on, as long as some training answer). Its figures are means
  over many guesses of each example, so its score is close to the expected one.
- `majority` gives the commonest training answer: the label; a span of the median length at the median place, or no answer if
  most have none; for tags `O`, which finds no entity; of choices the place where the right one stood most often; for scores
  their mean, always.
- `memory` (tagging) gives each word the tag that it had most often in training, and `O` to a new one.
- `bag-of-words` sees which words there are and not their order: for labels a logistic regression on tf-idf weights, a bag for
  each text of a pair; for scores a ridge regression on tf-idf weights, of a pair on what its bags share and do not share, and
  on their cosine; for tags one on the word and the bag of two words to each side; for spans see `span_baselines`; of
  choices it takes the one whose bag is most like that of the context (the cosine of their tf-idf weights).

All learn from the training split alone, and are the same in every run.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stemma.protocols import HeadKind
from stemma.tasks.base import PREDICTION_SCHEMAS
from stemma.tasks.metrics import Statistics, per_example
from stemma.tasks.span_baselines import fit_overlap, guess_spans, predict_overlap, predict_typical

__all__ = ["BASELINES", "CHANCE", "chance_statistics"]

CHANCE: Final = "chance"
_WORD: Final = r"\w+|[^\w\s]"
_NEIGHBOURS: Final = 2  # words on each side
_DIGITS: Final = 9  # of a cosine: the rounding of a sum must not choose between equals
_SEED: Final = 1  # of what is drawn while fitting; changes no setting of ours


def chance_statistics(
    kind: HeadKind, train: pa.Table, test: pa.Table, labels: Sequence[str], *, seed: int, guesses: int = 20
) -> Statistics:
    """`per_example` of uniform guesses, each example's the mean over `guesses` of them."""
    if kind == "regression":
        guesses = 1  # a mean of guesses would be no guess, but close to one score throughout
    tables = _guess(kind, train, test, labels, guesses, np.random.default_rng(seed))
    drawn = [per_example(kind, test, predictions, labels) for predictions in tables]
    return {name: np.mean([statistics[name] for statistics in drawn], axis=0) for name in drawn[0]}


def _guess(
    kind: HeadKind, train: pa.Table, test: pa.Table, labels: Sequence[str], guesses: int, rng: np.random.Generator
) -> list[pa.Table]:
    if kind == "regression":
        scores = train["score"].to_numpy()
        return [_scored(test, rng.uniform(scores.min(), scores.max(), len(test))) for _ in range(guesses)]
    if kind == "span":
        return guess_spans(train, test, guesses=guesses, rng=rng)

    def draw(size: int) -> list[str]:
        return [labels[code] for code in rng.integers(len(labels), size=size)]

    if kind in ("classification", "choice"):
        answer = _labelled if kind == "classification" else _chosen
        return [answer(test, draw(len(test)), labels) for _ in range(guesses)]
    lengths = [len(tokens) for tokens in test["tokens"]]
    return [_tagged(test, [draw(length) for length in lengths]) for _ in range(guesses)]


def _majority_label(train: pa.Table, test: pa.Table, labels: Sequence[str]) -> pa.Table:
    return _labelled(test, [_commonest_label(train, labels)] * len(test), labels)


def _majority_choice(train: pa.Table, test: pa.Table, labels: Sequence[str]) -> pa.Table:
    return _chosen(test, [_commonest_label(train, labels)] * len(test), labels)


def _commonest_label(train: pa.Table, labels: Sequence[str]) -> str:
    counts = Counter(train["label"].to_pylist())
    return max(labels, key=counts.__getitem__)


def _majority_span(train: pa.Table, test: pa.Table, labels: Sequence[str]) -> pa.Table:  # noqa: ARG001  one shape for all
    unanswered = sum(not answers for answers in train["answers"].to_pylist())
    if 2 * unanswered > len(train):
        size = len(test)
        return _table("span", test, text=[""] * size, start=[0] * size, end=[0] * size, score=[0.0] * size)
    return predict_typical(train, test)


def _majority_tag(train: pa.Table, test: pa.Table, labels: Sequence[str]) -> pa.Table:
    counts = Counter(tag for tags in train["tags"].to_pylist() for tag in tags)
    commonest = max(labels, key=counts.__getitem__)
    return _tagged(test, [[commonest] * len(tokens) for tokens in test["tokens"]])


def _memory_tag(train: pa.Table, test: pa.Table, labels: Sequence[str]) -> pa.Table:
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for tokens, tags in zip(train["tokens"].to_pylist(), train["tags"].to_pylist(), strict=True):
        for token, tag in zip(tokens, tags, strict=True):
            seen[token][tag] += 1
    best = {token: max(labels, key=counts.__getitem__) for token, counts in seen.items()}
    return _tagged(test, [[best.get(token, "O") for token in tokens] for tokens in test["tokens"].to_pylist()])


def _bag_label(train: pa.Table, test: pa.Table, labels: Sequence[str]) -> pa.Table:
    from scipy import sparse
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    if len(set(train["label"].to_pylist())) < 2:
        return _majority_label(train, test, labels)
    sides = []
    for column in ("text", "text_pair"):
        if column == "text" or train[column].null_count < len(train):
            bag = TfidfVectorizer(token_pattern=_WORD)
            sides.append((bag.fit_transform(_texts(train, column)), bag.transform(_texts(test, column))))
    model = LogisticRegression(max_iter=1000).fit(
        sparse.hstack([side[0] for side in sides]), train["label"].to_pylist()
    )
    chosen = model.predict(sparse.hstack([side[1] for side in sides]))
    return _labelled(test, [str(label) for label in chosen], labels)


def _mean_score(train: pa.Table, test: pa.Table, labels: Sequence[str]) -> pa.Table:  # noqa: ARG001  one shape for all
    return _scored(test, np.full(len(test), train["score"].to_numpy().mean()))


def _bag_score(train: pa.Table, test: pa.Table, labels: Sequence[str]) -> pa.Table:  # noqa: ARG001  one shape for all
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import Ridge

    bag = TfidfVectorizer(token_pattern=_WORD).fit([*_texts(train, "text"), *_texts(train, "text_pair")])
    model = Ridge(random_state=_SEED, solver="sparse_cg", tol=1e-6).fit(
        _score_features(bag, train), train["score"].to_numpy()
    )
    return _scored(test, model.predict(_score_features(bag, test)))


def _score_features(bag: Any, rows: pa.Table) -> Any:
    """The bag of each text; of a pair what its bags share and do not share, and their cosine."""
    from scipy import sparse

    first = bag.transform(_texts(rows, "text"))
    if rows["text_pair"].null_count == len(rows):
        return first
    second = bag.transform(_texts(rows, "text_pair"))
    shared = first.multiply(second).tocsr()
    return sparse.hstack([shared, abs(first - second), shared.sum(axis=1)]).tocsr()


def _bag_choice(train: pa.Table, test: pa.Table, labels: Sequence[str]) -> pa.Table:
    from sklearn.feature_extraction.text import TfidfVectorizer

    bag = TfidfVectorizer(token_pattern=_WORD).fit([*_premises(train), *_choices(train)])
    premises, choices = bag.transform(_premises(test)), bag.transform(_choices(test))
    repeated = premises[np.repeat(np.arange(len(test)), len(labels))]
    alike = np.asarray(repeated.multiply(choices).sum(axis=1)).reshape(-1, len(labels)).round(_DIGITS)
    return _chosen(test, [labels[at] for at in alike.argmax(axis=1)], labels)  # the first of equals


def _premises(rows: pa.Table) -> list[str]:
    """What stands before the choices of each row."""
    return [f"{a} {b}" for a, b in zip(_texts(rows, "context"), _texts(rows, "question"), strict=True)]


def _choices(rows: pa.Table) -> list[str]:
    return [choice for choices in rows["choices"].to_pylist() for choice in choices]


def _bag_span(train: pa.Table, test: pa.Table, labels: Sequence[str]) -> pa.Table:  # noqa: ARG001  one shape for all
    return predict_overlap(fit_overlap(train, seed=_SEED), test)


def _bag_tag(train: pa.Table, test: pa.Table, labels: Sequence[str]) -> pa.Table:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import SGDClassifier

    tags = [tag for tags in train["tags"].to_pylist() for tag in tags]
    if len(set(tags)) < 2:
        return _majority_tag(train, test, labels)
    bag = CountVectorizer(analyzer=_identity, binary=True)
    # Stochastic descent, because it takes a tenth of the time of other solvers here; it is exact in its repetition.
    model = SGDClassifier(loss="log_loss", alpha=1e-5, max_iter=10, tol=None, random_state=_SEED)
    model.fit(bag.fit_transform(_token_features(train)), tags)
    chosen = iter(model.predict(bag.transform(_token_features(test))) if any(len(t) for t in test["tokens"]) else [])
    return _tagged(test, [[str(next(chosen)) for _ in tokens] for tokens in test["tokens"]])


def _token_features(rows: pa.Table) -> list[list[str]]:
    """Each token of all rows as a bag: the word, the word in small letters, and the words around it, marked as such."""
    features = []
    for tokens in rows["tokens"].to_pylist():
        around = [f"~{token.lower()}" for token in tokens]
        for at, token in enumerate(tokens):
            beside = around[max(0, at - _NEIGHBOURS) : at] + around[at + 1 : at + 1 + _NEIGHBOURS]
            features.append([token, f"={token.lower()}", *beside])
    return features


def _identity(features: list[str]) -> list[str]:
    return features


def _texts(rows: pa.Table, column: str) -> list[str]:
    return [text or "" for text in rows[column].to_pylist()]


def _labelled(rows: pa.Table, answers: list[str], labels: Sequence[str]) -> pa.Table:
    certain = [[float(name == answer) for name in labels] for answer in answers]
    return _table("classification", rows, label=answers, probabilities=certain)


def _chosen(rows: pa.Table, answers: list[str], labels: Sequence[str]) -> pa.Table:
    certain = [[float(name == answer) for name in labels] for answer in answers]
    texts = [
        choices[labels.index(answer)] for choices, answer in zip(rows["choices"].to_pylist(), answers, strict=True)
    ]
    return _table("choice", rows, label=answers, text=texts, probabilities=certain)


def _scored(rows: pa.Table, scores: npt.NDArray[np.float64]) -> pa.Table:
    return _table("regression", rows, score=pa.array(scores.astype(np.float32)))


def _tagged(rows: pa.Table, tags: list[list[str]]) -> pa.Table:
    return _table("tagging", rows, tags=tags)


def _table(kind: HeadKind, rows: pa.Table, **columns: Any) -> pa.Table:
    return pa.table({"id": rows["id"].combine_chunks(), **columns}, schema=PREDICTION_SCHEMAS[kind])


# From training rows, rows to answer and labels to predictions, by name, in the order of the table.
BASELINES: Final[dict[HeadKind, dict[str, Callable[[pa.Table, pa.Table, Sequence[str]], pa.Table]]]] = {
    "classification": {"majority": _majority_label, "bag-of-words": _bag_label},
    "regression": {"majority": _mean_score, "bag-of-words": _bag_score},
    "span": {"majority": _majority_span, "bag-of-words": _bag_span},
    "tagging": {"majority": _majority_tag, "memory": _memory_tag, "bag-of-words": _bag_tag},
    "choice": {"majority": _majority_choice, "bag-of-words": _bag_choice},
}
