"""Columns of strings as Arrow arrays, made from their bytes.

`pyarrow.array` does the same, but imports pandas to look whether it was given some of its types: half a second and 40 MB.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["string_array", "string_list_array"]


def string_array(texts: Sequence[bytes]) -> pa.StringArray:
    """Strings, given as UTF-8, none of them null."""
    offsets = pa.py_buffer(_offsets([len(text) for text in texts]))
    return pa.StringArray.from_buffers(len(texts), offsets, pa.py_buffer(b"".join(texts)))


def string_list_array(lists: Sequence[bytes]) -> pa.ListArray:
    """Lists of strings, each list given as lines of UTF-8; no lines are an empty list."""
    bounds = _offsets([lines.count(b"\n") + 1 if lines else 0 for lines in lists])
    joined = b"\n".join(filter(None, lists))
    breaks = np.flatnonzero(np.frombuffer(joined, dtype=np.uint8) == ord("\n"))
    offsets = np.zeros(bounds[-1] + 1, dtype=np.int32)
    offsets[1:] = np.append(breaks, len(joined))[: bounds[-1]] - np.arange(bounds[-1])  # without the line ends
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(joined.replace(b"\n", b""))]
    strings = pa.Array.from_buffers(pa.string(), int(bounds[-1]), buffers)
    return pa.ListArray.from_arrays(
        pa.Array.from_buffers(pa.int32(), len(bounds), [None, pa.py_buffer(bounds)]), strings
    )


def _offsets(lengths: list[int]) -> npt.NDArray[np.int32]:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    assert offsets[-1] <= np.iinfo(np.int32).max, "a row group holds at most 2 GiB"
    return offsets.astype(np.int32)
