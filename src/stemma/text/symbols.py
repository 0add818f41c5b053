"""What the ids of a vocabulary mean to a model that reads from left to right.

A sentence is read as `<s> w1 … wn </s>`. Probabilities sum to 1 over the events: the words, the unknown word and `</s>`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stemma.errors import InputError
from stemma.files import read_json

__all__ = ["Symbols", "read_symbols"]

_UNKNOWN: Final = "[UNK]"
_BOUNDARIES: Final = (("<s>", "</s>"), ("[CLS]", "[SEP]"))  # the first pair that the vocabulary has
_MARKERS: Final = ("[PAD]", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>")


@dataclass(frozen=True, kw_only=True)
class Symbols:
    """The ids of a vocabulary, and those of them that are no words."""

    size: int
    begin: int  # <s>: a context only
    end: int  # </s>: a prediction only
    unknown: int
    silent: tuple[int, ...]  # never predicted: <s>, padding and the like

    @property
    def events(self) -> npt.NDArray[np.bool_]:
        """Which ids can be predicted: what probabilities sum to 1 over."""
        flags = np.ones(self.size, bool)
        flags[list(self.silent)] = False
        return flags

    def readable(self, ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Ids of text, in which whatever text can't hold (padding, a spelt-out `<s>`) is an unknown word."""
        result = ids.astype(np.int64)
        allowed = self.events
        allowed[self.end] = False
        result[~allowed[result]] = self.unknown
        return result


def read_symbols(tokenizer_dir: Path) -> Symbols:
    """The symbols of a tokenizer; one without `<s>` and `</s>` lends `[CLS]` and `[SEP]`."""
    path = tokenizer_dir / "tokenizer.json"
    if not path.is_file():
        raise InputError(f"{path}: no such file; run the stage that makes it")
    vocabulary = _read_vocabulary(path)
    boundaries = [pair for pair in _BOUNDARIES if vocabulary.keys() >= set(pair)]
    if not boundaries or _UNKNOWN not in vocabulary:
        raise InputError(
            f"{path}: a model that reads from left to right needs {_UNKNOWN} and <s> with </s> (or [CLS] with [SEP])"
            " in the vocabulary"
        )
    begin, end = boundaries[0]
    return Symbols(
        size=max(vocabulary.values()) + 1,
        begin=vocabulary[begin],
        end=vocabulary[end],
        unknown=vocabulary[_UNKNOWN],
        silent=tuple(sorted(vocabulary[marker] for marker in _MARKERS if marker in vocabulary and marker != end)),
    )


def _read_vocabulary(path: Path) -> dict[str, int]:
    """The ids by word, read as JSON: a tokenizer of thirty thousand words takes longer to make than to count a book."""
    content = read_json(path)
    added = {token["content"]: token["id"] for token in content["added_tokens"]}
    return {**content["model"]["vocab"], **added}
