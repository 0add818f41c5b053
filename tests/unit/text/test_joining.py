"""Tokens put together again."""

import pytest

from stemma.text.joining import join_tokens


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("", ""),
        ("the", "the"),
        ("the un ##like ##ly cat sat .", "the unlikely cat sat."),
        ("##ly so", "##ly so"),
        ("he said : yes , ( perhaps ) !", "he said: yes, (perhaps)!"),
        ("it ' s what they don ' t say", "it's what they don't say"),
        ("the dogs ' tails", "the dogs ' tails"),
        ("床 前 明 月 光 ， 疑 是 地 上 霜 。", "床前明月光，疑是地上霜。"),
        ("在 2019 年 ， we met", "在2019年，we met"),
        ("“ 好 ” ， 他 说", "“好”，他说"),
    ],
)
def test_what_people_would_write(tokens: str, text: str) -> None:
    assert join_tokens(tokens.split()) == text
