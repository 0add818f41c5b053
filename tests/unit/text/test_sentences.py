import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemma.text.sentences import split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        pytest.param(["He came.", "She left!", "Did they?", "Yes…", "No."], id="stops"),
        pytest.param(["Mr. Smith met Dr. Jones in St. Louis.", "They talked."], id="titles"),
        pytest.param(["J. R. R. Tolkien wrote it.", "George W. Bush read it."], id="initials"),
        pytest.param(["He lives in the U.S. Army barracks.", "It is old."], id="abbreviated name goes on"),
        pytest.param(["He lives in the U.S.", "The house is old."], id="abbreviated name ends"),
        pytest.param(["See e.g. Smith et al. 1990 for more.", "Others, etc.", "The end."], id="Latin"),
        pytest.param(["It costs 3.50 dollars.", "2 of them."], id="numbers"),
        pytest.param(['"Stop!" he said.', '"Why?" she asked.'], id="quotes inside"),
        pytest.param(['He said "stop."', "(She did not.)", "“Fine.”", "‘Good.’"], id="closing quotes"),
        pytest.param(["Well... maybe.", "But no...", "He left."], id="dots"),
        pytest.param(["What is Property? was printed in 1840."], id="small letter after"),
        pytest.param(["So do I.", "He agreed."], id="I is no initial"),
        pytest.param(["Émile came.", "Żółw spał.", "Ёлка стоит."], id="other scripts"),
        pytest.param(["He (the U.S. one) left at 5 p.m. on Monday.", "We stayed."], id="times"),
    ],
)
def test_sentences(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences


def test_chinese_needs_no_spaces() -> None:
    text = "今天天气很好。我们去公园吧！你说：“好吗？”他点头……走了。"
    assert split_sentences(text) == ["今天天气很好。", "我们去公园吧！", "你说：“好吗？”", "他点头……走了。"]


def test_blank_lines_end_sentences() -> None:
    assert split_sentences("A heading\n\nText goes on\n \nand ends") == ["A heading", "Text goes on", "and ends"]


def test_wrapped_lines_are_joined() -> None:
    text = "This is a line of text that was wrapped at a margin\nand goes on here. It ends\nhere."
    assert split_sentences(text) == [
        "This is a line of text that was wrapped at a margin and goes on here.",
        "It ends",
        "here.",
    ]


def test_a_line_that_ends_as_a_sentence_does_is_not_joined() -> None:
    text = "This paragraph is on one line, and long enough to be wrapped.\nthe next begins with a small letter"
    assert split_sentences(text) == text.split("\n")


def test_short_lines_are_not_joined() -> None:
    assert split_sentences("Chapter One\nIt was dark.") == ["Chapter One", "It was dark."]


def test_wrapped_chinese_is_joined_without_a_space() -> None:
    line = "这是一行很长的中文文本" * 5
    assert split_sentences(f"{line}\n继续。") == [f"{line}继续。"]


@given(st.text(alphabet=st.sampled_from(list("aB. !?。”\n(é9…'")), max_size=200))
def test_no_character_is_lost(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize("unit", ["a. ", ". ", '."', "A.", "? ", "。", "\n", "a\n", ".\n", "word ", "(" * 10 + " "])
def test_time_is_linear(unit: str) -> None:
    split_sentences(unit * 1000)
    begin = time.process_time()
    split_sentences(unit * (400_000 // len(unit)))
    assert time.process_time() - begin < 4.0
