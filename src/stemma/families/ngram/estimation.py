"""Probabilities and backoffs of all n-grams, from counts on disk, within a given memory.

An order is sorted by context for the totals, then back into suffix order, where the probability of each n-gram's suffix,
which the next lower order has just got, passes by in step.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stemma.data.record_sort import Columns, RecordSorter
from stemma.families.ngram.counts import Level, NgramCounts
from stemma.families.ngram.smoothing import Contexts, Counts, Floats, Smoothing, count_counts
from stemma.families.ngram.windows import Ids, Symbols
from stemma.progress import NullProgress, Progress

__all__ = ["Estimates", "count_of_counts", "estimate"]


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Probabilities and backoffs, by order: of unigrams in memory, of longer n-grams in files of `float64`."""

    unigrams: Floats
    unigram_backoffs: Floats
    probabilities: tuple[Path, ...]  # orders 2 and up, in node order
    backoffs: tuple[Path, ...]  # orders 2 and up but the longest: those that do not end in </s>, in node order


def estimate(
    counts: NgramCounts,
    smoothing: Smoothing,
    *,
    memory: int,
    threads: int = 1,
    progress: Progress | None = None,
) -> Estimates:
    """Estimate every order."""
    progress = progress or NullProgress()
    progress.start("smoothing", counts.order, "orders")
    unigrams = _estimate_unigrams(counts, smoothing)
    unigram_backoffs = np.full(counts.symbols.size, float(smoothing.backs_off))  # of words that were never a context
    probabilities: list[Path] = []
    backoffs: list[Path] = []
    for level in counts.levels:
        job = _LevelJob(level, counts.symbols, smoothing.continuation and level.order < counts.order, memory, threads)
        in_node_order = job.weigh(smoothing)
        if level.order == 2:
            ids, values = job.unigram_backoffs()
            unigram_backoffs[ids] = values
        else:
            backoffs.append(job.backoff_path)
        probabilities.append(job.interpolate(in_node_order, probabilities[-1] if probabilities else unigrams))
        progress.update(level.order)
    return Estimates(
        unigrams=unigrams,
        unigram_backoffs=unigram_backoffs,
        probabilities=tuple(probabilities),
        backoffs=tuple(backoffs),
    )


def count_of_counts(counts: NgramCounts, *, memory: int) -> list[list[int]]:
    """For each order, how many n-grams have the (continuation) count 1, 2, 3 and 4."""
    unigrams = _unigram_counts(counts, continuation=True)
    result = [count_counts(unigrams).tolist()]
    for level in counts.levels:
        total = np.zeros(4, np.int64)
        for _, _, weights in _weighted_rows(level, counts.symbols, level.order < counts.order, memory):
            total += count_counts(weights)
        result.append(total.tolist())
    return result


def _estimate_unigrams(counts: NgramCounts, smoothing: Smoothing) -> Floats:
    weights = _unigram_counts(counts, continuation=smoothing.continuation)
    everything = np.zeros(1, np.int64)
    contexts = _summarise(weights, everything, np.zeros(1, bool))
    shares, backoffs = smoothing.weigh(1, weights, contexts, np.zeros(len(weights), np.int64))
    events = counts.symbols.events
    return np.asarray(shares + backoffs[0] * events / events.sum())


def _unigram_counts(counts: NgramCounts, *, continuation: bool) -> Counts:
    """Of events only: `<s>` is never predicted."""
    weights = counts.left if continuation and counts.order > 1 else counts.unigrams
    return np.where(counts.symbols.events, weights, np.uint64(0))


def _weighted_rows(
    level: Level, symbols: Symbols, continuation: bool, memory: int
) -> Iterator[tuple[int, list[Ids], Counts]]:
    """Blocks of a level: the first node, the words (last one first), and what stands for counts in its estimates."""
    for first, words, counts, left in level.rows(_block_size(level, memory)):
        digits = level.packing.unpack(words)
        # nothing can stand before <s>, so an n-gram that begins with it keeps its count
        yield first, digits, np.where(digits[-1] == symbols.begin, counts, left) if continuation else counts


def _block_size(level: Level, memory: int) -> int:
    return max(1, memory // (32 * (level.order + 8)))


def _summarise(counts: Counts, starts: Ids, at_begin: npt.NDArray[np.bool_]) -> Contexts:
    def number(flags: npt.NDArray[np.bool_]) -> Counts:
        return np.add.reduceat(flags.astype(np.uint64), starts)

    return Contexts(
        totals=np.add.reduceat(counts, starts),
        ones=number(counts == 1),
        twos=number(counts == 2),
        more=number(counts >= 3),
        at_begin=at_begin,
    )


class _LevelJob:
    """One order's estimates."""

    def __init__(self, level: Level, symbols: Symbols, continuation: bool, memory: int, threads: int) -> None:
        self._level, self._symbols, self._continuation = level, symbols, continuation
        self._memory, self._threads = memory // 3, threads  # two sorters and the blocks between them
        self.backoff_path = level.folder / "context-backoffs"
        self._unigram_contexts: list[Ids] = []

    def weigh(self, smoothing: Smoothing) -> RecordSorter:
        """Write the contexts' backoffs; return each n-gram's share and its context's backoff, to be had in node order."""
        result = self._sorter("nodes", [self._level.size.bit_length()], [np.float64, np.float64])
        num_contexts = 0
        with self.backoff_path.open("wb") as file:
            for keys, counts, nodes in _whole_contexts(self._by_context(), self._level.packing.bits):
                digits = self._level.packing.unpack(keys)
                changed = _changed(digits[:-1])
                starts = np.flatnonzero(changed)
                of = np.cumsum(changed) - 1
                contexts = _summarise(counts, starts, digits[-2][starts] == self._symbols.begin)
                shares, backoffs = smoothing.weigh(self._level.order, counts, contexts, of)
                result.add(nodes, shares, backoffs[of])
                backoffs.tofile(file)
                num_contexts += len(starts)
                if self._level.order == 2:
                    self._unigram_contexts.append(digits[0][starts])
        return result

    def unigram_backoffs(self) -> tuple[Ids, Floats]:
        """The tokens that are contexts, and their backoffs."""
        ids = np.concatenate(self._unigram_contexts) if self._unigram_contexts else np.empty(0, np.int64)
        return ids, np.fromfile(self.backoff_path)

    def interpolate(self, in_node_order: RecordSorter, lower: Floats | Path) -> Path:
        """Write each n-gram's probability: its share, and the rest by the probability of its suffix."""
        path = self._level.folder / "probabilities"
        with path.open("wb") as file:
            for nodes, shares, backoffs in in_node_order.blocks():
                first = int(nodes[0])
                keys = np.fromfile(self._level.folder / "keys", np.uint64, len(nodes), offset=8 * first)
                suffixes = keys // np.uint64(self._symbols.size)
                # mapped anew for each block, so that only what a block touches stays in memory
                below = np.memmap(lower, np.float64, "r") if isinstance(lower, Path) else lower
                (shares + backoffs * below[suffixes]).tofile(file)
        return path

    def _by_context(self) -> Iterable[Columns]:
        """N-grams sorted by context (as n-grams one shorter are), then by word: packed words, counts, nodes."""
        packing = self._level.packing
        sorter = self._sorter("contexts", packing.widths, [np.uint64, np.uint64])
        for first, digits, counts in _weighted_rows(self._level, self._symbols, self._continuation, self._memory):
            nodes = np.arange(first, first + len(counts), dtype=np.uint64)
            sorter.add(*packing.pack([*digits[1:], digits[0]]), counts, nodes)
        return sorter.blocks()

    def _sorter(self, name: str, widths: Iterable[int], values: list[type[np.generic]]) -> RecordSorter:
        return RecordSorter(
            self._level.folder / name, widths=list(widths), values=values, memory=self._memory, threads=self._threads
        )


def _whole_contexts(
    blocks: Iterable[Columns], word_bits: int
) -> Iterator[tuple[Columns, Counts, npt.NDArray[np.uint64]]]:
    """The same records in blocks that end where a context ends; a context has at most as many as there are words."""
    held: Columns = ()
    for block in blocks:
        records = tuple(np.concatenate(pair) for pair in zip(held, block, strict=True)) if held else block
        keys = records[:-2]
        changed = _changed([*keys[:-1], keys[-1] >> np.uint64(word_bits)])
        last = int(np.flatnonzero(changed)[-1])
        if last:
            yield _keys_counts_nodes(tuple(column[:last] for column in records))
        held = tuple(column[last:] for column in records)
    if held:
        yield _keys_counts_nodes(held)


def _keys_counts_nodes(records: Columns) -> tuple[Columns, Counts, npt.NDArray[np.uint64]]:
    """Tell a record's columns apart."""
    return records[:-2], records[-2], records[-1]


def _changed(columns: Iterable[npt.NDArray[np.generic]]) -> npt.NDArray[np.bool_]:
    """Where a row differs from the one before it; the first does."""
    flags: npt.NDArray[np.bool_] | None = None
    for column in columns:
        if flags is None:
            flags = np.zeros(len(column), bool)
            flags[0] = True
        flags[1:] |= column[1:] != column[:-1]
    assert flags is not None
    return flags
