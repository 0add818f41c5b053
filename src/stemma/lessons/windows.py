"""Windows: the examples that skip-gram and CBOW make of one sentence, and what they cost."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from stemma.data.windows import WindowPairs, lay_windows

__all__ = ["SENTENCE", "cbow", "explain", "skip_gram"]

SENTENCE: Final = "the man loves his son"
_WINDOW: Final = 2


def skip_gram(sentence: str, window: int) -> list[tuple[str, str]]:
    """Each word with each that it is to predict."""
    words = sentence.split()
    pairs = _lay(len(words), window)
    return [(words[center], words[context]) for center, context in zip(pairs.centers, pairs.contexts, strict=True)]


def cbow(sentence: str, window: int) -> list[tuple[list[str], str]]:
    """The words around each word, and the word."""
    words = sentence.split()
    pairs = _lay(len(words), window)
    contexts = np.split(pairs.contexts, pairs.starts[1:])
    return [
        ([words[context] for context in seen], words[center])
        for seen, center in zip(contexts, pairs.centers[pairs.starts], strict=True)
    ]


def explain() -> Iterator[str]:
    """All examples of the sentence, and how many predictions a window costs."""
    pairs, windows = skip_gram(SENTENCE, _WINDOW), cbow(SENTENCE, _WINDOW)
    yield f"'{SENTENCE}', {_WINDOW} words to each side."
    yield f"Skip-gram predicts every word around from the one in the middle, {len(pairs)} predictions:"
    for _, center in windows:
        yield f"  {center} → {', '.join(context for word, context in pairs if word == center)}"
    yield f"CBOW predicts the one in the middle from the mean of those around, {len(windows)} predictions:"
    for contexts, center in windows:
        yield f"  {', '.join(contexts)} → {center}"
    most = max(len(contexts) for contexts, _ in windows)
    yield (
        f"A whole window has K = {most} words around its middle. With a softmax over V words skip-gram pays K of them,"
        " O(KV), and CBOW one, O(V)."
    )


def _lay(num_words: int, window: int) -> WindowPairs:
    return lay_windows(np.arange(num_words), np.zeros(num_words, np.int64), np.full(num_words, window))
