"""Columns of strings as Arrow arrays, made from their bytes.

`pyarrow.array` does the same, but imports pandas to look whether it was given some of its types: half a second and 40 MB.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["string_array", "string_list_array"]


def string_array(texts: Sequence[bytes]) -> pa.StringArray:
    """Strings, given as UTF-8, none of them null."""
    offsets = pa.py_buffer(_offsets([len(text) for text in texts]))
    return pa.StringArray.from_buffers(len(texts), offsets, pa.py_buffer(b"".join(texts)))


def string_list_array(lists: Sequence[Sequence[bytes]]) -> pa.ListArray:
    """Lists of strings, given as UTF-8, none of them null."""
    offsets = pa.Array.from_buffers(
        pa.int32(), len(lists) + 1, [None, pa.py_buffer(_offsets([len(texts) for texts in lists]))]
    )
    return pa.ListArray.from_arrays(offsets, string_array(list(chain.from_iterable(lists))))


def _offsets(lengths: list[int]) -> npt.NDArray[np.int32]:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    assert offsets[-1] <= np.iinfo(np.int32).max, "a row group holds at most 2 GiB"
    return offsets.astype(np.int32)
