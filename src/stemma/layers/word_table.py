"""Vectors of the words that a task's ids stand for.

All vectors are multiplied by one number, so that the root of their mean square is 1, whichever model they come from. The
unknown word has a vector that is the task's to learn, from zeros on. Marks (`[CLS]`, `[SEP]`) and padding are zeros and count
as no words.

An open vocabulary: where vectors can be composed of a word's parts (fastText), the tokenizer cuts what it does not know into
pieces (see `open_vocabulary`), and the vector of all its pieces is that which is composed of the word that they spell.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from tokenizers import Tokenizer, models
from torch import Tensor, nn

from stemma.text.vectors import Floats, WordVectors
from stemma.text.vocabulary import SPECIAL_TOKENS, UNKNOWN_ID, WORD_SPECIAL_TOKENS
from stemma.text.word_counts import MAX_WORD_CHARACTERS

__all__ = ["Texts", "WordTable", "open_vocabulary", "tokens_of"]

_GOES_ON: Final = "\ue000"  # before a piece that does not begin a word; for private use, so that no word begins with it
_UNKNOWN: Final = SPECIAL_TOKENS[UNKNOWN_ID]


@dataclass(frozen=True, kw_only=True)
class Texts:
    """A batch of one or two texts a row, as words."""

    vectors: Tensor  # (rows, length, size); zeros where there is no word
    first: Tensor  # (rows, length): whether a word of the first text begins there
    second: Tensor  # of the second


class WordTable(nn.Module):
    """Ids to vectors."""

    rows: Tensor  # (ids,): the row of each id's vector, 0 where there is none
    marks: Tensor  # (ids,): whether it is no word
    strange: Tensor  # (ids,): whether it is a word, or the beginning of one, that has no row
    continues: Tensor  # (ids,): whether it goes on with a word

    def __init__(self, vectors: WordVectors, tokens: Sequence[str], *, tuned: bool) -> None:
        super().__init__()
        marks = [token in WORD_SPECIAL_TOKENS and token != _UNKNOWN for token in tokens]
        rows = np.array([vectors.places.get(token, -1) for token in tokens], np.int64)
        rows[marks] = -1
        self._register("rows", torch.from_numpy(rows.clip(min=0)))
        self._register("marks", torch.tensor(marks))
        self._register("strange", torch.from_numpy(rows < 0) & ~torch.tensor(marks))
        self._register("continues", torch.tensor([token.startswith(_GOES_ON) for token in tokens]))
        self._tokens, self._compose, self._scale = tokens, vectors.compose, _scale(vectors.matrix)
        self._unknown_id = tokens.index(_UNKNOWN)
        self._composed: dict[str, Tensor] = {}
        table = torch.from_numpy(vectors.matrix * np.float32(self._scale))
        if tuned:
            self.table: Tensor = nn.Parameter(table)
        else:
            self._register("table", table)
        self.unknown = nn.Parameter(torch.zeros(table.shape[1]))

    @property
    def size(self) -> int:
        """The size of a vector."""
        return len(self.unknown)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Texts:
        """The words of a batch."""
        words = (attention_mask == 1) & ~self.marks[input_ids]
        vectors = nn.functional.embedding(self.rows[input_ids], self.table)
        unknown = self.strange[input_ids]
        if self._compose is not None:
            found, places = self._spell(input_ids, words, self._compose)
            vectors = vectors.index_put(tuple(places.t()), found)
            unknown = input_ids == self._unknown_id
        vectors = torch.where(unknown[:, :, None], self.unknown, vectors) * words[:, :, None]
        begins = words & ~self.continues[input_ids]
        return Texts(vectors=vectors, first=begins & (token_type_ids == 0), second=begins & (token_type_ids == 1))

    def _spell(self, ids: Tensor, words: Tensor, compose: Callable[[str], Floats]) -> tuple[Tensor, Tensor]:
        """The vectors of words that are in pieces, or have no row, and where those pieces are (pieces, 2)."""
        continued = self.continues[ids] & words
        followed = nn.functional.pad(continued[:, 1:], (0, 1))  # whether the next piece goes on with the word
        places = (words & (continued | followed | self.strange[ids]) & (ids != self._unknown_id)).nonzero()
        vectors: list[Tensor] = []
        pieces: list[str] = []
        for row, column in places.tolist():
            pieces.append(self._tokens[int(ids[row, column])])
            if not followed[row, column]:
                vectors += [self._vector("".join(pieces).replace(_GOES_ON, ""), compose)] * len(pieces)
                pieces = []
        return (torch.stack(vectors) if vectors else torch.zeros(0, self.size)), places

    def _vector(self, word: str, compose: Callable[[str], Floats]) -> Tensor:
        if word not in self._composed:
            self._composed[word] = torch.from_numpy(compose(word) * np.float32(self._scale))
        return self._composed[word]

    def _register(self, name: str, value: Tensor) -> None:
        """Not saved with the network: it is a function of the vectors and the tokenizer, which lie beside it."""
        self.register_buffer(name, value, persistent=False)


def open_vocabulary(tokenizer: Tokenizer) -> None:
    """Let a tokenizer of words cut those that it does not know into beginnings that it knows, and characters."""
    vocabulary = tokenizer.get_vocab(with_added_tokens=False)
    characters = sorted({character for word in vocabulary for character in word if word not in WORD_SPECIAL_TOKENS})
    pieces = dict(vocabulary)
    first = max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1
    for piece in (*characters, *(_GOES_ON + character for character in characters)):
        if piece not in pieces:
            pieces[piece] = first
            first += 1
    tokenizer.model = models.WordPiece(
        pieces,
        unk_token=_UNKNOWN,
        continuing_subword_prefix=_GOES_ON,
        max_input_chars_per_word=MAX_WORD_CHARACTERS,
    )


def tokens_of(tokenizer: Tokenizer) -> list[str]:
    """What each id of a tokenizer stands for."""
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    tokens = [""] * (max(vocabulary.values()) + 1)
    for token, number in vocabulary.items():
        tokens[number] = token
    return tokens


def _scale(matrix: Floats) -> float:
    mean_square = float(np.square(matrix, dtype=np.float64).mean()) if matrix.size else 0.0
    return float(1 / np.sqrt(mean_square)) if mean_square else 1.0
