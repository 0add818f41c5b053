import logging
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stemma.config import Splits
from stemma.data.documents import DOCUMENT_SCHEMA, RowGroupWriter
from stemma.data.splits import SPLITS, split_of
from stemma.errors import SettingsError
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.baselines import BASELINES
from stemma.tasks.conll import illegal_tag
from stemma.tasks.metrics import score
from stemma.tasks.offline import RECIPES, make_task

SHARES = Splits(validation=0.2, test=0.3)
SOURCES = ["grammar"]
EXAMPLES = {"train": 100, "validation": 24, "test": 40}
NOUNS = ["river", "harbour", "castle", "engine", "village", "painter", "letter", "garden", "mountain", "teacher"]
VERBS = ["crossed", "found", "praised", "left", "described", "visited"]
NAMES = ["Alba", "Boreas Minor", "Carthage", "Delia Stone", "Emmaus"]


def sentence(rng: np.random.Generator, topic: int) -> str:
    """A sentence of a small grammar; each document has its own nouns."""
    first, second, third = rng.choice(np.roll(NOUNS, topic)[:5], 3)
    name = rng.choice(NAMES)
    verb, year = rng.choice(VERBS), rng.integers(1500, 1999)
    return f"In {year} the old {first} of {name} {verb} a {second} in the very quiet {third} ."


def write_corpus(folder: Path, order: int = 1, num_documents: int = 40, source: str = "grammar") -> Path:
    rows = []
    for number in range(num_documents):
        rng = np.random.default_rng(number)
        text = " ".join(sentence(rng, number) for _ in range(12))
        rows.append({"id": f"document-{number}", "source": source, "licence": "l", "title": "t", "text": text})
    with RowGroupWriter(folder, "documents", DOCUMENT_SCHEMA) as writer:
        for row in rows[::order]:
            writer.write(row, len(row["text"]))
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def tasks(corpus: Path) -> dict[str, dict[str, pa.Table]]:
    return {name: make_task(name, corpus, SOURCES, SHARES, EXAMPLES, seed=1) for name in RECIPES}


def asked(kind: str, row: dict[str, Any]) -> tuple[Any, ...]:
    columns = {"classification": ["text"], "span": ["context"], "choice": ["context"]}
    return tuple(row[name] for name in columns.get(kind, [])) or tuple(row["tokens"])


@pytest.mark.parametrize("name", RECIPES)
def test_the_same_rows_come_again_whatever_the_order_of_documents(name, corpus, tasks, tmp_path):
    turned = make_task(name, write_corpus(tmp_path, order=-1), SOURCES, SHARES, EXAMPLES, seed=1)
    assert all(tasks[name][split].equals(turned[split]) for split in SPLITS)
    assert not tasks[name]["train"].equals(make_task(name, corpus, SOURCES, SHARES, EXAMPLES, seed=2)["train"])


@pytest.mark.parametrize("name", RECIPES)
def test_rows_have_the_schema_of_their_kind_and_as_many_as_asked(name, tasks):
    for split in SPLITS:
        assert tasks[name][split].schema.equals(ROW_SCHEMAS[RECIPES[name].kind])
        assert tasks[name][split].num_rows == EXAMPLES[split]


@pytest.mark.parametrize("name", RECIPES)
def test_rows_of_a_split_come_from_its_documents_only(name, tasks):
    for split in SPLITS:
        documents = set(tasks[name][split]["document"].to_pylist())
        assert documents
        assert {split_of(document, SHARES) for document in documents} == {split}


@pytest.mark.parametrize("name", RECIPES)
def test_no_row_and_no_id_stands_twice(name, tasks):
    rows = [row for split in SPLITS for row in tasks[name][split].to_pylist()]
    assert len({row["id"] for row in rows}) == len(rows)
    assert len({asked(RECIPES[name].kind, row) for row in rows}) == len(rows)


@pytest.mark.parametrize("name", RECIPES)
def test_a_corpus_that_gives_less_is_said_and_used(name, corpus, caplog):
    with caplog.at_level(logging.WARNING, logger="stemma"):
        made = make_task(name, corpus, SOURCES, SHARES, {"train": 100_000, "validation": 2, "test": 2}, seed=1)
    assert 0 < made["train"].num_rows < 100_000
    assert f"{name}: the corpus gives {made['train'].num_rows} train rows of the 100000 asked for" in caplog.text


@pytest.mark.parametrize("name", RECIPES)
def test_documents_of_other_sources_give_no_rows(name, tmp_path):
    made = make_task(name, write_corpus(tmp_path, source="other"), SOURCES, SHARES, EXAMPLES, seed=1)
    assert all(made[split].num_rows == 0 for split in SPLITS)


def test_an_unknown_recipe_is_named(corpus):
    with pytest.raises(
        SettingsError,
        match=r"no recipe 'rhyme'; there are names, next-sentence, odd-words, out-of-order, right-ending, word-order",
    ):
        make_task("rhyme", corpus, SOURCES, SHARES, EXAMPLES, seed=1)


def test_word_order_is_balanced_with_the_same_words_under_both_labels(tasks):
    for split in SPLITS:
        bags: dict[str, list[list[str]]] = {"natural": [], "scrambled": []}
        for row in tasks["word-order"][split].to_pylist():
            bags[row["label"]].append(sorted(row["text"].split()))
        assert sorted(bags["natural"]) == sorted(bags["scrambled"])


def test_the_place_of_a_word_order_row_does_not_tell_its_label(tasks):
    first = tasks["word-order"]["train"]["label"].to_pylist()[::2]
    assert 0.3 < first.count("natural") / len(first) < 0.7


def test_a_bag_of_words_cannot_tell_word_order(tasks):
    rows, labels = tasks["word-order"], list(RECIPES["word-order"].labels)
    guesses = BASELINES["classification"]["bag-of-words"](rows["train"], rows["test"], labels)
    assert score("classification", rows["test"], guesses, labels)["accuracy"] == pytest.approx(0.5)


def test_words_out_of_order_are_where_the_answer_says_and_are_the_writers_own(corpus, tasks):
    sentences = corpus_sentences(corpus)
    for split in SPLITS:
        for row in tasks["out-of-order"][split].to_pylist():
            (answer,) = row["answers"]
            start, end = answer["start"], answer["start"] + len(answer["text"])
            assert row["context"][start:end] == answer["text"]
            written = {
                tuple(sorted(f"{first} {second}".split())) for first, second in pairs(sentences[row["document"]])
            }
            assert tuple(sorted(row["context"].split())) in written
            assert row["context"] not in {f"{first} {second}" for first, second in pairs(sentences[row["document"]])}


def test_odd_words_are_of_another_document_and_the_rest_is_untouched(corpus, tasks):
    sentences = corpus_sentences(corpus)
    for split in SPLITS:
        elsewhere = {
            document: set(" ".join(lines).split())
            for document, lines in sentences.items()
            if split_of(document, SHARES) == split
        }
        for row in tasks["odd-words"][split].to_pylist():
            assert illegal_tag(row["tags"]) is None
            odd = [token for token, tag in zip(row["tokens"], row["tags"], strict=True) if tag != "O"]
            assert odd
            others = set().union(*(words for document, words in elsewhere.items() if document != row["document"]))
            assert set(odd) <= others
            kept = [token if tag == "O" else None for token, tag in zip(row["tokens"], row["tags"], strict=True)]
            assert any(
                all(mine in (None, theirs) for mine, theirs in zip(kept, f"{first} {second}".split(), strict=True))
                for first, second in pairs(sentences[row["document"]])
                if len(f"{first} {second}".split()) == len(kept)
            )


def test_the_next_sentence_is_the_writers_own_and_the_others_are_of_other_documents(corpus, tasks):
    sentences = corpus_sentences(corpus)
    labels = RECIPES["next-sentence"].labels
    places = []
    for split in SPLITS:
        of_split = {document: lines for document, lines in sentences.items() if split_of(document, SHARES) == split}
        for row in tasks["next-sentence"][split].to_pylist():
            right = labels.index(row["label"])
            places.append(right)
            assert (row["context"], row["choices"][right]) in pairs(sentences[row["document"]])
            wrong = [choice for at, choice in enumerate(row["choices"]) if at != right]
            assert len({*wrong, row["choices"][right]}) == len(labels)
            owners = [
                {document for document, lines in of_split.items() if choice in lines} - {row["document"]}
                for choice in wrong
            ]
            assert all(owners)
            assert len(set().union(*owners)) >= len(wrong)
    assert all(20 < places.count(at) < 65 for at in range(4)), "164 rows, the right one in any place"


def test_the_right_ending_is_the_writers_own_and_the_others_end_other_sentences(corpus, tasks):
    sentences = corpus_sentences(corpus)
    labels = RECIPES["right-ending"].labels
    for split in SPLITS:
        of_split = {document: lines for document, lines in sentences.items() if split_of(document, SHARES) == split}
        for row in tasks["right-ending"][split].to_pylist():
            right = labels.index(row["label"])
            assert f"{row['context']} {row['choices'][right]}" in sentences[row["document"]]
            assert abs(len(row["context"].split()) - len(row["choices"][right].split())) <= 1
            assert len(set(row["choices"])) == len(labels)
            for choice in row["choices"]:
                assert any(line.endswith(f" {choice}") for lines in of_split.values() for line in lines)
            wrong = (f"{row['context']} {choice}" for at, choice in enumerate(row["choices"]) if at != right)
            assert not set(wrong) & set(sentences[row["document"]])


def pairs(lines: list[str]) -> list[tuple[str, str]]:
    return list(zip(lines[::2], lines[1::2], strict=False))


def corpus_sentences(folder: Path) -> dict[str, list[str]]:
    import pyarrow.parquet as pq

    rows = pq.read_table(folder / "documents-00000.parquet").to_pylist()
    return {row["id"]: [f"{part.lower()} ." for part in row["text"].removesuffix(" .").split(" . ")] for row in rows}


def test_names_are_legal_bio_and_show_no_capital(tasks):
    for split in SPLITS:
        for row in tasks["names"][split].to_pylist():
            assert illegal_tag(row["tags"]) is None
            assert set(row["tags"]) <= set(RECIPES["names"].labels)
            assert row["tokens"] == [token.lower() for token in row["tokens"]]


def test_names_are_the_runs_of_capitals(tasks):
    wanted = {tuple(name.lower().split()) for name in NAMES}
    for row in tasks["names"]["test"].to_pylist():
        found = [token for token, tag in zip(row["tokens"], row["tags"], strict=True) if tag != "O"]
        assert tuple(found) in wanted
        assert row["tags"].count("B-NAME") == 1
