import time

import pytest

from stemma.text.leftovers import strip_leftovers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one<br/>two <b>three</b> <a href='x'>four</a>", "one\ntwo three four"),
        ("a < b and c > d, 3<4", "a < b and c > d, 3<4"),
        ("<unknown> stays", "<unknown> stays"),
        ("AT&amp;T &nbsp;&#8212; &unknown; R&D; x", "AT&T \xa0— &unknown; R&D; x"),
        ("see [[Terra (planet)|Terra]] and [[Mars]]", "see Terra and Mars"),
        ("text {{citation needed|date=2010}}.", "text ."),
        ("a [link](http://x.org) and ![alt](pic.png)", "a link and "),
        ("citation [1] stays (so does this)", "citation [1] stays (so does this)"),
        ("# Chapter 1\n## Part", "Chapter 1\nPart"),
        ("== History ==\nText", "History\nText"),
        ("'''bold''' and ''it'' isn't", "bold and it isn't"),
        ("_so_ *it* **goes** snake_case_name 2*3*4", "so it goes snake_case_name 2*3*4"),
        ("a\n* * *\n---\nb", "a\n\n\nb"),
        ("> quoted", "quoted"),
        ("#hashtag", "#hashtag"),
    ],
)
def test_marks_go_and_words_stay(text: str, expected: str) -> None:
    assert strip_leftovers(text) == expected


@pytest.mark.parametrize(
    "unit",
    ["<a ", "<b>", "&amp", "{{", "[[", "[[a|", "[a](", "*a ", "_", "== ", "''", "> ", "- ", "#", "<!--", "`", "__a"],
)
def test_time_is_linear(unit: str) -> None:
    strip_leftovers(unit * 100)
    begin = time.process_time()
    strip_leftovers(unit * (100_000 // len(unit)))
    assert time.process_time() - begin < 4.0
