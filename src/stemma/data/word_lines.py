"""A token store as lines of words, for tools that read text: a sentence a line, a space between words.

Ids that stand for no word (the special tokens, the unknown word) are left out, and with them sentences that hold nothing
else. The file is written once and in blocks; no token becomes a Python object.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stemma.data.token_store import TokenStore
from stemma.errors import InputError
from stemma.files import atomic_dir, read_json, write_json

__all__ = ["MAX_LINE_WORDS", "WordLines", "write_word_lines"]

Ints = npt.NDArray[np.int64]
MAX_LINE_WORDS: Final = 10_000  # as many as gensim takes for one sentence
_LINES: Final = "lines.txt"
_FACTS: Final = "facts.json"
_BLOCK_TOKENS: Final = 1 << 18


@dataclass(frozen=True, kw_only=True)
class WordLines:
    """A file of lines of words, and what was counted on the way."""

    path: Path
    words: list[str]  # that occur in it, in the order in which they are first seen
    counts: list[int]
    num_lines: int

    @property
    def num_words(self) -> int:
        """How many words the lines hold."""
        return sum(self.counts)


def write_word_lines(store: TokenStore, vocabulary: Sequence[str | None], folder: Path) -> WordLines:
    """Write the lines into `folder`, unless they are there; `vocabulary` has a word for every id that stands for one."""
    if not folder.is_dir():
        _check_words(vocabulary)
        with atomic_dir(folder) as temporary, (temporary / _LINES).open("wb") as file:
            write_json(temporary / _FACTS, _write(store, vocabulary, file))
    return WordLines(path=folder / _LINES, **read_json(folder / _FACTS))


def _check_words(vocabulary: Sequence[str | None]) -> None:
    for word in vocabulary:
        if word is not None and word.split() != [word]:
            raise InputError(f"tokenizer: the word {word!r} holds a space; lines of words have no place for it")


def _write(store: TokenStore, vocabulary: Sequence[str | None], file: BinaryIO) -> dict[str, Any]:
    texts = pa.array([word or "" for word in vocabulary], pa.binary())
    is_word = np.array([word is not None for word in vocabulary])
    counts, firsts = np.zeros(len(vocabulary), np.int64), np.full(len(vocabulary), -1, np.int64)
    num_lines = 0
    for ids, starts in _blocks(store, is_word):
        file.write(_as_text(ids, starts, texts))
        _note_firsts(ids, firsts, base=int(counts.sum()))
        counts += np.bincount(ids, minlength=len(vocabulary))
        num_lines += len(starts) - 1
    seen = np.argsort(firsts, kind="stable")[(counts == 0).sum() :]
    words = [vocabulary[number] for number in seen]
    return {"words": words, "counts": counts[seen].tolist(), "num_lines": num_lines}


def _blocks(store: TokenStore, is_word: npt.NDArray[np.bool_]) -> Iterator[tuple[Ints, Ints]]:
    """Word ids of some lines, and where each line begins among them and the last ends; no line is empty."""
    for shard in store.shards():
        sentences = shard.sentences
        steps = np.searchsorted(sentences, np.arange(0, sentences[-1], _BLOCK_TOKENS))
        edges = np.unique(np.append(steps, len(sentences) - 1))
        for begin, end in itertools.pairwise(edges.tolist()):
            bounds = sentences[begin : end + 1]
            ids = np.asarray(shard.ids[bounds[0] : bounds[-1]], np.int64)
            kept = is_word[ids]
            places = np.concatenate([[0], np.cumsum(kept)])
            if kept.any():
                yield ids[kept], _line_starts(np.unique(places[bounds - bounds[0]]))


def _line_starts(sentence_starts: Ints) -> Ints:
    """Where lines begin and the last ends: with each sentence, and inside of one that is too long for a line."""
    lengths = np.diff(sentence_starts)
    within = np.arange(sentence_starts[-1]) - np.repeat(sentence_starts[:-1], lengths)
    return np.append(np.flatnonzero(within % MAX_LINE_WORDS == 0), sentence_starts[-1])


def _as_text(ids: Ints, starts: Ints, texts: pa.Array) -> bytes:
    sentences = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), texts.take(pa.array(ids)))
    lines = pc.binary_join(sentences, b" ")
    whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    text: bytes = pc.binary_join(whole, b"\n")[0].as_py()
    return text + b"\n"


def _note_firsts(ids: Ints, firsts: Ints, *, base: int) -> None:
    """Note where ids without a first place have theirs."""
    here = np.full(len(firsts), -1, np.int64)
    here[ids[::-1]] = np.arange(base + len(ids) - 1, base - 1, -1)  # of equal ids, the last to be assigned stays
    unseen = firsts < 0
    firsts[unseen] = here[unseen]
