"""Exact and near duplicates among documents, found by sorting on disk.

Documents come in order of preference: of a set of duplicates the first one stays. That a document is a near duplicate is
decided against documents that stay, so that a chain of small changes does not take away its far end.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stemma.config import NearDuplicates
from stemma.data.minhash import MinHash, choose_bands
from stemma.data.record_sort import Columns, RecordSorter
from stemma.data.spool import RowFile
from stemma.data.workspace import Workspace

__all__ = ["SHARE_OF_MEMORY", "document_dtype", "exact_duplicates", "near_duplicates"]

Flags = npt.NDArray[np.bool_]
_ROWS_PER_STEP: Final = 1024
SHARE_OF_MEMORY: Final = 32  # what one sorter takes of the limit; it is on disk that the work is done
_ORDINAL_BITS: Final = 40


def document_dtype(permutations: int) -> np.dtype[Any]:
    """What is known of a document: its text's digest, its signature, and where its text lies."""
    place = [(name, "<i8") for name in ("process", "begin", "length")]
    return np.dtype([("digest", "<u8", (2,)), ("signature", "<u4", (permutations,)), *place])


def exact_duplicates(documents: RowFile, workspace: Workspace) -> Flags:
    """Which documents have the text of an earlier one."""
    sorter = _sorter(workspace, "exact", (64, 64, _ORDINAL_BITS))
    for begin in range(0, documents.num_rows, _ROWS_PER_STEP):
        digests = documents.read(begin, min(_ROWS_PER_STEP, documents.num_rows - begin))["digest"]
        sorter.add(digests[:, 0], digests[:, 1], np.arange(begin, begin + len(digests), dtype=np.uint64))
    duplicates = np.zeros(documents.num_rows, dtype=np.bool_)
    last = (np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint64))
    for high, low, ordinal in sorter.blocks():
        repeats = _equals_previous(high, last[0]) & _equals_previous(low, last[1])
        duplicates[ordinal[repeats].astype(np.int64)] = True
        last = (high[-1:], low[-1:])
    return duplicates


def near_duplicates(documents: RowFile, skipped: Flags, settings: NearDuplicates, workspace: Workspace) -> Flags:
    """Which documents, of those not skipped, are nearly the text of an earlier one that stays."""
    edges = _sorter(workspace, "edges", (_ORDINAL_BITS, _ORDINAL_BITS))
    for earlier, later in _candidates(documents, skipped, settings, workspace):
        similar = _similarity(documents, earlier, later) >= settings.threshold
        edges.add(later[similar], earlier[similar])
    duplicates = np.zeros(documents.num_rows, dtype=np.bool_)
    for later, earlier in edges.blocks():
        for document, kept in zip(later.tolist(), earlier.tolist(), strict=True):
            if not duplicates[kept]:
                duplicates[document] = True
    return duplicates


def _candidates(
    documents: RowFile, skipped: Flags, settings: NearDuplicates, workspace: Workspace
) -> Iterator[tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]]:
    """Pairs (earlier, later) that share a band, each once, in blocks."""
    pairs = _sorter(workspace, "pairs", (_ORDINAL_BITS, _ORDINAL_BITS), tally=True)
    key, first, previous = np.zeros((3, 0), dtype=np.uint64)  # of the group that the last block ended in
    for keys, ordinals in _bands(documents, skipped, settings, workspace).blocks():
        repeats = _equals_previous(keys, key)
        befores = np.concatenate([previous, ordinals[:-1]]) if len(previous) else np.roll(ordinals, 1)
        firsts = _first_of_group(ordinals, repeats, first)
        pairs.add(firsts[repeats], ordinals[repeats])
        also = repeats & (befores != firsts)
        pairs.add(befores[also], ordinals[also])
        key, first, previous = keys[-1:], firsts[-1:], ordinals[-1:]
    for earlier, later, _ in pairs.blocks():
        for begin in range(0, len(earlier), _ROWS_PER_STEP):
            yield earlier[begin : begin + _ROWS_PER_STEP], later[begin : begin + _ROWS_PER_STEP]


def _bands(documents: RowFile, skipped: Flags, settings: NearDuplicates, workspace: Workspace) -> RecordSorter:
    """The keys of all bands with their documents, ready to be sorted."""
    minhash = MinHash(settings.permutations, settings.shingle)
    bands, rows = choose_bands(settings.permutations, settings.threshold)
    sorter = _sorter(workspace, "bands", (64, _ORDINAL_BITS))
    for begin in range(0, documents.num_rows, _ROWS_PER_STEP):
        block = documents.read(begin, min(_ROWS_PER_STEP, documents.num_rows - begin))
        kept = ~skipped[begin : begin + len(block)]
        ordinals = np.arange(begin, begin + len(block), dtype=np.uint64)[kept]
        keys = minhash.band_keys(block["signature"][kept], bands, rows)
        sorter.add(keys.ravel(), np.repeat(ordinals, bands))
    return sorter


def _first_of_group(ordinals: Columns | Any, repeats: Flags, carried: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """For each row, the ordinal that begins its group; the block's first group may have begun in the block before."""
    starts = np.maximum.accumulate(np.where(repeats, 0, np.arange(len(ordinals))))
    firsts: npt.NDArray[np.uint64] = ordinals[starts]
    if len(carried) and repeats[0]:
        firsts[: int(np.argmin(repeats)) if not repeats.all() else len(repeats)] = carried[0]
    return firsts


def _similarity(
    documents: RowFile, earlier: npt.NDArray[np.uint64], later: npt.NDArray[np.uint64]
) -> npt.NDArray[np.float64]:
    """The estimated Jaccard similarity of pairs: the share of equal places in their signatures."""
    one = documents.gather(earlier.astype(np.int64))["signature"]
    other = documents.gather(later.astype(np.int64))["signature"]
    similarity: npt.NDArray[np.float64] = (one == other).mean(axis=1)
    return similarity


def _equals_previous(values: npt.NDArray[np.uint64], last: npt.NDArray[np.uint64]) -> Flags:
    """Whether each value equals the one before it; `last` is the one before the first, if there is one."""
    equal = np.zeros(len(values), dtype=np.bool_)
    equal[1:] = values[1:] == values[:-1]
    if len(last):
        equal[0] = values[0] == last[0]
    return equal


def _sorter(workspace: Workspace, name: str, widths: tuple[int, ...], *, tally: bool = False) -> RecordSorter:
    memory = workspace.memory_limit // SHARE_OF_MEMORY
    return RecordSorter(workspace.folder / name, widths=widths, tally=tally, memory=memory)
