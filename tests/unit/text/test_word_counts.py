import resource
import sys
from collections import Counter
from pathlib import Path

import pytest

from stemma.text import word_counts
from stemma.text.word_counts import WordCounter

TEXT = "the cat sat on the mat . the cat ran . a dog sat"


def identity(word: str) -> tuple[str, ...]:
    return (word,)


def test_counts_are_exact_and_in_order(tmp_path: Path) -> None:
    counter = WordCounter(tmp_path, memory=1 << 20, split_word=identity)
    counter.add(TEXT)
    counter.add("the")
    expected = Counter([*TEXT.split(), "the"])
    assert counter.most_frequent(100) == sorted(expected.items(), key=lambda item: (-item[1], item[0]))
    assert counter.most_frequent(2) == [("the", 4), (".", 2)]


def test_spilling_to_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"w{n * n % 3001}" for n in range(20_000)]
    monkeypatch.setattr(word_counts, "BYTES_PER_WORD", 1)
    small = WordCounter(tmp_path, memory=1, split_word=identity)
    for begin in range(0, len(words), 2500):
        small.add(" ".join(words[begin : begin + 2500]))
    assert len(list(tmp_path.iterdir())) > 1
    expected = sorted(Counter(words).items(), key=lambda item: (-item[1], item[0]))
    assert small.most_frequent(10**6) == expected
    assert small.most_frequent(5) == expected[:5]


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in /proc")
def test_runs_are_merged_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"w{n * n % 30_011}" for n in range(120_000)]
    monkeypatch.setattr(word_counts, "BYTES_PER_WORD", 1)
    counter = WordCounter(tmp_path, memory=1, split_word=identity)
    for begin in range(0, len(words), 2500):
        counter.add(" ".join(words[begin : begin + 2500]))
    assert len(list(tmp_path.iterdir())) > 2 * word_counts.MERGED_AT_ONCE
    limit = len(list(Path("/proc/self/fd").iterdir())) + word_counts.MERGED_AT_ONCE + 4
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        found = counter.most_frequent(10**6)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert found == sorted(Counter(words).items(), key=lambda item: (-item[1], item[0]))


def test_pieces_are_what_is_counted(tmp_path: Path) -> None:
    counter = WordCounter(tmp_path, memory=1 << 20, split_word=lambda word: tuple(word.lower()) if word != "x" else ())
    counter.add("Ab ab x")
    assert counter.most_frequent(10) == [("a", 2), ("b", 2)]


def test_words_that_no_tokenizer_knows_are_left_out(tmp_path: Path) -> None:
    counter = WordCounter(tmp_path, memory=1 << 20, split_word=identity)
    counter.add("y" * 101 + " " + "z" * 100)
    assert counter.most_frequent(10) == [("z" * 100, 1)]


def test_words_between_spaces(tmp_path: Path) -> None:
    counter = WordCounter(tmp_path, memory=1 << 20, split_word=identity, at_spaces=True)
    counter.add("U.S. 苹果 U.S.")
    assert counter.most_frequent(10) == [("U.S.", 2), ("苹果", 1)]
