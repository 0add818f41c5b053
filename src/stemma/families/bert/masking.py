"""Which tokens BERT is asked for (Devlin et al. 2019, section 3.1): 15 %, of them 80 % hidden, 10 % replaced, 10 % left."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import tokenizers

from stemma.data.batches import uniform

__all__ = ["MaskSettings", "Masked", "Masker"]

Ints = npt.NDArray[np.int64]
_CHOSEN, _FATE, _REPLACEMENT = range(10, 13)  # what a random number is drawn for


class MaskSettings(Protocol):
    """The settings that masking reads."""

    @property
    def mask_probability(self) -> float:
        """The share of tokens that are asked for."""

    @property
    def mask_token_share(self) -> float:
        """The share of those that become [MASK]."""

    @property
    def random_token_share(self) -> float:
        """The share of those that become any token."""

    @property
    def whole_word(self) -> bool:
        """Whether the pieces of a word are asked for together."""


@dataclass(frozen=True, kw_only=True)
class Masked:
    """A batch with tokens hidden in it."""

    ids: Ints  # (batch, length)
    chosen: npt.NDArray[np.bool_]  # (batch, length): where the model is asked


class Masker:
    """Hides tokens of a batch; every draw is a function of seed, epoch, example and position. No special token is hidden."""

    def __init__(self, tokenizer: tokenizers.Tokenizer, settings: MaskSettings, seed: int) -> None:
        vocabulary = tokenizer.get_vocab(with_added_tokens=True)
        size = max(vocabulary.values()) + 1
        special = [id_ for id_, token in tokenizer.get_added_tokens_decoder().items() if token.special]
        self._settings, self._seed, self._mask = settings, seed, vocabulary["[MASK]"]
        self._is_word = np.ones(size, bool)
        self._is_word[special] = False
        self._words = np.flatnonzero(self._is_word)
        self._continues = np.zeros(size, bool)
        self._continues[[id_ for token, id_ in vocabulary.items() if token.startswith("##")]] = True

    def mask(self, ids: Ints, examples: Ints, epoch: int) -> Masked:
        """Hide tokens of some examples in one epoch, at least one of each that has any to hide."""
        keys = (epoch, examples[:, None], np.arange(ids.shape[1]))
        may_be = self._is_word[ids]
        chosen = self._choose(ids, may_be, examples, epoch)
        fate = uniform(self._seed, _FATE, *keys)
        hidden = chosen & (fate < self._settings.mask_token_share)
        replaced = chosen & ~hidden & (fate < self._settings.mask_token_share + self._settings.random_token_share)
        other = (uniform(self._seed, _REPLACEMENT, *keys) * len(self._words)).astype(np.int64)
        masked = np.where(hidden, self._mask, np.where(replaced, self._words[other], ids))
        return Masked(ids=masked, chosen=chosen)

    def _choose(self, ids: Ints, may_be: npt.NDArray[np.bool_], examples: Ints, epoch: int) -> npt.NDArray[np.bool_]:
        units = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)  # what is chosen together
        if self._settings.whole_word:
            units = np.cumsum(~self._continues[ids], axis=1)
        draw = np.where(may_be, uniform(self._seed, _CHOSEN, epoch, examples[:, None], units), 2.0)
        lowest = draw.min(axis=1, keepdims=True)
        chosen: npt.NDArray[np.bool_] = may_be & ((draw < self._settings.mask_probability) | (draw == lowest))
        return chosen
