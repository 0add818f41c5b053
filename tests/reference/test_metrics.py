"""Our scores against scikit-learn, scipy, seqeval and cases worked out by hand from the rules of the SQuAD v1.1 script."""

import warnings
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from seqeval import metrics as seqeval
from sklearn import metrics as sklearn

from stemma.tasks.conll import illegal_tag, to_iob2
from stemma.tasks.metrics import score

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-A-B", "I-A-B"]


def tables(column: str, gold: Sequence[object], predicted: Sequence[object]) -> tuple[pa.Table, pa.Table]:
    """Rows and predictions with the same ids."""
    ids = [str(i) for i in range(len(gold))]
    return pa.table({"id": ids, column: gold}), pa.table(
        {"id": ids, "text" if column == "answers" else column: predicted}
    )


@st.composite
def labellings(draw: st.DrawFn) -> tuple[list[str], list[str], list[str]]:
    labels = [f"l{i}" for i in range(draw(st.integers(2, 5)))]
    pairs = draw(st.lists(st.tuples(st.sampled_from(labels), st.sampled_from(labels)), min_size=1, max_size=60))
    return labels, [gold for gold, _ in pairs], [given for _, given in pairs]


@given(labellings())
@settings(max_examples=200, deadline=None)
def test_classification_equals_scikit_learn(case):
    labels, gold, predicted = case
    ours = score("classification", *tables("label", gold, predicted), labels)
    f1 = sklearn.f1_score(gold, predicted, average=None, labels=labels, zero_division=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one label only
        assert ours["accuracy"] == pytest.approx(sklearn.accuracy_score(gold, predicted))
        assert ours["matthews"] == pytest.approx(sklearn.matthews_corrcoef(gold, predicted), abs=1e-12)
    assert ours["f1"] == pytest.approx(f1[1] if len(labels) == 2 else f1.mean(), abs=1e-12)


@given(st.lists(st.tuples(st.floats(0, 5, width=16), st.floats(-9, 9, width=16)), min_size=3, max_size=60))
@settings(max_examples=200, deadline=None)
def test_regression_equals_scipy(pairs):
    gold, predicted = ([float(value) for value in side] for side in zip(*pairs, strict=True))
    ours = score("regression", *tables("score", gold, predicted), [])
    if len(set(gold)) == 1 or len(set(predicted)) == 1:
        assert ours == {"spearman": 0, "pearson": 0}
        return
    assert ours["spearman"] == pytest.approx(stats.spearmanr(gold, predicted).statistic, abs=1e-9)
    assert ours["pearson"] == pytest.approx(stats.pearsonr(gold, predicted).statistic, abs=1e-7)


@st.composite
def taggings(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]]]:
    lengths = draw(st.lists(st.integers(1, 12), min_size=1, max_size=8))
    tags = st.sampled_from(TAGS)  # any order, so that most sequences are broken ones
    sides = [[draw(st.lists(tags, min_size=length, max_size=length)) for length in lengths] for _ in range(2)]
    return sides[0], sides[1]


@given(taggings())
@settings(max_examples=300, deadline=None)
def test_tagging_equals_seqeval(case):
    gold, predicted = case
    ours = score("tagging", *tables("tags", gold, predicted), TAGS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no entity on one side
        assert ours["entity_f1"] == pytest.approx(seqeval.f1_score(gold, predicted, zero_division=0))
        assert ours["precision"] == pytest.approx(seqeval.precision_score(gold, predicted, zero_division=0))
        assert ours["recall"] == pytest.approx(seqeval.recall_score(gold, predicted, zero_division=0))


def conlleval_chunks(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """First token, last token and type of every chunk, by conlleval's own rules on a tag and the one before it.

    A chunk begins at `B`, at `I` behind `O`, and where the type changes; it ends before the next that begins and before `O`.
    """
    chunks: set[tuple[int, int, str]] = set()
    begin: int | None = None
    before, kind_before = "O", ""
    for at, tag in enumerate([*tags, "O"]):
        letter, _, kind = tag.partition("-")
        ends = before in "BI" and (letter in "BO" or kind != kind_before)
        begins = letter == "B" or (letter == "I" and (before == "O" or kind != kind_before))
        if ends and begin is not None:
            chunks.add((begin, at - 1, kind_before))
            begin = None
        begin = at if begins else begin
        before, kind_before = letter, kind
    return chunks


@given(taggings())
@settings(max_examples=300, deadline=None)
def test_tagging_equals_conllevals_rules(case):
    """Also for the broken sequences of which most are made."""
    gold, predicted = case
    chunks = [(conlleval_chunks(one), conlleval_chunks(other)) for one, other in zip(gold, predicted, strict=True)]
    right, given_, wanted = (
        sum(len(one & other) for one, other in chunks),
        sum(len(other) for _, other in chunks),
        sum(len(one) for one, _ in chunks),
    )
    ours = score("tagging", *tables("tags", gold, predicted), TAGS)
    expected = 2 * right / (given_ + wanted) if given_ + wanted else 0
    assert ours["entity_f1"] == pytest.approx(expected)


@given(st.lists(st.sampled_from(TAGS), min_size=1, max_size=15))
@settings(max_examples=300, deadline=None)
def test_both_of_conlls_conventions_mean_the_same_chunks(tags):
    """What is written in IOB1 has the same chunks once it is IOB2, where every chunk begins with `B`."""
    converted = to_iob2(tags)
    assert conlleval_chunks(converted) == conlleval_chunks(tags)
    assert illegal_tag(converted) is None
    assert sum(tag[0] == "B" for tag in converted) == len(conlleval_chunks(tags))


# Derived by hand: right, given and wanted entities.
BROKEN = [
    ("B-PER I-PER O", "B-PER I-PER O", 1, 1, 1),
    ("B-PER I-PER O", "I-PER I-PER O", 1, 1, 1),  # an I behind nothing begins
    ("B-PER I-PER O", "B-PER B-PER O", 0, 2, 1),  # two that touch
    ("B-PER I-PER O", "B-PER I-LOC O", 0, 2, 1),  # the type changes, so one ends and one begins
    ("B-PER I-PER I-PER", "B-PER O I-PER", 0, 2, 1),
    ("B-PER B-LOC I-LOC", "B-PER I-LOC I-LOC", 2, 2, 2),
    ("O O O", "O I-LOC O", 0, 1, 0),
    ("B-A-B I-A-B O", "B-A-B I-A-B O", 1, 1, 1),  # a type may have a hyphen
]


@pytest.mark.parametrize(("gold", "predicted", "right", "given_", "wanted"), BROKEN)
def test_entities_by_hand(gold, predicted, right, given_, wanted):
    ours = score("tagging", *tables("tags", [gold.split()], [predicted.split()]), TAGS)
    assert ours["precision"] == pytest.approx(right / given_ if given_ else 0)
    assert ours["recall"] == pytest.approx(right / wanted if wanted else 0)


def test_tagging_equals_seqeval_on_plausible_output():
    """Mostly right predictions, as a model gives them: the matched entities are many."""
    rng = np.random.default_rng(7)
    gold = [list(rng.choice(TAGS, 20, p=[0.4, 0.2, 0.2, 0.05, 0.05, 0.05, 0.05])) for _ in range(200)]
    predicted = [[tag if rng.random() < 0.9 else str(rng.choice(TAGS)) for tag in tags] for tags in gold]
    ours = score("tagging", *tables("tags", gold, predicted), TAGS)
    assert 0.5 < ours["entity_f1"] < 0.95
    assert ours["entity_f1"] == pytest.approx(seqeval.f1_score(gold, predicted))


# What the rules give, worked out by hand: small letters, then ASCII punctuation out, then the words a, an, the out,
# then spaces made single; F1 of the bags of words; the best over the answers.
SQUAD = [
    (["the Eiffel Tower"], "Eiffel tower.", 1, 1),  # article, case, punctuation
    (["Eiffel Tower"], "tall Eiffel Tower", 0, 4 / 5),  # P 2/3, R 1
    (["a man and a dog"], "an man, the dog", 0, 4 / 5),  # "man and dog" and "man dog"
    (["another theatre"], "other theatre", 0, 1 / 2),  # an article is a whole word
    (["don't"], "dont", 1, 1),
    (["twenty-one"], "twenty one", 0, 0),  # the hyphen goes, the words grow together
    (["U.S."], "US", 1, 1),
    (["one", "two", "two three"], "two", 1, 1),  # best of several
    (["two three", "one"], "two", 0, 2 / 3),
    (["the"], "a", 1, 0),  # nothing is left of either: equal, but no word is shared
    (["x"], "", 0, 0),
    (["“x”"], "x", 0, 0),  # typographic quotes are no ASCII punctuation
    (["café"], "CAFÉ", 1, 1),
    (["cafe"], "café", 0, 0),  # accents stay
    (["北京 大学"], "北京", 0, 2 / 3),
    (["x\u00a0y"], "x y", 1, 1),  # a no-break space is a space
    (["la la la"], "la", 0, 1 / 2),  # bags count: P 1, R 1/3
    (["la"], "la la la", 0, 1 / 2),
    (["$5"], "5", 1, 1),
    (["£5"], "5", 0, 0),
]


@pytest.mark.parametrize(("answers", "text", "exact", "overlap"), SQUAD)
def test_span_by_hand(answers, text, exact, overlap):
    rows, predictions = tables("answers", [[{"text": answer, "start": 0} for answer in answers]], [text])
    assert score("span", rows, predictions, []) == pytest.approx({"em": exact, "f1": overlap})


# As SQuAD 2.0 has it: where there is no answer, right is to say nothing; where there is one, nothing is wrong.
@pytest.mark.parametrize(
    ("answers", "text", "exact"),
    [([], "", 1), ([], "x", 0), ([], "the", 1), ([], "!", 1), (["x"], "", 0), (["x"], "the x", 1)],
)
def test_questions_without_an_answer_by_hand(answers, text, exact):
    rows, predictions = tables("answers", [[{"text": answer, "start": 0} for answer in answers]], [text])
    assert score("span", rows, predictions, []) == {"em": exact, "f1": exact}


def test_span_is_the_mean_over_rows():
    answers = [[{"text": answer, "start": 0} for answer in answers] for answers, *_ in SQUAD]
    expected = {"em": np.mean([case[2] for case in SQUAD]), "f1": np.mean([case[3] for case in SQUAD])}
    assert score("span", *tables("answers", answers, [case[1] for case in SQUAD]), []) == pytest.approx(expected)
