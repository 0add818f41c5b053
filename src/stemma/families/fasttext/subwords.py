"""The parts of words that fastText learns vectors for: character n-grams, hashed into buckets.

`<where>` with its edges marked has the 3-grams `<wh whe her ere re>`. The hash and the order are those of Facebook's own
code, which gensim follows too: FNV-1a, but over signed bytes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from stemma.errors import InputError
from stemma.files import atomic_path, read_json, write_json
from stemma.text.vectors import Floats

__all__ = ["SUBWORD_FILES", "Subwords", "buckets_of", "load_subwords", "ngrams", "save_subwords"]

_MATRIX: Final = "ngrams.safetensors"
_SHAPE: Final = "ngrams.json"
SUBWORD_FILES: Final = (_MATRIX, _SHAPE)


def ngrams(word: str, min_n: int, max_n: int) -> list[str]:
    """The character n-grams of a word between `<` and `>`, without the two edges as 1-grams."""
    marked = f"<{word}>"
    edges = {0, len(marked) - 1}
    return [
        marked[start : start + length]
        for start in range(len(marked))
        for length in range(min_n, min(max_n, len(marked) - start) + 1)
        if not (length == 1 and start in edges)
    ]


def buckets_of(word: str, min_n: int, max_n: int, buckets: int) -> list[int]:
    """The bucket of each n-gram of a word."""
    return [_hash(ngram.encode()) % buckets for ngram in ngrams(word, min_n, max_n)]


@dataclass(frozen=True, kw_only=True)
class Subwords:
    """Vectors of n-grams, read from the disk as they are asked for: a large model has gigabytes of them."""

    min_n: int
    max_n: int
    buckets: int
    rows: Any  # a slice of a safetensors file: (buckets, size)

    def compose(self, word: str) -> Floats:
        """The mean of the vectors of a word's n-grams; zeros if it has none."""
        found = buckets_of(word, self.min_n, self.max_n, self.buckets)
        total = np.zeros(self.rows.get_shape()[1], np.float32)
        for bucket in found:
            total += self.rows[bucket : bucket + 1][0]
        return np.asarray(total / max(1, len(found)), np.float32)


def save_subwords(folder: Path, matrix: Floats, *, min_n: int, max_n: int) -> None:
    """Write the vectors of the buckets into a model's folder, and which n-grams they are of."""
    with atomic_path(folder / _MATRIX) as temporary:
        save_file({"ngrams": np.ascontiguousarray(matrix)}, temporary)
    write_json(folder / _SHAPE, {"min_n": min_n, "max_n": max_n, "buckets": len(matrix)})


def load_subwords(folder: Path) -> Subwords:
    """Read back what `save_subwords` wrote."""
    if not (folder / _MATRIX).is_file():
        raise InputError(f"{folder / _MATRIX}: no such file; is this the folder of a fastText model?")
    file: Any = safe_open(folder / _MATRIX, framework="numpy")
    return Subwords(rows=file.get_slice("ngrams"), **read_json(folder / _SHAPE))


def _hash(data: bytes) -> int:
    result = 2166136261
    for byte in data:
        signed = byte if byte < 128 else byte | 0xFFFFFF00
        result = (result ^ signed) * 16777619 & 0xFFFFFFFF
    return result
