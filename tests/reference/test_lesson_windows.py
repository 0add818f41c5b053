"""The examples that the lecture makes of one sentence."""

from stemma.lessons.windows import SENTENCE, cbow, explain, skip_gram


def test_skip_gram() -> None:
    assert SENTENCE == "the man loves his son"
    assert skip_gram(SENTENCE, 2) == [
        *[("the", "man"), ("the", "loves")],
        *[("man", "the"), ("man", "loves"), ("man", "his")],
        *[("loves", "the"), ("loves", "man"), ("loves", "his"), ("loves", "son")],
        *[("his", "man"), ("his", "loves"), ("his", "son")],
        *[("son", "loves"), ("son", "his")],
    ]


def test_cbow() -> None:
    assert cbow(SENTENCE, 2) == [
        (["man", "loves"], "the"),
        (["the", "loves", "his"], "man"),
        (["the", "man", "his", "son"], "loves"),
        (["man", "loves", "son"], "his"),
        (["loves", "his"], "son"),
    ]


def test_what_is_told() -> None:
    told = list(explain())
    assert "  loves → the, man, his, son" in told
    assert "  the, man, his, son → loves" in told
    assert told[1].endswith("14 predictions:")
    assert told[-1].endswith("skip-gram pays K of them, O(KV), and CBOW one, O(V).")
    assert "K = 4" in told[-1]
