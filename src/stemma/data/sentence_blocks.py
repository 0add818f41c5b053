"""A corpus as blocks of whole sentences, for work on arrays with so much memory."""

import mmap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from stemma.data.token_store import TokenStore
from stemma.progress import Progress

__all__ = ["SentenceBlock", "cut", "read_blocks"]

SentenceBlock = tuple[
    npt.NDArray[Any], npt.NDArray[np.int64]
]  # token ids of whole sentences; where each begins, and the end


def read_blocks(store: TokenStore, what: str, progress: Progress) -> Iterator[SentenceBlock]:
    """The shards of a token store, memory-mapped; `progress` is told of `what` is done to them."""
    progress.start(what, store.num_tokens, "tokens")
    done = 0
    for shard in store.shards():
        yield shard.ids, shard.sentences
        done += len(shard.ids)
        progress.update(done)


def cut(blocks: Iterable[SentenceBlock], max_tokens: int) -> Iterator[SentenceBlock]:
    """Cut blocks at sentence ends, so that none has many more tokens than asked for.

    Of a block that is memory-mapped, what was read is given back: it would count as memory until all of it was read.
    """
    for ids, offsets in blocks:
        first = 0
        while first < len(offsets) - 1:
            last = int(np.searchsorted(offsets, offsets[first] + max_tokens, side="right")) - 1
            last = min(max(last, first + 1), len(offsets) - 1, first + max_tokens)
            yield ids[offsets[first] : offsets[last]], offsets[first : last + 1]
            first = last
            mapped: tuple[object, ...] = (ids.base, offsets.base)
            for base in mapped:
                if isinstance(base, mmap.mmap):
                    base.madvise(mmap.MADV_DONTNEED)
