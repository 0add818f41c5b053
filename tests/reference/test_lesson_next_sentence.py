"""The worked example of next-sentence prediction has the paper's two pairs, with their three inputs."""

import pytest

from stemma.lessons.next_sentence import examples, explain


def test_the_pairs_are_those_of_the_paper():
    follows, other = examples()
    assert (follows.label, " ".join(follows.tokens)) == (
        "IsNext",
        "[CLS] the man went to [MASK] store [SEP] he bought a gallon [MASK] milk [SEP]",
    )
    assert (other.label, " ".join(other.tokens)) == (
        "NotNext",
        "[CLS] the man [MASK] to the store [SEP] penguin [MASK] are flight ##less birds [SEP]",
    )
    assert (follows.hidden, other.hidden) == (["the", "of"], ["went", "##s"])


def test_segments_and_positions():
    for example in examples():
        assert example.segments == ["A"] * 8 + ["B"] * 7
        assert list(example.positions) == list(range(15))


@pytest.mark.parametrize("number", [0, 1], ids=["IsNext", "NotNext"])
def test_the_three_inputs_stand_below_each_other(number):
    told, example = list(explain()), examples()[number]
    first = next(place for place, line in enumerate(told) if line.startswith(f"{example.label}: "))
    token, segment, position, asked = told[first + 1 : first + 5]
    assert tuple(line.split()[0] for line in (token, segment, position)) == NAMES
    assert token.split()[1:] == list(example.tokens)
    for place, word in enumerate(example.tokens):
        column = _columns(token)[place]
        assert token[column:].startswith(word)
        assert segment[column] == ("A" if place < 8 else "B")
        assert position[column:].split()[0] == str(place)
    hidden = " and ".join(example.hidden)
    assert asked == f"  asked: at [CLS] {example.label}, at the hidden places {hidden}"


NAMES = ("token", "segment", "position")


def _columns(line: str) -> list[int]:
    """Where each word of a line begins, without the first."""
    starts = [at for at in range(1, len(line)) if line[at - 1] == " " and line[at] != " "]
    return starts[1:]
