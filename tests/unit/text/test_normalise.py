import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemma.text.normalise import normalise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cafe\u0301", "caf\u00e9"),
        ("a\u00a0b\u2009c\td", "a b c d"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("one\u2029two", "one\n\ntwo"),
        ("a \n b", "a\nb"),
        ("a\n\n\n\n\nb", "a\n\nb"),
        ("\ufeffzero\u200b-width\u00ad", "zero-width"),
        ("bell\x07 \x1b[0m", "bell [0m"),
        ("ﬁne ① ２", "ﬁne ① ２"),
    ],
)
def test_nfc(text: str, expected: str) -> None:
    assert normalise(text, "NFC") == expected


def test_nfkc_also_folds_compatibility_characters() -> None:
    assert normalise("ﬁne ① ２", "NFKC") == "fine 1 2"


@given(st.text(alphabet=st.characters(codec="utf-8")), st.sampled_from(["NFC", "NFKC"]))
def test_twice_is_once(text: str, form: str) -> None:
    once = normalise(text, form)  # type: ignore[arg-type]
    assert normalise(once, form) == once  # type: ignore[arg-type]
