"""Probabilities and backoffs of all n-grams, from counts on disk, within a given memory.

An order is sorted by context for the totals, then back into suffix order, where the probability of each n-gram's suffix,
which the next lower order has just got, passes by in step.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stemma.data.record_sort import Columns, RecordSorter, cut_rows
from stemma.families.ngram.counts import NgramCounts
from stemma.families.ngram.levels import ROWS, Level
from stemma.families.ngram.smoothing import Contexts, Counts, Floats, Smoothing, count_counts
from stemma.families.ngram.windows import Ids
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
    """Estimate every order: shares and backoffs of several at once, then probabilities from the lowest order up."""
    progress = progress or NullProgress()
    progress.start("smoothing", counts.order, "orders")
    jobs = [_LevelJob(counts, level, smoothing, memory // threads) for level in counts.levels]
    unigrams = _estimate_unigrams(counts, smoothing)
    probabilities: list[Path] = []
    with ThreadPoolExecutor(threads) as pool:
        for job, _ in zip(jobs, pool.map(_LevelJob.weigh, jobs), strict=True):
            probabilities.append(job.interpolate(probabilities[-1] if probabilities else unigrams))
            progress.update(job.level.order)
    return Estimates(
        unigrams=unigrams,
        unigram_backoffs=_unigram_backoffs(counts, smoothing, jobs[0].backoff_path if jobs else None),
        probabilities=tuple(probabilities),
        backoffs=tuple(job.backoff_path for job in jobs[1:]),
    )


def count_of_counts(counts: NgramCounts) -> list[list[int]]:
    """For each order, how many n-grams have the (continuation) count 1, 2, 3 and 4."""
    unigrams = _unigram_counts(counts, continuation=True)
    result = [count_counts(unigrams).tolist()]
    for level in counts.levels:
        weights = (weights for _, _, weights in _weighted_rows(level, counts, continuation=True))
        result.append(sum(map(count_counts, weights), np.zeros(4, np.int64)).tolist())
    return result


def _estimate_unigrams(counts: NgramCounts, smoothing: Smoothing) -> Floats:
    weights = _unigram_counts(counts, continuation=smoothing.continuation)
    everything = np.zeros(1, np.int64)
    contexts = _summarise(weights[weights > 0], everything, np.zeros(1, bool))
    shares, backoffs = smoothing.weigh(1, weights, contexts, np.zeros(len(weights), np.int64))
    events = counts.symbols.events
    return np.asarray(shares + backoffs[0] * events / events.sum())


def _unigram_backoffs(counts: NgramCounts, smoothing: Smoothing, path: Path | None) -> Floats:
    """By id: what was seen is a context, but `</s>`, after which nothing comes."""
    backoffs = np.full(counts.symbols.size, float(smoothing.backs_off))
    is_context = counts.unigrams > 0
    is_context[counts.symbols.end] = False
    if path is not None:
        backoffs[is_context] = np.fromfile(path)
    return backoffs


def _unigram_counts(counts: NgramCounts, *, continuation: bool) -> Counts:
    """Of events only: `<s>` is never predicted."""
    weights = counts.left if continuation and counts.order > 1 else counts.unigrams
    return np.where(counts.symbols.events, weights, np.uint64(0))


def _weighted_rows(level: Level, counts: NgramCounts, *, continuation: bool) -> Iterator[tuple[Ids, Columns, Counts]]:
    """Blocks of a level: the nodes, the contexts, and what stands for counts in its estimates."""
    for start, stop in level.spans(ROWS):
        contexts, weights = level.contexts(start, stop), level.counts(start, stop)
        if continuation and level.order < counts.order:
            # nothing can stand before <s>, so an n-gram that begins with it keeps its count
            at_begin = level.packing.last(contexts) == counts.symbols.begin
            weights = np.where(at_begin, weights, level.left(start, stop))
        yield np.arange(start, stop), contexts, weights


def _summarise(counts: Counts, starts: Ids, at_begin: npt.NDArray[np.bool_]) -> Contexts:
    """Ones and twos are counted together, in the halves of a 64-bit word."""
    small = (counts == 1) + (counts == 2).astype(np.uint64) * np.uint64(1 << 32)
    ones_and_twos = np.add.reduceat(small, starts)
    ones, twos = ones_and_twos & np.uint64((1 << 32) - 1), ones_and_twos >> np.uint64(32)
    words = np.diff(starts, append=len(counts)).astype(np.uint64)
    return Contexts(
        totals=np.add.reduceat(counts, starts), ones=ones, twos=twos, more=words - ones - twos, at_begin=at_begin
    )


class _LevelJob:
    """One order's estimates."""

    def __init__(self, counts: NgramCounts, level: Level, smoothing: Smoothing, memory: int) -> None:
        self.level = level
        self.backoff_path = level.folder / "context-backoffs"
        self._counts, self._smoothing = counts, smoothing
        self._shares, self._rests = level.folder / "shares", level.folder / "rests"
        self._memory = memory // 3  # two sorters and the blocks between them

    def weigh(self) -> None:
        """Write the contexts' backoffs and, in node order, each n-gram's share and its context's backoff."""
        by_node = self._sorter("nodes", [self.level.size.bit_length()], [np.float64, np.float64])
        with self.backoff_path.open("wb") as file:
            for *contexts, counts, nodes in _whole_contexts(cut_rows(self._by_context(), ROWS)):
                changed = _changed(contexts)
                starts = np.flatnonzero(changed)
                of = np.cumsum(changed) - 1
                at_begin = self.level.packing.last(contexts)[starts] == self._counts.symbols.begin
                summary = _summarise(counts, starts, at_begin)
                shares, backoffs = self._smoothing.weigh(self.level.order, counts, summary, of)
                backoffs.tofile(file)
                by_node.add(nodes, shares, backoffs.take(of))
        with self._shares.open("wb") as shares_file, self._rests.open("wb") as rests_file:
            for _, shares, rests in by_node.blocks():
                shares.tofile(shares_file)
                rests.tofile(rests_file)

    def interpolate(self, lower: Floats | Path) -> Path:
        """Write each n-gram's probability: its share, and the rest by the probability of its suffix."""
        path = self.level.folder / "probabilities"
        with path.open("wb") as file:
            for start, stop in self.level.spans(ROWS):
                shares, rests = (
                    np.fromfile(column, count=stop - start, offset=8 * start) for column in (self._shares, self._rests)
                )
                suffixes = self.level.keys(start, stop) // self._counts.symbols.size
                # mapped anew for each block, so that only what a block touches stays in memory
                below = np.memmap(lower, np.float64, "r") if isinstance(lower, Path) else lower
                (shares + rests * below[suffixes]).tofile(file)
        return path

    def _by_context(self) -> Iterable[Columns]:
        """N-grams sorted by context (as n-grams one shorter are), then by word: contexts, counts, nodes."""
        sorter = self._sorter("contexts", self.level.packing.widths, [np.uint64, np.uint64])
        for nodes, contexts, counts in _weighted_rows(
            self.level, self._counts, continuation=self._smoothing.continuation
        ):
            sorter.add(*contexts, counts, nodes)
        return sorter.blocks()

    def _sorter(self, name: str, widths: Sequence[int], values: list[type[np.generic]]) -> RecordSorter:
        return RecordSorter(self.level.folder / name, widths=widths, values=values, memory=self._memory)


def _whole_contexts(blocks: Iterable[Columns]) -> Iterator[Columns]:
    """The same records in blocks that end where a context ends; a context has at most as many as there are words."""
    held: Columns = ()
    for block in blocks:
        records = tuple(map(np.concatenate, zip(held, block, strict=True))) if held else block
        last = int(np.flatnonzero(_changed(records[:-2]))[-1])
        if last:
            yield tuple(column[:last] for column in records)
        held = tuple(column[last:] for column in records)
    if held:
        yield held


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
