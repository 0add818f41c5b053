import pytest

from stemma.tasks.offline_passages import find_passages

PLAIN = "We saw that the people of Rome were there on that very day."


def names(text: str) -> list[tuple[str, ...] | None]:
    return [
        None
        if passage.names is None
        else tuple(word for word, is_name in zip(passage.words, passage.names, strict=True) if is_name)
        for _, passage in find_passages(text)
    ]


def test_words_are_small_and_capitals_kept_apart():
    ((number, passage),) = find_passages(f"{PLAIN} And so did we.")
    assert number == 0
    assert " ".join(passage.words) == "we saw that the people of rome were there on that very day ."


def test_a_capital_inside_a_sentence_is_a_name():
    assert names(f"{PLAIN} Nobody said that they had been there with them.")[0] is None  # no other "we" to judge by
    assert names(f"{PLAIN} Nobody said that we had been there with them, as we know.")[0] == ("rome",)


def test_the_first_word_is_judged_by_the_rest_of_the_document():
    text = "Rome was a city that many people wanted to see. They came to Rome from many far places of old."
    assert names(text)[0] == ("rome",)
    text = "Cities were places that many people wanted to see. They came to cities from many far places of old."
    assert names(text)[0] == ()


def test_the_word_i_is_no_name():
    assert names("It was known that I had been in it before they came.") == [()]


@pytest.mark.parametrize(
    "text",
    [
        "Too short it is.",
        "The years 1 2 3 4 5 6 7 8 9 10 11 12 13 14 were counted.",
        "this one does not begin with a capital letter as sentences do.",
        "The list that was given to them had these items on it:",
        " ".join(["The", *["very"] * 40, "long one."]),
    ],
)
def test_what_is_no_ordinary_sentence_is_left_out(text):
    assert list(find_passages(text)) == []
