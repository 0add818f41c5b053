"""The tokens of a vocabulary as characters: the bytes of their UTF-8 between two marks, as the authors' code has it.

So every token of any language is spelt with the same few hundred characters. A word piece keeps its `##`. What stands for no
spelling has one character of its own: the unknown word, the hidden word, and the end of a sentence, which is one thing to ELMo
whatever the vocabulary calls it: a model that reads from both sides has no use for two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from stemma.text.vocabulary import load_tokenizer

__all__ = ["NUM_CHARACTERS", "PADDING", "Characters", "read_characters"]

_BEGIN, _END, _BOUNDARY, _UNKNOWN, _HIDDEN, PADDING = range(256, 262)  # behind the bytes
NUM_CHARACTERS: Final = PADDING + 1
_OWN: Final = {
    "<s>": [_BOUNDARY],
    "</s>": [_BOUNDARY],
    "[CLS]": [_BOUNDARY],
    "[SEP]": [_BOUNDARY],
    "[UNK]": [_UNKNOWN],
    "[MASK]": [_HIDDEN],
    "[PAD]": [],
}


@dataclass(frozen=True)
class Characters:
    """How each id of a vocabulary is spelt."""

    table: npt.NDArray[np.int64]  # (ids, longest), padded
    lengths: npt.NDArray[np.int64]  # (ids,), with the two marks

    @classmethod
    def of(cls, tokens: Sequence[str], max_characters: int) -> "Characters":
        """The spelling of tokens by id; of a long one only the first `max_characters`."""
        spelt = [_OWN.get(token, list(token.encode())[:max_characters]) for token in tokens]
        lengths = np.array([len(characters) + 2 for characters in spelt], np.int64)
        table = np.full((len(spelt), int(lengths.max())), PADDING, np.int64)
        for row, characters in zip(table, spelt, strict=True):
            row[: len(characters) + 2] = [_BEGIN, *characters, _END]
        return cls(table, lengths)


def read_characters(tokenizer: Path, max_characters: int) -> Characters:
    """The spelling of a tokenizer's ids."""
    vocabulary = load_tokenizer(tokenizer, segmented=True).get_vocab(with_added_tokens=True)
    tokens = [""] * (max(vocabulary.values()) + 1)
    for token, number in vocabulary.items():
        tokens[number] = token
    return Characters.of(tokens, max_characters)
