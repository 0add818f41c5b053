"""Windows of words: which words stand near which, as word2vec looks at text (Mikolov et al. 2013).

A word sees the words of its own sentence up to its reach on both sides. In training the reach is drawn anew for every word
from 1 to the window's size, which weighs near words higher, and frequent words are dropped before windows are laid.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from stemma.data.token_store import TokenStore

__all__ = ["WindowPairs", "keep_probability", "lay_windows", "sample_windows"]

Ints = npt.NDArray[np.int64]
_MAX_SENTENCES: Final = 300
_MAX_SENTENCE_WORDS: Final = 100


@dataclass(frozen=True)
class WindowPairs:
    """Pairs of a word and one that it sees, window by window and from left to right."""

    places: Ints  # where the window's center stands; equal for all pairs of a window
    centers: Ints
    contexts: Ints

    @property
    def starts(self) -> Ints:
        """Where each window begins among the pairs."""
        return np.flatnonzero(np.diff(self.places, prepend=-1))


def lay_windows(words: Ints, sentences: Ints, reach: Ints) -> WindowPairs:
    """The pairs of a text: each word's number, its sentence and its reach."""
    size = int(reach.max(initial=0))
    offsets = np.array([offset for offset in range(-size, size + 1) if offset], np.int64)
    places = np.arange(len(words))[:, None] + offsets  # (words, offsets)
    inside = (places >= 0) & (places < len(words)) & (np.abs(offsets) <= reach[:, None])
    np.clip(places, 0, len(words) - 1, out=places)
    inside &= sentences[places] == sentences[:, None]
    centers, columns = np.nonzero(inside)
    return WindowPairs(centers, words[centers], words[places[centers, columns]])


def keep_probability(counts: npt.NDArray[np.integer], subsample: float) -> npt.NDArray[np.float64]:
    """How often a word is kept: always if it is rarer than about `subsample` of the text, else the less the more frequent."""
    share = counts / (subsample * counts.sum())
    return np.asarray(np.minimum(1.0, (np.sqrt(share) + 1) / share))


def sample_windows(
    store: TokenStore, word_of: Ints, keep: npt.NDArray[np.float64], window: int, rng: np.random.Generator
) -> WindowPairs:
    """Windows of some sentences, drawn as training draws them; `word_of` has -1 for ids that are left out."""
    chosen = np.unique(rng.integers(max(1, store.num_sentences), size=_MAX_SENTENCES))[: store.num_sentences]
    texts = [word_of[store.sentence(number)] for number in chosen.tolist()]
    texts = [text[text >= 0][:_MAX_SENTENCE_WORDS] for text in texts]
    words = np.concatenate([np.zeros(0, np.int64), *texts])
    sentences = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    kept = rng.random(len(words)) < keep[words]
    reach = rng.integers(1, window + 1, size=int(kept.sum()))
    return lay_windows(words[kept], sentences[kept], reach)
