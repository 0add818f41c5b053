"""Negative sampling: which words serve as noise, how often, and what a prediction costs."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from stemma.layers.word_prediction import NegativeSampling, draw_negatives, noise_distribution

__all__ = ["COUNTS", "explain"]

COUNTS: Final = {"the": 81, "man": 16, "loves": 16, "son": 1}
_EXPONENT: Final = 0.75
_DRAWS: Final = 10_000


def explain() -> Iterator[str]:
    """From counts to the noise distribution, to words drawn from it, to the loss of one prediction."""
    words, counts = list(COUNTS), np.array(list(COUNTS.values()))
    noise = noise_distribution(counts, _EXPONENT)
    yield f"Noise is drawn by count^{_EXPONENT} / Σ count^{_EXPONENT}, which lifts rare words:"
    for word, count, probability in zip(words, counts, noise, strict=True):
        share = count / counts.sum()
        yield f"  {word}: count {count}, {share:.3f} of the text, {count**_EXPONENT:g} of noise, probability {probability:.3f}"
    rng = np.random.default_rng(1)
    target = words.index("man")
    drawn = draw_negatives(np.full(_DRAWS, target), 1, noise, rng)[:, 0]
    found = Counter(words[word] for word in drawn.tolist() if word >= 0)
    yield f"{_DRAWS:,} draws against the word 'man', which is never its own negative:"
    yield from (f"  {word}: {found[word]:,}" for word in words)
    yield f"  left out, because they drew 'man' itself: {int((drawn < 0).sum()):,}"
    untrained = NegativeSampling(np.array([target]), np.array([[0, 2, 3]])).losses(np.zeros((1, 2)), np.zeros((4, 2)))
    yield f"Before training, a word and three negatives are four even choices: {untrained[0]:.4f} nats (4 · ln 2)."
