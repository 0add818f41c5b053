"""What stands around a row in its document, as much of it as there is room for (Devlin et al. 2019, section 5.3).

Left out on purpose: rows of the same document that do not stand side by side.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Context", "find_context"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Context:
    """How many word pieces stand before and behind each row's own (rows,)."""

    before: Ints
    behind: Ints


def find_context(documents: pa.ChunkedArray, offsets: Ints, room: int) -> Context:
    """Share the room that rows leave evenly between what is before and what is behind; what one can't use the other gets.

    `offsets` (rows + 1,) say where rows begin among all pieces. Rows next to each other are of one document if they name the
    same; one that names none is alone, and one that fills the room gets nothing.
    """
    codes = documents.combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    edges = np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1, [len(codes)]]).astype(np.int64)
    document = np.repeat(np.arange(len(edges) - 1), np.diff(edges))  # (rows,)
    named = pc.not_equal(documents, "").to_numpy().astype(np.int64)
    before = (offsets[:-1] - offsets[edges[document]]) * named
    behind = (offsets[edges[document + 1]] - offsets[1:]) * named
    left = np.maximum(0, room - np.diff(offsets))
    taken = np.minimum(before, np.maximum(left // 2, left - behind))
    return Context(taken, np.minimum(behind, left - taken))
