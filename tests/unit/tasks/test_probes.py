"""Questions to word vectors: the formats of public sets, and the probes that the project makes."""

import gzip
import os
from collections import Counter
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


def test_every_two_lines_of_a_relation_are_questions(tmp_path: Path) -> None:
    path = tmp_path / "L4.txt.gz"
    path.write_bytes(gzip.compress(b"bag\tleather/fabric\r\nbeach\tsand/rocks/\r\nsea\twater"))
    rows = list(read_questions([InputFile(path, "bats/L4.txt.gz")], "analogy"))
    assert len(rows) == 6
    assert [tuple(row.values()) for row in rows[:3]] == [
        ("L4", "bag", "leather", "beach", "sand/rocks"),
        ("L4", "bag", "leather", "sea", "water"),
        ("L4", "beach", "sand", "bag", "leather/fabric"),
    ]


def test_questions_in_msrs_columns(tmp_path: Path) -> None:
    path = tmp_path / "msr.csv"
    path.write_text(",type,word1,word2,word3,target\n0,JJ_JJR,good,better,rough,rougher\n1,N,dog,dog's,cat,cat's\n")
    rows = list(read_questions([InputFile(path, "msr.csv")], "analogy"))
    assert [tuple(row.values()) for row in rows] == [
        ("JJ_JJR", "good", "better", "rough", "rougher"),
        ("N", "dog", "dog's", "cat", "cat's"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("E1.txt", "abuja\tnigeria\namman\n", r"E1\.txt:2: expected a word and its partners, found 1 columns"),
        ("E1.txt", "abuja\tnigeria\namman\t/\n", r"E1\.txt:2: expected a word and its partners"),
        ("msr.csv", "type,word1,word2,target\n", r"msr\.csv:1: no column 'word3'; expected type, word1"),
        ("msr.csv", "type,word1,word2,word3,target\nN,a,b,c\n", r"msr\.csv:2: 4 columns, expected 5"),
        ("msr.csv", "type,word1,word2,word3,target\n", r"msr\.csv: no questions in the file"),
    ],
)
def test_a_bad_line_of_a_table_of_analogies_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        list(read_questions([InputFile(tmp_path / name, name)], "analogy"))


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("kind", "name", "count"),
    [
        ("similarity", "word-similarity/EN-WS-353-ALL.txt.gz", 353),
        ("similarity", "word-similarity/EN-WS-353-SIM.txt.gz", 203),
        ("similarity", "word-similarity/EN-WS-353-REL.txt.gz", 252),
        ("similarity", "word-similarity/EN-SIMLEX-999.txt.gz", 999),
        ("similarity", "word-similarity/EN-SimVerb-3500.txt.gz", 3500),
        ("similarity", "word-similarity/EN-MEN-TR-3k.txt.gz", 3000),
        ("similarity", "word-similarity/EN-MTurk-287.txt.gz", 287),
        ("similarity", "word-similarity/EN-RG-65.txt.gz", 65),
        ("similarity", "word-similarity/EN-MC-30.txt.gz", 30),
        ("similarity", "word-similarity/EN-YP-130.txt.gz", 130),
        ("similarity", "word-similarity/EN-VERB-143.txt.gz", 144),
        ("analogy", "word-analogy/msr.csv.gz", 8000),
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


@pytest.mark.shared_data
def test_the_original_folder_of_bats() -> None:
    folder = SHARED / "word-analogy/bats"
    if not folder.is_dir():
        pytest.skip("no word-analogy/bats in STEMMA_DATA")
    rows = list(read_questions([InputFile(path, path.name) for path in sorted(folder.iterdir())], "analogy"))
    assert Counter(row["section"] for row in rows) == {f"{kind}{n}": 2450 for kind in "DEIL" for n in range(1, 11)}
    assert all(row["second"] and "/" not in row["second"] for row in rows)


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
