"""A WordPiece vocabulary learned from counted words, the same in every process.

The `tokenizers` library's trainer does the work. By itself it gives pieces of equal count an order that changes from process to
process, through the random order of its hash maps, and with it another vocabulary. It leaves none of that open when it is
handed the alphabet, in order, as if it were special tokens.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from stemma.text.word_counts import WordCount

__all__ = ["PREFIX", "learn_wordpieces"]

PREFIX: Final = "##"  # of a piece that goes on a word
_REPEATS: Final = 1000  # of a word in one line that the trainer reads


def learn_wordpieces(
    words: Sequence[WordCount], *, special_tokens: Sequence[str], vocabulary_size: int, min_frequency: int
) -> dict[str, int]:
    """The ids of the pieces: special tokens, characters, and then what was merged, most frequent first."""
    firsts, inners = {word[0] for word, _ in words}, set(chain.from_iterable(word[1:] for word, _ in words))
    room = 3 * vocabulary_size // 4 - len(special_tokens)
    alphabet = _alphabet(words, min_frequency, room, lambda character: (character in firsts) + (character in inners))
    first, inner = sorted(alphabet & firsts), sorted(alphabet & inners)
    fixed = [*special_tokens, *first, *(PREFIX + character for character in inner)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary_size,
        min_frequency=min_frequency,
        special_tokens=fixed,
        continuing_subword_prefix=PREFIX,
        show_progress=False,
    )
    tokenizer = Tokenizer(models.WordPiece(unk_token=special_tokens[1]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(_lines(word for word in words if alphabet.issuperset(word[0])), trainer)
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    return dict(sorted(vocabulary.items(), key=lambda item: item[1]))


def _alphabet(words: Sequence[WordCount], min_frequency: int, room: int, places: Callable[[str], int]) -> set[str]:
    """The characters to know: frequent ones, the most frequent first, as long as there is room.

    A character takes a place in the vocabulary to begin a word and another to go on; Chinese ones only begin.
    """
    counts: Counter[str] = Counter()
    for word, count in words:
        for character in word:
            counts[character] += count
    alphabet: set[str] = set()
    for character in sorted(counts, key=lambda character: (-counts[character], character)):
        room -= places(character)
        if room < 0 or counts[character] < min_frequency:
            break
        alphabet.add(character)
    return alphabet


def _lines(words: Iterator[WordCount]) -> Iterator[str]:
    """Every word as often as it was counted, since the trainer counts by itself."""
    for word, count in words:
        for begin in range(0, count, _REPEATS):
            yield " ".join([word] * min(_REPEATS, count - begin))
