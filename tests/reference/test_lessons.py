"""Every worked example through the command line, with a line of each that tells."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from stemma.cli import app
from stemma.lessons import lessons

TELLING = {
    "attention": "   thinking  thinking 0.88  machines 0.12",
    "attention-pooling": "Mean squared error along the curve: average 0.845",
    "bert-inputs": "Layer normalisation then gives each token mean 0.00 and spread 1.00: so the first block gets it.",
    "chain-rule": "         2          3     0.666667  P(一个 | 我 想 要 吃)",
    "cooccurrence": "cosine of like and enjoy: one-hot 0.000, counted 0.577",
    "gpt": "  P(sat | <s> the cat) = 0.7794",
    "gpt-inputs": "  start a man plays the guitar delimiter a man makes music extract",
    "huffman": "  E = 0111",
    "masked-lm": "  10% of the time any word: my dog is apple",
    "negative-sampling": "  son: count 1, 0.009 of the text, 1 of noise, probability 0.023",
    "next-sentence": "NotNext: [CLS] the man [MASK] to the store [SEP] penguin [MASK] are flight ##less birds [SEP]",
    "normalisation": "   layer: -1.069  -0.535  0.000  1.604, as before",
    "positions": "     1   0.8415   0.5403   0.0998   0.9950   0.0100   0.9999   0.0010   1.0000",
    "span": "Of all spans with end ≥ start the best is 'twelve miles' (3 to 4), with S·T_3 + E·T_4 = 3.50.",
    "windows": "  the, man, his, son → loves",
}
WITH_A_PLOT = ["attention-pooling"]


def test_none_is_forgotten() -> None:
    assert [*sorted([*TELLING, "polysemy"])] == lessons(), "polysemy asks models that were trained"
    shown = CliRunner().invoke(app, ["explain"])
    assert shown.stdout.split() == lessons()


@pytest.mark.parametrize("name", TELLING)
def test_it_is_told_by_the_command(name: str) -> None:
    told = CliRunner().invoke(app, ["explain", name], catch_exceptions=False)
    assert told.exit_code == 0
    assert TELLING[name] in told.stdout.splitlines()


@pytest.mark.parametrize("name", TELLING)
def test_it_is_drawn_where_there_is_something_to_draw(name: str, tmp_path: Path) -> None:
    drawn = CliRunner().invoke(app, ["explain", name, "--plot", str(tmp_path / "plot.svg")])
    if name in WITH_A_PLOT:
        assert drawn.stdout == f"Wrote {tmp_path / 'plot.svg'}\n"
        assert (tmp_path / "plot.svg").read_text().startswith("<?xml")
    else:
        assert f"the worked example {name!r} has no plot" in str(drawn.exception)
