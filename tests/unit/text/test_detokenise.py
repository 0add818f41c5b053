"""Marks back at their words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import BertPreTokenizer

from stemma.text.detokenise import detokenise

SENTENCES = [
    "Ein Mann in einem T-Shirt wartet, während er liest.",
    "Zwei Männer (einer davon alt) sitzen da!",
    'Auf dem Schild steht "Hot Dogs", und sonst nichts.',
    "It's 3.5 km: don't walk and/or run; ride.",
    "Kinder – drei oder vier – spielen.",
    "50% von 1,000 Leuten um 10:30...",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_what_the_tokenizer_parted_is_put_together(sentence: str) -> None:
    parted = " ".join(word for word, _ in BertPreTokenizer().pre_tokenize_str(sentence))
    assert parted != sentence
    assert detokenise(parted) == sentence


def test_what_can_not_be_known_again() -> None:
    assert detokenise("Snowboard - und Skifahrer") == "Snowboard-und Skifahrer"
    assert detokenise("Wer - ich ?") == "Wer-ich?"


@given(st.text(alphabet="ab1 .,-'\"()", max_size=30))
def test_nothing_but_spaces_is_taken(text: str) -> None:
    found = detokenise(text)
    assert found.replace(" ", "") == text.replace(" ", "")
    assert len(found) <= len(text)
