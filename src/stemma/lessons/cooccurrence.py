"""A co-occurrence matrix by hand: three short sentences, a window of one word, counted as the families count.

One-hot vectors of any two words are at right angles; the rows of this matrix are not.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from stemma.data.cooccurrences import count_cooccurrences
from stemma.text.vectors import WordVectors

__all__ = ["SENTENCES", "WORDS", "count", "explain"]

SENTENCES: Final = ("I like deep learning .", "I like NLP .", "I enjoy flying .")
WORDS: Final = ("I", "like", "enjoy", "deep", "learning", "NLP", "flying", ".")
_SHOWN: Final = (("like", "enjoy"), ("deep", "NLP"), ("learning", "flying"))


def count() -> npt.NDArray[np.float64]:
    """How often each two words stand side by side, in the order of `WORDS`."""
    words = [sentence.split() for sentence in SENTENCES]
    ids = np.array([WORDS.index(word) for sentence in words for word in sentence])
    offsets = np.cumsum([0, *map(len, words)])
    with tempfile.TemporaryDirectory() as folder:
        counts = count_cooccurrences(
            [(ids, offsets)],
            Path(folder) / "counts",
            first_word=0,
            num_words=len(WORDS),
            window=1,
            weighting="flat",
            memory=1 << 20,
        )
        matrix = np.zeros((len(WORDS), len(WORDS)))
        matrix[np.repeat(np.arange(len(WORDS)), np.diff(counts.offsets)), counts.columns] = counts.values
    return matrix


def explain() -> Iterator[str]:
    """Show the matrix, and what its rows know that one-hot vectors do not."""
    matrix = count()
    yield f"How often do words stand side by side (a window of 1) in: {' '.join(SENTENCES)}"
    yield ""
    yield _row("", WORDS)
    for word, counts in zip(WORDS, matrix, strict=True):
        yield _row(word, (f"{value:.0f}" for value in counts))
    yield ""
    one_hot = WordVectors(WORDS, np.eye(len(WORDS), dtype=np.float32))
    counted = WordVectors(WORDS, matrix.astype(np.float32))
    for one, other in _SHOWN:
        cosines = f"one-hot {one_hot.similarity(one, other):.3f}, counted {counted.similarity(one, other):.3f}"
        yield f"cosine of {one} and {other}: {cosines}"
    yield "Words that stand beside the same words have similar rows: what a word means is where it stands."


def _row(head: str, cells: Iterator[str] | tuple[str, ...]) -> str:
    return f"{head:>9}" + "".join(f"{cell:>9}" for cell in cells)
