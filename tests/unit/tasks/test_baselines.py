"""What a model must beat."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from stemma.tasks.base import ANSWERS, PREDICTION_SCHEMAS, ROW_SCHEMAS
from stemma.tasks.baselines import BASELINES, chance_statistics
from stemma.tasks.metrics import from_statistics, score

LABELS = ["bad", "good"]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def texts(rows: Sequence[tuple[str, str | None, str]]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"id": f"t{i}", "document": "", "text": text, "text_pair": pair, "label": label}
            for i, (text, pair, label) in enumerate(rows)
        ],
        schema=ROW_SCHEMAS["classification"],
    )


def sentences(rows: Sequence[str]) -> pa.Table:
    """Sentences written as word/TAG."""
    pairs = [[token.rsplit("/", 1) for token in row.split()] for row in rows]
    return pa.Table.from_pylist(
        [
            {"id": f"s{i}", "document": "", "tokens": [pair[0] for pair in row], "tags": [pair[1] for pair in row]}
            for i, row in enumerate(pairs)
        ],
        schema=ROW_SCHEMAS["tagging"],
    )


def reviews(count: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    filler = ["film", "actor", "plot", "scene", "the", "a"]
    rows: list[tuple[str, str | None, str]] = []
    for _ in range(count):
        label = str(rng.choice(LABELS))
        words = [*rng.choice(filler, 6), rng.choice(["great", "fine"] if label == "good" else ["awful", "dull"])]
        rows.append((" ".join(rng.permutation(words)), None, label))
    return texts(rows)


def pairs(count: int, seed: int) -> pa.Table:
    """Pairs of texts, and how many of five words they share."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        first, other = rng.permutation(40)[:5], rng.permutation(40)[:5] + 40
        shared = int(rng.integers(6))
        second = [*first[:shared], *other[shared:]]
        texts = {"text": " ".join(f"w{w}" for w in first), "text_pair": " ".join(f"w{w}" for w in second)}
        rows.append({"id": f"p{number}", "document": "", **texts, "score": float(shared)})
    return pa.Table.from_pylist(rows, schema=ROW_SCHEMAS["regression"])


SPANS = pa.Table.from_pylist(
    [
        {
            "id": f"q{i}",
            "document": "",
            "context": text,
            "question": "Who?",
            "answers": [{"text": text[:3], "start": 0}],
        }
        for i, text in enumerate(["Ada saw Bela.", "Bob saw Carl."])
    ],
    schema=ROW_SCHEMAS["span"],
)
CHOICES = pa.Table.from_pylist(
    [
        {"id": f"c{i}", "document": "", "context": context, "question": None, "choices": choices, "label": label}
        for i, (context, choices, label) in enumerate(
            [
                ("the red boat", ["the cow", "a red boat"], "y"),
                ("the blue cow", ["a blue cow", "the boat"], "x"),
                ("the old boat", ["the cow", "the red boat"], "y"),
            ]
        )
    ],
    schema=ROW_SCHEMAS["choice"],
)
CASES = {
    "choice": (CHOICES, CHOICES, ["x", "y"]),
    "classification": (reviews(60, 1), reviews(40, 2), LABELS),
    "regression": (pairs(60, 1), pairs(20, 2), []),
    "span": (SPANS, SPANS.slice(0, 1), []),
    "tagging": (
        sentences(
            ["Ada/B-PER Byron/I-PER saw/O Paris/B-LOC ./O", "Paris/B-LOC likes/O Ada/B-PER ./O", "he/O saw/O it/O"]
        ),
        sentences(["Ada/B-PER likes/O Paris/B-LOC ./O", "Zoe/B-PER saw/O it/O"]),
        TAGS,
    ),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, named in BASELINES.items() for name in named])
def test_every_baseline_answers_every_row_without_seeing_the_answer(kind, name):
    train, test, labels = CASES[kind]
    unanswered = test.drop_columns([ANSWERS[kind]])
    predictions = BASELINES[kind][name](train, unanswered, labels)
    assert predictions.schema.equals(PREDICTION_SCHEMAS[kind])
    assert predictions["id"].to_pylist() == test["id"].to_pylist()
    assert predictions.equals(BASELINES[kind][name](train, unanswered, labels))
    score(kind, test, predictions, labels)


def test_of_choices_the_commonest_place_and_the_one_most_like_the_context_are_taken():
    majority = BASELINES["choice"]["majority"](CHOICES, CHOICES, ["x", "y"])
    assert majority["label"].to_pylist() == ["y", "y", "y"]
    assert majority["text"].to_pylist() == ["a red boat", "the boat", "the red boat"]
    bag = BASELINES["choice"]["bag-of-words"](CHOICES, CHOICES, ["x", "y"])
    assert bag["label"].to_pylist() == ["y", "x", "y"]
    chance = chance_statistics("choice", CHOICES, CHOICES, ["x", "y"], seed=1, guesses=2000)
    assert from_statistics("accuracy", chance) == pytest.approx(0.5, abs=0.03)


def test_majority_label():
    train = texts([("x", None, "good"), ("y", None, "bad"), ("z", None, "good")])
    predictions = BASELINES["classification"]["majority"](train, texts([("a", None, "bad")]), LABELS)
    assert predictions.to_pylist() == [{"id": "t0", "label": "good", "probabilities": [0.0, 1.0]}]


def test_a_bag_of_words_reads_words_but_not_their_order():
    train, test, labels = CASES["classification"]
    predictions = BASELINES["classification"]["bag-of-words"](train, test, labels)
    assert score("classification", test, predictions, labels)["accuracy"] > 0.95
    reversed_texts = pa.array([" ".join(reversed(text.split())) for text in test["text"].to_pylist()])
    turned = test.set_column(test.schema.get_field_index("text"), test.schema.field("text"), reversed_texts)
    again = BASELINES["classification"]["bag-of-words"](train, turned, labels)
    assert predictions["label"].to_pylist() == again["label"].to_pylist()


def test_a_bag_of_words_has_a_bag_for_each_text_of_a_pair():
    """Only the second text tells, and both texts in one bag would not."""
    train = texts(
        [("red", "blue", "good"), ("blue", "red", "bad"), ("blue", "blue", "good"), ("red", "red", "bad")] * 5
    )
    predictions = BASELINES["classification"]["bag-of-words"](train, train, LABELS)
    assert score("classification", train, predictions, LABELS)["accuracy"] == 1


@pytest.mark.parametrize("kind", ["classification", "tagging"])
def test_with_one_answer_in_training_a_bag_of_words_gives_it(kind):
    train = texts([("x", None, "good")] * 3) if kind == "classification" else sentences(["a/O b/O"])
    predictions = BASELINES[kind]["bag-of-words"](train, train, CASES[kind][2])
    assert score(kind, train, predictions, CASES[kind][2])["accuracy" if kind == "classification" else "recall"] in (
        0,
        1,
    )
    column = predictions["label" if kind == "classification" else "tags"].to_pylist()
    assert column == (["good"] * 3 if kind == "classification" else [["O", "O"]])


def test_majority_tag_finds_no_entity_and_memory_knows_seen_words():
    train, test, labels = CASES["tagging"]
    majority = BASELINES["tagging"]["majority"](train, test, labels)
    assert majority["tags"].to_pylist() == [["O"] * 4, ["O"] * 3]
    memory = BASELINES["tagging"]["memory"](train, test, labels)
    assert memory["tags"].to_pylist() == [["B-PER", "O", "B-LOC", "O"], ["O", "O", "O"]]


def test_a_bag_of_words_for_tags_uses_neighbours():
    """What follows 'in' is a place, whatever the word."""
    train = sentences([f"{a}/O in/O {b}/B-LOC ./O" for a, b in [("uu", "vv"), ("vv", "ww"), ("ww", "uu")] * 10])
    predictions = BASELINES["tagging"]["bag-of-words"](train, sentences(["new/O in/O other/O ./O"]), TAGS)
    assert predictions["tags"].to_pylist()[0][2] == "B-LOC"


def test_chance_is_close_to_the_expected_score():
    labels = ["a", "b", "c", "d"]
    rng = np.random.default_rng(3)
    test = texts([("x", None, str(rng.choice(labels))) for _ in range(500)])
    statistics = chance_statistics("classification", test, test, labels, seed=1)
    # 10,000 guesses: three standard deviations
    assert from_statistics("accuracy", statistics) == pytest.approx(0.25, abs=0.013)
    assert from_statistics("matthews", statistics) == pytest.approx(0, abs=0.02)
    again = chance_statistics("classification", test, test, labels, seed=1)
    assert np.array_equal(statistics["true"], again["true"])


def test_chance_of_tags():
    test = sentences(["Ada/B-PER saw/O Paris/B-LOC"] * 50)
    statistics = chance_statistics("tagging", test, test, ["O", "B-PER", "B-LOC"], seed=1)
    assert from_statistics("recall", statistics) == pytest.approx(1 / 3, abs=0.04)


def test_scores_have_a_mean_and_a_bag_of_words():
    train, test = pairs(200, 1), pairs(100, 2)
    asked = test.drop_columns(["score"])
    mean, bag = (BASELINES["regression"][name](train, asked, []) for name in ("majority", "bag-of-words"))
    assert set(mean["score"].to_pylist()) == {np.float32(np.mean(train["score"].to_numpy()))}
    assert score("regression", test, mean, []) == {"spearman": 0, "pearson": 0}
    assert score("regression", test, bag, [])["spearman"] > 0.9
    assert bag.equals(BASELINES["regression"]["bag-of-words"](train, asked, []))
    chance = chance_statistics("regression", train, test, [], seed=1)
    assert abs(from_statistics("spearman", chance)) < 0.3
