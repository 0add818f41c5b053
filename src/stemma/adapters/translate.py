"""`stemma translate`: a text in another language, line by line."""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Final

from stemma.adapters.score import STANDARD_INPUT, family_of
from stemma.data.lines import read_lines
from stemma.errors import InputError
from stemma.protocols import Translator

__all__ = ["load_model_translator", "translate_lines"]

_AT_ONCE: Final = 256  # lines


def translate_lines(model: Path, file: Path | None, beam: int | None) -> Iterator[str]:
    """A translation for every line of a file (None: of standard input); a blank line has a blank one."""
    lines = (line for _, line in read_lines(file or STANDARD_INPUT, "standard input" if file is None else str(file)))
    first = list(islice(lines, 1))  # a file that can't be read is said before a model is loaded
    translator = load_model_translator(model)
    rest = chain(first, lines)
    while some := list(islice(rest, _AT_ONCE)):
        yield from translator.translate(some, beam=beam)


def load_model_translator(model: Path) -> Translator:
    """The translator of a pretrained model."""
    family = family_of(model)
    if family.load_translator is None:
        raise InputError(f"{model}: family {family.name!r} does not translate; use one that is trained on pairs")
    return family.load_translator(model)
