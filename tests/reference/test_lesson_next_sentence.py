"""The worked example of next-sentence prediction has the paper's two pairs, with their three inputs."""

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


def test_the_three_inputs_stand_below_each_other():
    told = list(explain())
    token, segment, position = (next(line for line in told if line.startswith(f"  {name}")) for name in NAMES)
    for place, word in enumerate(examples()[0].tokens):
        column = _columns(token)[place]
        assert token[column:].startswith(word)
        assert segment[column] == ("A" if place < 8 else "B")
        assert position[column:].split()[0] == str(place)


NAMES = ("token", "segment", "position")


def _columns(line: str) -> list[int]:
    """Where each word of a line begins, without the first."""
    starts = [at for at in range(1, len(line)) if line[at - 1] == " " and line[at] != " "]
    return starts[1:]
