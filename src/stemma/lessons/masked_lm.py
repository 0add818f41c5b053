"""Masked language modelling: what becomes of `hairy` in "my dog is hairy", by the masker that BERT is trained with."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from stemma.data.lexicon import TOPICS
from stemma.families.bert.masking import Masker
from stemma.text.vocabulary import SPECIAL_TOKENS
from stemma.text.wordpiece import PREFIX

__all__ = ["SENTENCE", "TREATMENTS", "count_treatments", "explain", "make_tokenizer", "treat"]

Ints = npt.NDArray[np.int64]
SENTENCE: Final = "my dog is hairy"
TREATMENTS: Final = {"[MASK]": 0.8, "any word": 0.1, "the word itself": 0.1}
_REPEATS: Final = 64  # of the sentence in a text, so that no text has nothing to hide
_TEXTS: Final = 2000
_SENTENCES: Final = 50_000


@dataclass(frozen=True)
class _Shares:
    """The paper's shares."""

    mask_probability: float = 0.15
    mask_token_share: float = 0.8
    random_token_share: float = 0.1
    whole_word: bool = False


def make_tokenizer(pieces: Sequence[str]) -> Tokenizer:
    """A WordPiece tokenizer that knows these pieces, behind the special tokens."""
    vocabulary = {piece: id_ for id_, piece in enumerate(dict.fromkeys([*SPECIAL_TOKENS, *pieces]))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=SPECIAL_TOKENS[1], continuing_subword_prefix=PREFIX))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    return tokenizer


def treat(treatment: str) -> str:
    """The sentence as the network sees it when `hairy`, and no other word, is asked for and treated so.

    Of those that any word took the place of, the one that the lectures show.
    """
    tokenizer, ids = _tokenizer(), _encode(1)
    examples = np.arange(_SENTENCES)
    rows = np.broadcast_to(ids, (len(examples), ids.shape[1]))
    masked = Masker(tokenizer, _Shares(), seed=1).mask(rows, examples, epoch=0)
    alone = masked.chosen[:, -1] & (masked.chosen.sum(axis=1) == 1)
    seen = {"[MASK]": "[MASK]", "any word": "apple", "the word itself": "hairy"}[treatment]
    first = int(np.flatnonzero(alone & (masked.ids[:, -1] == tokenizer.token_to_id(seen)))[0])
    return " ".join(tokenizer.id_to_token(int(id_)) or "" for id_ in masked.ids[first])


def count_treatments() -> tuple[int, Counter[str]]:
    """How many words there were, and what became of those that are asked for."""
    tokenizer, ids = _tokenizer(), _encode(_REPEATS)
    rows = np.broadcast_to(ids, (_TEXTS, ids.shape[1]))
    masked = Masker(tokenizer, _Shares(), seed=1).mask(rows, np.arange(_TEXTS), epoch=0)
    return rows.size, Counter(_treatments(tokenizer, rows[masked.chosen], masked.ids[masked.chosen]).tolist())


def explain() -> Iterator[str]:
    """Three treatments of one word, and how often each is given."""
    yield f"'{SENTENCE}'. Say that 'hairy' is asked for: then the network is to predict it, and sees"
    for treatment, share in TREATMENTS.items():
        yield f"  {share:.0%} of the time {treatment}: {treat(treatment)}"
    yield "So it can't tell which of the words that it sees are right, and must keep a representation of each."
    total, found = count_treatments()
    asked = found.total()
    yield f"Of {total:,} words, {asked:,} are asked for: {asked / total:.2%}, where the paper says 15 %. Of those"
    yield from (f"  {found[name]:,} became {name}: {found[name] / asked:.2%}" for name in TREATMENTS)
    words = len(_pieces())
    yield f"Any word is one of {words}, drawn alike: once in {words} it is the word itself, and counted there."


def _treatments(tokenizer: Tokenizer, before: Ints, after: Ints) -> npt.NDArray[np.str_]:
    """What became of words that are asked for."""
    hidden, other, same = TREATMENTS
    return np.where(after == tokenizer.token_to_id("[MASK]"), hidden, np.where(before == after, same, other))


def _encode(times: int) -> Ints:
    text = " ".join([SENTENCE] * times)
    return np.array([_tokenizer().encode(text, add_special_tokens=False).ids], np.int64)


def _tokenizer() -> Tokenizer:
    return make_tokenizer(_pieces())


def _pieces() -> list[str]:
    nouns = {noun for topic in TOPICS.values() for noun in topic.nouns}
    return [*dict.fromkeys([*SENTENCE.split(), "apple", *sorted(nouns)])]
