"""`stemma generate`: every line of a text continued by a pretrained model."""

import hashlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from stemma.adapters.score import STANDARD_INPUT, family_of
from stemma.data.lines import read_lines
from stemma.errors import InputError
from stemma.protocols import Generator

__all__ = ["continue_lines", "load_model_generator"]


def continue_lines(
    model: Path, file: Path | None, *, tokens: int, temperature: float, top_k: int | None, seed: int
) -> Iterator[str]:
    """Each line (None: of standard input) and what follows it; a blank one begins anew.

    What is drawn depends on the seed and on the line's number alone.
    """
    name = "standard input" if file is None else str(file)
    lines = read_lines(file or STANDARD_INPUT, name)
    first = next(lines)  # a file that is empty or can't be read is said before a model is loaded
    generator = load_model_generator(model)
    for number, line in chain([first], lines):
        yield generator.go_on(
            line.strip(), tokens=tokens, temperature=temperature, top_k=top_k, seed=_line_seed(seed, number)
        )


def load_model_generator(model: Path) -> Generator:
    """The generator of a pretrained model, whichever family it is of."""
    family = family_of(model)
    if family.load_generator is None:
        raise InputError(f"{model}: family {family.name!r} does not write text; use one that does, such as gpt")
    return family.load_generator(model)


def _line_seed(seed: int, number: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed} {number}".encode(), digest_size=7).digest())
