"""Huffman codes of the lecture, and what holds for any counts."""

from fractions import Fraction
from functools import cache
from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from stemma.lessons.huffman import COUNTS, codes, explain

ANY_COUNTS = st.lists(st.integers(1, 50), min_size=2, max_size=30)


def test_the_codes_of_the_lecture() -> None:
    assert COUNTS == {"A": 8, "B": 6, "C": 5, "D": 3, "E": 1, "F": 15}
    assert codes(COUNTS) == {"A": "000", "B": "001", "C": "010", "D": "0110", "E": "0111", "F": "1"}
    told = list(explain())
    assert [line.strip() for line in told if " = " in line and "+" not in line] == [
        "A = 000",
        "B = 001",
        "C = 010",
        "D = 0110",
        "E = 0111",
        "F = 1",
    ]
    assert "  D 3 + E 1 = 4" in told
    assert told[-1].startswith(
        "Hierarchical softmax makes one choice a digit: 2.32 on average over 38 words"
    )  # 88 / 38


@given(ANY_COUNTS)
@settings(deadline=None)
def test_no_code_begins_another(counts: list[int]) -> None:
    found = list(codes(_named(counts)).values())
    assert not any(other.startswith(one) for one, other in permutations(found, 2))
    assert sum(Fraction(1, 2 ** len(code)) for code in found) == 1, "every way from the root ends at a word"


@given(ANY_COUNTS)
@settings(deadline=None)
def test_a_more_frequent_word_never_has_a_longer_code(counts: list[int]) -> None:
    lengths = [len(code) for code in codes(_named(counts)).values()]
    pairs = list(zip(counts, lengths, strict=True))
    assert all(length <= shorter for count, length in pairs for fewer, shorter in pairs if count > fewer)


@given(st.lists(st.integers(1, 50), min_size=2, max_size=6))
@settings(deadline=None)
def test_no_prefix_code_is_shorter(counts: list[int]) -> None:
    found = codes(_named(counts)).values()
    assert sum(count * len(code) for count, code in zip(counts, found, strict=True)) == _best(tuple(sorted(counts)))


@cache
def _best(counts: tuple[int, ...]) -> int:
    """The least weighted length over all binary trees, each of which comes about by joining two nodes again and again."""
    if len(counts) == 1:
        return 0
    ways = []
    for first in range(len(counts)):
        for second in range(first):
            joined = counts[first] + counts[second]
            rest = [count for number, count in enumerate(counts) if number not in (first, second)]
            ways.append(joined + _best(tuple(sorted([*rest, joined]))))
    return min(ways)


def _named(counts: list[int]) -> dict[str, int]:
    return {str(number): count for number, count in enumerate(counts)}
