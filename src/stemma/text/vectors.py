"""Word vectors: what words mean by where they stand, whichever model learned it.

Kept as safetensors with a list of words beside it; for other tools, in word2vec's text and binary formats. Left out on
purpose: approximate search, since a vocabulary that fits a laptop is searched whole in milliseconds.
"""

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file, save_file

from stemma.errors import InputError
from stemma.files import atomic_path, read_json, verify_manifest, write_json

__all__ = [
    "MATRIX",
    "WORDS",
    "Floats",
    "WordVectors",
    "load_model_vectors",
    "load_vectors",
    "read_word2vec",
    "save_vectors",
    "unit",
    "write_word2vec",
]

Floats = npt.NDArray[np.float32]
MATRIX: Final = "vectors.safetensors"
WORDS: Final = "words.json"


@dataclass(frozen=True)
class WordVectors:
    """A vector a word, the most frequent first."""

    words: Sequence[str]
    matrix: Floats  # (words, size)
    compose: Callable[[str], Floats] | None = None  # a vector for a word that is not among them

    def __contains__(self, word: str) -> bool:
        return word in self.places

    def vector(self, word: str) -> Floats | None:
        """The vector of a word; none for a word that the model knows nothing of."""
        place = self.places.get(word)
        if place is not None:
            row: Floats = self.matrix[place]
            return row
        return None if self.compose is None else self.compose(word)

    def similarity(self, one: str, other: str) -> float | None:
        """The cosine of two words' vectors; none where one of them has none."""
        vectors = self.vector(one), self.vector(other)
        if vectors[0] is None or vectors[1] is None:
            return None
        return float(unit(vectors[0][None])[0] @ unit(vectors[1][None])[0])

    def neighbours(self, word: str, count: int) -> list[tuple[str, float]]:
        """The words nearest to a word by cosine, without itself."""
        return self.nearest(self.known(word), count, leave_out=[word])

    def analogy(self, first: str, second: str, third: str, count: int) -> list[tuple[str, float]]:
        """What is to `third` as `second` is to `first`: the words nearest to second - first + third (3CosAdd)."""
        a, b, c = (unit(self.known(word)[None])[0] for word in (first, second, third))
        return self.nearest(b - a + c, count, leave_out=[first, second, third])

    def known(self, word: str) -> Floats:
        """The vector of a word that must have one."""
        vector = self.vector(word)
        if vector is None:
            near = ", ".join(difflib.get_close_matches(word, self.words, n=3))
            hint = f"near it: {near}" if near else "none is spelled like it"
            raise InputError(
                f"no vector for {word!r}, which is not among the model's {len(self.words):,} words; {hint}"
            )
        return vector

    def nearest(self, vector: Floats, count: int, *, leave_out: Iterable[str] = ()) -> list[tuple[str, float]]:
        """The words whose vectors have the highest cosine with a vector; of equal ones the more frequent first."""
        cosines = self.units @ unit(vector[None])[0]
        for word in leave_out:
            if word in self.places:
                cosines[self.places[word]] = -np.inf
        order = np.argsort(-cosines, kind="stable")[:count]
        return [(self.words[place], float(cosines[place])) for place in order if np.isfinite(cosines[place])]

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each word stands among the words."""
        return {word: place for place, word in enumerate(self.words)}

    @cached_property
    def units(self) -> Floats:
        """The matrix with rows of length 1."""
        return unit(self.matrix)


def save_vectors(vectors: WordVectors, folder: Path) -> None:
    """Write the words and the matrix into a model's folder."""
    with atomic_path(folder / MATRIX) as temporary:
        save_file({"vectors": np.ascontiguousarray(vectors.matrix, np.float32)}, temporary)
    write_json(folder / WORDS, list(vectors.words))


def load_vectors(folder: Path) -> WordVectors:
    """Read back what `save_vectors` wrote."""
    if not (folder / MATRIX).is_file():
        raise InputError(f"{folder / MATRIX}: no such file; is this the folder of a model with word vectors?")
    return WordVectors(read_json(folder / WORDS), load_file(folder / MATRIX)["vectors"])


def load_model_vectors(model_dir: Path) -> WordVectors:
    """The word vectors of a pretrained model, once its files are found to be what its manifest says."""
    verify_manifest(model_dir)
    return load_vectors(model_dir)


def write_word2vec(vectors: WordVectors, path: Path, *, binary: bool) -> None:
    """Write word2vec's own format, which gensim and many others read."""
    from gensim.models import KeyedVectors  # a second that only this should pay

    for word in vectors.words:
        if not word or any(character.isspace() for character in word):
            raise InputError(f"{path}: word2vec's format has no place for the word {word!r}, which holds a space")
    keyed = KeyedVectors(vectors.matrix.shape[1])
    keyed.add_vectors(list(vectors.words), vectors.matrix)
    with atomic_path(path) as temporary:
        keyed.save_word2vec_format(str(temporary), binary=binary)


def read_word2vec(path: Path, *, binary: bool) -> WordVectors:
    """Read word2vec's own format."""
    from gensim.models import KeyedVectors

    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        keyed = KeyedVectors.load_word2vec_format(str(path), binary=binary)
    except (ValueError, EOFError, IndexError) as error:
        kind = "binary" if binary else "text"
        raise InputError(f"{path}: not a whole {kind} file of word2vec's format: {error}") from None
    return WordVectors(keyed.index_to_key, keyed.vectors)


def unit(rows: Floats) -> Floats:
    """Rows of length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)
