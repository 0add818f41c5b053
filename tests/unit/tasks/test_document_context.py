"""Rows in their documents: how much is read on either side, of what, and that nothing is asked of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemma.families.bert.network import load_encoder
from stemma.progress import NullProgress
from stemma.tasks.document_context import find_context
from stemma.tasks.features import encode_rows, tag_targets
from stemma.tasks.predictor import Predictor
from stemma.tasks.tuning import Tuner
from stemma.training.tracker import NullTracker
from tests import toy_bert, toy_tasks
from tests.unit.tasks.test_features import CLS, SEP, TOKENIZER, inputs, make_rows, make_task

LABELS = ["O", "B-X", "I-X"]


def rows_of(*sentences: tuple[str, str]) -> pa.Table:
    """Rows of a document and words."""
    return make_rows(
        "tagging",
        [
            {"document": document, "tokens": text.split(), "tags": ["B-X"] * len(text.split())}
            for document, text in sentences
        ],
    )


def read(rows: pa.Table, max_length: int) -> list[tuple[str, str]]:
    """Each input's letters, and those of them that are the row's own words."""
    task = make_task("tagging", document_context=True, max_length=max_length)
    features = encode_rows(rows, task, TOKENIZER, max_length)
    assert features.words is not None
    found = []
    for number, ids in enumerate(inputs(features)):
        assert (ids[0], ids[-1]) == (CLS, SEP)
        assert len(ids) <= max_length
        words = features.words.values[features.words.offsets[number] : features.words.offsets[number + 1]]
        letters = [str(TOKENIZER.id_to_token(token)) for token in ids]
        own = [letter for letter, word in zip(letters, words, strict=True) if word >= 0]
        found.append((" ".join(letters[1:-1]), " ".join(own)))
    return found


DOCUMENT = rows_of(("one", "a b"), ("one", "c d"), ("one", "e"), ("one", "f g"), ("two", "h i"), ("two", "j"))


@pytest.mark.parametrize(
    ("max_length", "texts"),
    [
        (3, ["a", "c", "e", "f", "h", "j"]),  # no room, and the longer ones are cut
        (4, ["a b", "c d", "e f", "f g", "h i", "i j"]),  # of an odd number the one behind gets more
        (6, ["a b c d", "b c d e", "d e f g", "d e f g", "h i j", "h i j"]),
        (7, ["a b c d e", "b c d e f", "c d e f g", "c d e f g", "h i j", "h i j"]),
        (50, [*["a b c d e f g"] * 4, "h i j", "h i j"]),
    ],
)
def test_the_room_is_filled_from_both_sides(max_length, texts):
    own = ["a b", "c d", "e", "f g", "h i", "j"] if max_length > 3 else texts
    assert read(DOCUMENT, max_length) == list(zip(texts, own, strict=True))


def test_pieces_of_words_are_counted_and_none_of_the_neighbours_are_asked_for():
    rows = rows_of(("one", "ab c"), ("one", "de"), ("one", "fgh"))
    assert read(rows, 9)[1] == ("##b c d ##e f ##g ##h", "d")
    task = make_task("tagging", document_context=True)
    features = encode_rows(rows, task, TOKENIZER, 9)
    targets = tag_targets(rows, features, LABELS)
    begin, end = targets.offsets[1:3]
    assert targets.values[begin:end].tolist() == [-100, -100, -100, 1, -100, -100, -100, -100, -100]
    assert features.words is not None
    assert sorted(features.words.values[features.words.values >= 0]) == list(range(4)), "every word once"


def test_rows_without_a_document_and_documents_that_come_again_are_apart():
    rows = rows_of(("", "a"), ("", "b"), ("one", "c"), ("two", "d"), ("one", "e"), ("one", "f"))
    assert [text for text, _ in read(rows, 20)] == ["a", "b", "c", "d", "e f", "e f"]


def test_empty_rows_are_no_trouble():
    assert [text for text, _ in read(rows_of(("one", ""), ("one", "a"), ("one", "")), 10)] == ["a"] * 3
    assert read(rows_of(), 10) == []


def test_without_the_setting_nothing_changes():
    plain = encode_rows(DOCUMENT, make_task("tagging"), TOKENIZER, 24)
    assert inputs(plain)[0] == [CLS, *TOKENIZER.encode("a b", add_special_tokens=False).ids, SEP]
    alone = DOCUMENT.drop_columns(["document"])
    task = make_task("tagging", document_context=True)
    assert inputs(encode_rows(alone, task, TOKENIZER, 24)) == inputs(plain)


@given(st.lists(st.tuples(st.sampled_from(["", "x", "y"]), st.integers(0, 9)), max_size=12), st.integers(1, 20))
def test_context_fills_the_room_and_stays_in_the_document(rows, room):
    """Against a count of pieces one by one."""
    names, sizes = [name for name, _ in rows], [size for _, size in rows]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    context = find_context(pa.chunked_array([pa.array(names, pa.string())]), offsets, room)
    for number, (name, size) in enumerate(rows):
        first = last = number
        while name and first and names[first - 1] == name:
            first -= 1
        while name and last + 1 < len(rows) and names[last + 1] == name:
            last += 1
        before, behind = sum(sizes[first:number]), sum(sizes[number + 1 : last + 1])
        left, taken = max(0, room - size), [0, 0]
        while left and (before > taken[0] or behind > taken[1]):  # one by one, behind first, from whichever has fewer
            side = 1 if behind > taken[1] and (taken[1] <= taken[0] or before == taken[0]) else 0
            taken[side] += 1
            left -= 1
        assert [context.before[number], context.behind[number]] == taken


def documents(count: int) -> pa.Table:
    """Rows of random words in documents of five."""
    rng = np.random.default_rng(4)
    rows: list[dict[str, Any]] = []
    for number in range(count):
        words = toy_bert.sentence(rng, int(rng.integers(1, 7))).split()
        rows.append({"document": f"d{number // 5}", "tokens": words, "tags": [LABELS[len(word) % 2] for word in words]})
    return make_rows("tagging", rows)


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    """A toy that was tuned with context."""
    folder: Path = tmp_path_factory.mktemp("context")
    encoder = load_encoder(toy_tasks.write_pretrained(folder / "bert"))
    task, rows = make_task("tagging", document_context=True), documents(60)
    tuner = Tuner(encoder, "letters", task, toy_tasks.FINETUNING, train=rows, validation=rows.slice(0, 20))
    tuned = tuner.tune(1, scratch=folder / "scratch", tracker=NullTracker(), progress=NullProgress())
    return Predictor(task_name="letters", task=task, model=tuned.model, tokenizer=encoder.tokenizer)


def test_answers_do_not_change_with_the_rows_that_are_predicted_at_once(predictor):
    rows = documents(83)
    wanted = predictor.predict(rows)
    assert [len(tags) for tags in wanted["tags"].to_pylist()] == [len(words) for words in rows["tokens"].to_pylist()]
    for at_once in (1, 7, 256):
        assert predictor.predict(rows, at_once=at_once).equals(wanted)
    parted = pa.concat_tables([predictor.predict(rows.slice(begin, 5)) for begin in range(0, 83, 5)])
    assert parted.combine_chunks().equals(wanted.combine_chunks()), "a document needs no other document"


def test_neighbours_matter_only_within_a_document(predictor):
    """What the network sees of a row changes with its neighbours, and never with another document."""
    rows = documents(15)
    one, other = rows.slice(0, 10), pa.concat_tables([rows.slice(0, 5), rows.slice(10, 5)])

    def inputs_of(table: pa.Table) -> list[list[int]]:
        return inputs(encode_rows(table, predictor.task, predictor.tokenizer, 24))

    assert inputs_of(one)[:5] == inputs_of(other)[:5]
    assert inputs_of(rows.slice(1, 4))[0] != inputs_of(rows)[1]
