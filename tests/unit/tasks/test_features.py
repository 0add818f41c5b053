"""Rows as inputs: texts, words, windows, and where their labels go."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from stemma.config import Task
from stemma.errors import InputError
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.features import Features, answer_columns, encode_rows, label_codes, tag_targets
from stemma.text.segmentation import chinese_pre_tokenizer
from tests import toy_bert

CLS, SEP = 2, 3
TOKENIZER = toy_bert.tokenizer()
# what the pieces are made of, spaces, what is no piece, what the tokenizer drops, and more than one byte
TEXT = st.text(alphabet="abcj. '?\u200b\u00e9\U0001f600", max_size=80)
WORD = st.text(alphabet="abcj.?\u200b\u00e9", max_size=6)


def make_task(kind: str, **changes: Any) -> Task:
    fixed: dict[str, Any] = {
        "classification": {"labels": ["no", "yes"], "metric": "accuracy"},
        "regression": {"labels": [], "metric": "spearman", "score_range": (0, 5)},
        "span": {"labels": [], "metric": "f1"},
        "tagging": {"labels": ["O", "B-X", "I-X"], "metric": "entity_f1"},
        "choice": {"labels": ["a", "b", "c"], "metric": "accuracy"},
    }
    source = {"kind": "offline", "recipe": "r", "corpus": "c", "sources": ["s"], "examples": {"train": 1}}
    return Task(**{"kind": kind, "source": source, "max_length": 24, **fixed[kind], **changes})


def make_rows(kind: str, rows: list[dict[str, Any]]) -> pa.Table:
    filled = [{"id": f"r{number}", "document": "", "text_pair": None, **row} for number, row in enumerate(rows)]
    schema = ROW_SCHEMAS[kind]  # type: ignore[index]
    return pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in filled], schema=schema)


def inputs(features: Features) -> list[list[int]]:
    return [
        features.ids.values[begin:end].tolist()
        for begin, end in zip(features.ids.offsets[:-1], features.ids.offsets[1:], strict=True)
    ]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(TEXT, st.none() | TEXT), min_size=1, max_size=5))
def test_texts_are_as_the_tokenizer_gives_them(texts):
    rows = make_rows("classification", [{"text": a, "text_pair": b, "label": "no"} for a, b in texts])
    features = encode_rows(rows, make_task("classification"), TOKENIZER, 24)
    wanted = tokenizers.Tokenizer.from_str(TOKENIZER.to_str())
    wanted.enable_truncation(24)
    for given_ids, types, (a, b) in zip(
        inputs(features), np.split(features.types.values, features.types.offsets[1:-1]), texts, strict=True
    ):
        encoding = wanted.encode(a) if b is None else wanted.encode(a, b)
        assert given_ids == encoding.ids
        assert types.tolist() == encoding.type_ids
        assert len(given_ids) <= 24


def test_the_longer_text_is_cut_first():
    rows = make_rows("classification", [{"text": "a " * 30, "text_pair": "b b", "label": "no"}])
    (ids,) = inputs(encode_rows(rows, make_task("classification"), TOKENIZER, 12))
    assert ids == [CLS, *[5] * 7, SEP, 6, 6, SEP]


def test_the_caller_s_tokenizer_is_left_as_it_was():
    tokenizer = toy_bert.tokenizer()
    encode_rows(
        make_rows("classification", [{"text": "a " * 30, "label": "no"}]), make_task("classification"), tokenizer, 8
    )
    assert tokenizer.truncation is None


def test_labels():
    rows = make_rows("classification", [{"text": "a", "label": "yes"}, {"text": "b", "label": "no"}])
    assert label_codes(rows, ["no", "yes"]).tolist() == [1, 0]
    with pytest.raises(InputError, match=r"row 'r0': label 'yes' is not one of no, perhaps"):
        label_codes(rows, ["no", "perhaps"])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(WORD, max_size=20), min_size=1, max_size=4))
def test_words_are_as_the_tokenizer_gives_them(sentences):
    """Against the library's own way with words that are split already."""
    labels = ["O", "B-X", "I-X"]
    tags = [[labels[(i + j) % 3] for j in range(len(words))] for i, words in enumerate(sentences)]
    rows = make_rows("tagging", [{"tokens": w, "tags": t} for w, t in zip(sentences, tags, strict=True)])
    features = encode_rows(rows, make_task("tagging"), TOKENIZER, 24)
    targets = tag_targets(rows, features, labels)
    reference = tokenizers.Tokenizer.from_str(TOKENIZER.to_str())
    reference.enable_truncation(24)
    for number, (words, ids) in enumerate(zip(sentences, inputs(features), strict=True)):
        encoding = reference.encode(words, is_pretokenized=True)
        assert ids == encoding.ids
        wanted, before = [], None
        for word in encoding.word_ids:
            wanted.append(-100 if word is None or word == before else labels.index(tags[number][word]))
            before = word
        assert targets.values[targets.offsets[number] : targets.offsets[number + 1]].tolist() == wanted


def test_a_worked_tagging_example():
    rows = make_rows("tagging", [{"tokens": ["ab", "c"], "tags": ["B-X", "O"]}])
    features = encode_rows(rows, make_task("tagging"), TOKENIZER, 24)
    assert inputs(features) == [[CLS, 5, 16, 7, SEP]]
    assert tag_targets(rows, features, ["O", "B-X", "I-X"]).values.tolist() == [-100, 1, -100, 0, -100]


def test_unequal_tokens_and_tags_are_refused():
    rows = make_rows("tagging", [{"tokens": ["a"], "tags": ["O"]}, {"tokens": ["a", "b"], "tags": ["O"]}])
    features = encode_rows(rows, make_task("tagging"), TOKENIZER, 24)
    with pytest.raises(InputError, match=r"row 'r1': tokens and tags differ in number"):
        tag_targets(rows, features, ["O"])


span_row = st.tuples(TEXT.filter(bool), TEXT, st.integers(0, 79), st.integers(1, 12))


@settings(max_examples=150, deadline=None)
@given(st.lists(span_row, min_size=1, max_size=4), st.sampled_from([12, 24, 40]), st.integers(0, 30))
def test_windows_cover_the_context_and_answers_are_found(examples, max_length, stride):
    rows = make_rows(
        "span",
        [
            {
                "context": c,
                "question": q,
                "answers": [{"text": c[min(b, len(c) - 1) :][:n], "start": min(b, len(c) - 1)}],
            }
            for c, q, b, n in examples
        ],
    )
    features = encode_rows(rows, make_task("span", stride=stride, max_length=max_length), TOKENIZER, max_length)
    columns = answer_columns(rows, features)
    contexts = features.contexts
    assert contexts is not None
    all_inputs = inputs(features)
    for row, (context, question, _, _) in enumerate(examples):
        mine = np.flatnonzero(features.rows == row)
        encoding = TOKENIZER.encode(context, add_special_tokens=False)
        question_ids = TOKENIZER.encode(question, add_special_tokens=False).ids[: (max_length - 3) // 2]
        answer = rows["answers"][row].as_py()[0]
        touched = [
            token
            for token, (begin, end) in enumerate(encoding.offsets)
            if begin < answer["start"] + len(answer["text"]) and end > answer["start"]
        ]
        seen: set[int] = set()
        found = False
        for window in mine:
            ids, count = all_inputs[window], int(contexts.num_tokens[window])
            start = int(contexts.first_token[window] - contexts.tokens[contexts.of_row[row]])
            assert ids == [CLS, *question_ids, SEP, *encoding.ids[start : start + count], SEP]
            assert len(ids) <= max_length
            seen |= set(range(start, start + count))
            if touched and touched[0] >= start and touched[-1] < start + count:
                shift = len(question_ids) + 2 - start
                assert columns[window].tolist() == [touched[0] + shift, touched[-1] + shift]
                found = True
            else:
                assert columns[window].tolist() == [0, 0]
        assert seen == set(range(len(encoding.ids))), "every token of the context is in a window"
        room = max_length - 3 - len(question_ids)
        if touched and touched[-1] - touched[0] < min(stride, room // 2):
            assert found, "an answer shorter than the overlap is whole in some window"


def test_a_worked_window_example():
    # 3 special tokens and a question of 1 leave room for 6 of 9 tokens; 2 overlap
    context = "a b c d e f g h i"
    rows = make_rows("span", [{"context": context, "question": "j", "answers": [{"text": "e f", "start": 8}]}])
    features = encode_rows(rows, make_task("span", stride=2, max_length=10), TOKENIZER, 10)
    assert inputs(features) == [[CLS, 14, SEP, 5, 6, 7, 8, 9, 10, SEP], [CLS, 14, SEP, 9, 10, 11, 12, 13, SEP]]
    assert np.split(features.types.values, features.types.offsets[1:-1])[1].tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert answer_columns(rows, features).tolist() == [[7, 8], [3, 4]]


def test_no_answer_is_the_cls_token():
    rows = make_rows("span", [{"context": "a b", "question": "c", "answers": []}])
    features = encode_rows(rows, make_task("span"), TOKENIZER, 24)
    assert answer_columns(rows, features).tolist() == [[0, 0]]


@pytest.mark.parametrize("kind", ["classification", "span", "tagging", "choice"])
def test_no_rows_are_no_inputs(kind):
    features = encode_rows(make_rows(kind, []), make_task(kind), TOKENIZER, 24)
    assert len(features.ids) == len(features.rows) == features.num_rows == 0


def test_every_choice_is_a_pair_with_the_context():
    rows = make_rows(
        "choice",
        [
            {"context": "a b", "question": "c", "choices": ["d", "e", "f g"], "label": "b"},
            {"context": "a", "question": None, "choices": ["b", "", "c"], "label": "a"},
        ],
    )
    features = encode_rows(rows, make_task("choice"), TOKENIZER, 24)
    texts = [("a b", "c d"), ("a b", "c e"), ("a b", "c f g"), ("a", "b"), ("a", ""), ("a", "c")]
    assert inputs(features) == [TOKENIZER.encode(*pair).ids for pair in texts]
    assert features.types.values.tolist() == [type_ for pair in texts for type_ in TOKENIZER.encode(*pair).type_ids]
    assert (features.rows.tolist(), features.num_rows, features.together) == ([0, 0, 0, 1, 1, 1], 2, 3)
    assert label_codes(rows, ["a", "b", "c"]).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("kind", "column"),
    [("classification", "text"), ("span", "context"), ("tagging", "tokens"), ("choice", "context")],
)
def test_a_missing_column_is_named(kind, column):
    with pytest.raises(InputError, match=f"column '{column}' is missing"):
        encode_rows(pa.table({"id": ["x"]}), make_task(kind), TOKENIZER, 24)


def test_chinese_words_by_jieba_may_be_classified():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "我", "喜欢", "北京"]
    model = tokenizers.models.WordLevel({word: number for number, word in enumerate(words)}, "[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = chinese_pre_tokenizer()  # which is written in Python, so that no JSON can hold it
    tokenizer.post_processor = TOKENIZER.post_processor
    rows = make_rows("classification", [{"text": "我喜欢北京", "label": "yes"}, {"text": "北京" * 30, "label": "no"}])
    assert inputs(encode_rows(rows, make_task("classification"), tokenizer, 8)) == [
        [CLS, 4, 5, 6, SEP],
        [CLS, *[6] * 6, SEP],
    ]
