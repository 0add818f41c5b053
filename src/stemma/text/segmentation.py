"""Chinese words: what jieba (MIT licence, github.com/fxsjy/jieba) makes of a run of Chinese characters.

jieba takes the most probable path through its dictionary, and lets a hidden Markov model join characters that no word of it
covers. It is given Chinese characters alone: what stands beside them, which it would cut by rules of its own, is cut as BERT
does. So `T恤` is two words here. Left out on purpose: dictionaries of one's own; jieba's cache of its dictionary, a file in a
folder that everyone can write to; and its log.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, Final

from tokenizers import NormalizedString, PreTokenizedString, normalizers, pre_tokenizers

from stemma.text.words import CHINESE

__all__ = ["chinese_pre_tokenizer", "load_segmenter", "plain_normalizer"]

Cut = Callable[..., Iterator[str]]  # jieba's function

# In pieces, as the hidden Markov model's time grows with the square of a run: no sentence is so long without a mark.
_RUN: Final = re.compile(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in CHINESE)}]{{1,1000}}")


def plain_normalizer(*, lowercase: bool) -> normalizers.Normalizer:
    """BERT's normaliser without the spaces that it puts around every Chinese character, and with accents kept."""
    return normalizers.BertNormalizer(lowercase=lowercase, handle_chinese_chars=False, strip_accents=False)


def chinese_pre_tokenizer() -> pre_tokenizers.PreTokenizer:
    """Cuts as BERT does, but Chinese into words; it can't be saved, so a tokenizer gets it after it is read."""
    chinese = pre_tokenizers.PreTokenizer.custom(_ChineseWords())
    return pre_tokenizers.Sequence([pre_tokenizers.BertPreTokenizer(), chinese])


def load_segmenter() -> Callable[[list[str]], list[str]]:
    """What writes sentences with a space between any two words.

    The dictionary is read now (half a second, 70 MB), so that processes that are forked later share it.
    """
    _jieba()
    return _segment


def _segment(sentences: list[str]) -> list[str]:
    normalizer, pre_tokenizer, cut = plain_normalizer(lowercase=False), pre_tokenizers.BertPreTokenizer(), _jieba().cut
    pieces = (pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(sentence)) for sentence in sentences)
    return [" ".join(word for piece, _ in row for word in _words(piece, cut)) for row in pieces]


class _ChineseWords:
    """A pre-tokenizer as the library asks for: it parts what it is given, and keeps track of the places."""

    def __init__(self) -> None:
        self._cut: Cut = _jieba().cut

    def pre_tokenize(self, text: PreTokenizedString) -> None:
        """Part every piece of the text."""
        text.split(self._split)

    def _split(self, _: int, piece: NormalizedString) -> list[NormalizedString]:
        ends = list(accumulate(len(word) for word in _words(str(piece), self._cut)))
        parts = (piece[start:end] for start, end in pairwise([0, *ends]))
        return [part for part in parts if part is not None]  # by the library's types a slice may be missing; none is


def _words(piece: str, cut: Cut) -> Iterator[str]:
    """The words of a text without spaces and marks; together they are all of it."""
    position = 0
    for run in _RUN.finditer(piece):
        if run.start() > position:
            yield piece[position : run.start()]
        yield from cut(run[0], HMM=True)
        position = run.end()
    if position < len(piece):
        yield piece[position:]


@cache
def _jieba() -> Any:
    """The tokenizer with its dictionary, which nothing changes afterwards: any thread may use it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its patterns have escapes that Python has come to warn of
        import jieba
    tokenizer = jieba.Tokenizer()
    # as its `initialize` does, but for the file in the temporary folder
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer
