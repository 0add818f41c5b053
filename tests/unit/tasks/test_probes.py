"""Questions to word vectors: the formats of public sets, and the probes that the project makes."""

import os
from pathlib import Path

import pytest

from stemma.data.input_files import InputFile
from stemma.data.lexicon import TOPICS, plural
from stemma.errors import InputError
from stemma.tasks.offline_probes import make_probe
from stemma.tasks.probes import ProbeKind, Row, probe_path, read_probe, read_questions, write_probe

SHARED = Path(os.environ.get("STEMMA_DATA", Path(__file__).parents[4] / "shared" / "data"))


def read(folder: Path, text: str, kind: ProbeKind) -> list[Row]:
    (folder / "questions.txt").write_bytes(text.encode())
    return list(read_questions([InputFile(folder / "questions.txt", "questions.txt")], kind))


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\n\nold\tnew\t1.58\nbig\tlarge\t9\n",
        "old new 1.58\r\nbig  large 9.0\r\n",
        "Word 1\tWord 2\tHuman (mean)\nold\tnew\t1.58\nbig\tlarge\t9\n",
        "word1\tword2\tPOS\tSimLex999\tconc(w1)\nold\tnew\tA\t1.58\t2.72\nbig\tlarge\tA\t9\t3.1\n",
    ],
)
def test_similarity_files(tmp_path: Path, text: str) -> None:
    expected = [{"first": "old", "second": "new", "score": 1.58}, {"first": "big", "second": "large", "score": 9.0}]
    assert read(tmp_path, text, "similarity") == expected


def test_words_of_a_file_with_tabs_may_hold_spaces(tmp_path: Path) -> None:
    assert read(tmp_path, "New York\t北京\t3\n", "similarity")[0] == {"first": "New York", "second": "北京", "score": 3}


def test_analogy_files(tmp_path: Path) -> None:
    rows = read(
        tmp_path, ": capitals of the world\nAthens Greece Oslo Norway\n: 地理\r\n广东 粤剧 浙江 越剧\r\n", "analogy"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("capitals of the world", "Athens", "Greece", "Oslo", "Norway"),
        ("地理", "广东", "粤剧", "浙江", "越剧"),
    ]


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (
            "similarity",
            "a b 1\na b\n",
            r"questions\.txt:2: expected two words and a score, found 2 columns instead of 3",
        ),
        ("similarity", "a b 1\na b much\n", r"questions\.txt:2: the score 'much' is not a number"),
        ("similarity", "a b nan\n", r"questions\.txt:1: the score 'nan' is not a number"),
        ("similarity", "# nothing\n", r"questions\.txt: no questions in the file"),
        ("analogy", ": x\na b c\n", r"questions\.txt:2: expected four words, found 3"),
        ("analogy", ":\na b c d\n", r"questions\.txt:1: a section without a name"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, kind: ProbeKind, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text, kind)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("kind", "name", "count"),
    [
        ("similarity", "word-similarity/EN-MTurk-771.txt.gz", 771),
        ("similarity", "word-similarity/EN-RW-STANFORD.txt.gz", 2034),
        ("analogy", "word-analogy/CA8-semantic.zh.txt.gz", 7636),
        ("analogy", "word-analogy/questions-phrases.txt.gz", 3218),
    ],
)
def test_original_files(kind: ProbeKind, name: str, count: int) -> None:
    if not (SHARED / name).is_file():
        pytest.skip(f"no {name} in STEMMA_DATA")
    assert len(list(read_questions([InputFile(SHARED / name, name)], kind))) == count


def test_a_stored_probe_is_read_back_and_another_kind_is_refused(tmp_path: Path) -> None:
    path = probe_path(tmp_path, "alike")
    assert write_probe(path, "similarity", [{"first": "a", "second": "b", "score": 1.0}]) == 1
    assert read_probe(path, "similarity") == {"first": ["a"], "second": ["b"], "score": [1.0]}
    with pytest.raises(InputError, match=r"alike\.parquet: holds no analogy probe"):
        read_probe(path, "analogy")
    with pytest.raises(InputError, match=r"gone\.parquet: no such file"):
        read_probe(probe_path(tmp_path, "gone"), "analogy")


def test_story_kinds_are_half_of_one_kind_and_half_of_two() -> None:
    rows = make_probe("story-kinds", "similarity", 600, seed=1)
    assert len({tuple(row.values()) for row in rows}) == 600
    assert abs(sum(row["score"] for row in rows) - 300) <= 30
    nouns = [set(topic.nouns) for topic in TOPICS.values()]
    of_nouns = [row for row in rows if all(any(row[side] in words for words in nouns) for side in ("first", "second"))]
    assert {row["score"] for row in of_nouns} == {0.0, 1.0}
    for row in of_nouns:
        assert row["score"] == any({row["first"], row["second"]} <= words for words in nouns)


def test_words_of_two_kinds_are_not_asked() -> None:
    rows = make_probe("story-kinds", "similarity", 2000, seed=1)
    words = {row[side].lower() for row in rows for side in ("first", "second")}
    assert "rope" not in words  # at sea and on mountains
    assert "lily" not in words  # in gardens, and a name
    assert {"cow", "harbour"} <= words


def test_story_plurals_follow_the_stories_own_rule() -> None:
    rows = make_probe("story-plurals", "analogy", 200, seed=1)
    assert all((row["second"], row["answer"]) == (plural(row["first"]), plural(row["third"])) for row in rows)
    assert (
        make_probe("story-plurals", "analogy", 200, seed=1)
        == rows
        != make_probe("story-plurals", "analogy", 200, seed=2)
    )
