"""`stemma fill`: what a pretrained model would write where a text says `[MASK]`."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from stemma.adapters.score import STANDARD_INPUT, family_of
from stemma.data.lines import read_lines
from stemma.errors import InputError
from stemma.protocols import Filler

__all__ = ["describe_fillings", "load_model_filler"]


def describe_fillings(model: Path, file: Path | None, count: int) -> Iterator[str]:
    """Every line that is not blank (None: of standard input), and below it for each of its gaps the likeliest words."""
    name = "standard input" if file is None else str(file)
    lines = ((number, line) for number, line in read_lines(file or STANDARD_INPUT, name) if line.strip())
    first = next(lines, None)  # a file that can't be read is said before a model is loaded
    if first is None:
        raise InputError(f"{name}: no text in it")
    filler = load_model_filler(model)
    for number, line in chain([first], lines):
        try:
            gaps = filler.fill(line, count)
        except InputError as error:
            raise InputError(f"{name}:{number}: {error}") from None
        yield line
        for gap, fillings in enumerate(gaps, start=1):
            words = "  ".join(f"{filling.word} {filling.probability:.4f}" for filling in fillings)
            yield f"  {gap}: {words}"


def load_model_filler(model: Path) -> Filler:
    """The filler of a pretrained model, whichever family it is of."""
    family = family_of(model)
    if family.load_filler is None:
        raise InputError(
            f"{model}: family {family.name!r} fills no gaps; use a model that was trained to, such as bert"
        )
    return family.load_filler(model)
