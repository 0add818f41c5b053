"""Words for the command line: whose vectors are meant, and what they say.

A model is a pretrained folder of a family that has word vectors, or a file in word2vec's format, text or binary.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stemma.config import load_params
from stemma.data.compression import open_binary
from stemma.errors import InputError
from stemma.families import load_family
from stemma.files import read_json, verify_manifest
from stemma.tasks.word_plot import plot_words
from stemma.tasks.word_vectors import spelling
from stemma.text.vectors import MATRIX, WordVectors, read_word2vec, write_word2vec

__all__ = [
    "Words",
    "choose_model",
    "describe_analogy",
    "describe_neighbours",
    "draw_words",
    "export_vectors",
    "open_words",
]


@dataclass(frozen=True)
class Words:
    """A model's vectors, and how it spells words."""

    vectors: WordVectors
    spell: Callable[[str], str]


def open_words(model: Path) -> Words:
    """The word vectors of a model's folder or of a file in word2vec's format."""
    if model.is_file():
        return Words(read_word2vec(model, binary=_is_binary(model)), str)
    if not (model / "family.json").is_file():
        raise InputError(f"{model}: no pretrained model's folder (it has no family.json), and no file of word vectors")
    family = load_family(read_json(model / "family.json")["family"])
    if family.load_vectors is None:
        raise InputError(f"{model}: family {family.name!r} has no word vectors")
    verify_manifest(model)
    return Words(family.load_vectors(model), spelling(model))


def choose_model(settings: Path, pretrained: Path) -> Path:
    """The folder of the first variant of the settings that word vectors have been made of."""
    for name in load_params(settings).variants:
        if (pretrained / name / MATRIX).is_file():
            return pretrained / name
    raise InputError(
        f"{pretrained}: no variant of {settings} with word vectors is there; `dvc repro` one, or name a model with --model"
    )


def describe_neighbours(words: Words, word: str, count: int) -> Iterator[str]:
    """Lines with the nearest words and their cosines."""
    return _lines(words.vectors.neighbours(words.spell(word), count))


def describe_analogy(words: Words, first: str, second: str, third: str, count: int) -> Iterator[str]:
    """Lines with what is to `third` as `second` is to `first`, the nearest first."""
    return _lines(words.vectors.analogy(words.spell(first), words.spell(second), words.spell(third), count))


def draw_words(words: Words, named: Sequence[str], path: Path) -> None:
    """Draw some words as points of a plane."""
    plot_words(words.vectors, list(dict.fromkeys(map(words.spell, named))), path)


def export_vectors(model: Path, path: Path, *, binary: bool) -> None:
    """Write a model's word vectors in word2vec's format."""
    write_word2vec(open_words(model).vectors, path, binary=binary)


def _lines(found: Sequence[tuple[str, float]]) -> Iterator[str]:
    return (f"{cosine:7.4f}  {word}" for word, cosine in found)


def _is_binary(path: Path) -> bool:
    """Whether the first word's numbers are something else than text; a file without the format's first line is text."""
    with open_binary(path, str(path)) as file:
        header, line = file.readline(1 << 10), file.readline(1 << 20)
    try:
        size = int(header.split()[1])
    except (IndexError, ValueError):
        return False
    try:
        return len([float(field) for field in line.decode("utf-8").split()[1:]]) != size
    except ValueError:
        return True
