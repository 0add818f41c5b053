"""GPT's inputs for a classification, an entailment, a similarity and a multiple-choice example, as the paper draws them."""

from stemma.lessons import explain
from stemma.lessons.gpt_inputs import CHOICES, ENTAILMENT, REVIEW, SIMILARITY, as_read


def test_the_four_transformations() -> None:
    assert as_read(REVIEW) == ["start", *REVIEW.split(), "extract"]
    premise, hypothesis = ENTAILMENT
    assert as_read(premise, hypothesis) == ["start", *premise.split(), "delimiter", *hypothesis.split(), "extract"]
    first, second = SIMILARITY
    both = [as_read(first, second), as_read(first, second, other_order=True)]
    assert both == [
        ["start", *one.split(), "delimiter", *other.split(), "extract"] for one, other in (SIMILARITY, SIMILARITY[::-1])
    ]
    context, answers = CHOICES
    assert [as_read(context, answer) for answer in answers] == [
        ["start", *context.split(), "delimiter", *answer.split(), "extract"] for answer in answers
    ]


def test_what_is_told() -> None:
    lines = list(explain("gpt-inputs"))
    assert "  start a film to remember extract" in lines
    assert "  start a man plays the guitar delimiter a man makes music extract" in lines
    place = lines.index("  start how old are you delimiter what is your age extract")
    assert lines[place + 1] == "  start what is your age delimiter how old are you extract"
    assert sum(line.startswith("  start she opens the umbrella because delimiter ") for line in lines) == 3
    padded = [line for line in lines if line.startswith("  padded")]
    assert len(padded) == 4
    assert all(line.endswith(", extract") for line in padded), "either side"
