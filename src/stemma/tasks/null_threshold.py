"""From which margin on a question is taken to have no answer: where a metric of validation rows is best.

As the script of SQuAD 2.0 (Rajpurkar et al. 2018) finds it, but for the place between two margins, which is their middle here.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stemma.protocols import HeadKind
from stemma.tasks.metrics import per_example

__all__ = ["best_threshold"]

_KIND: HeadKind = "span"


def best_threshold(metric: str, rows: pa.Table, spans: pa.Table, margins: npt.NDArray[np.float64]) -> float:
    """The threshold with the best metric, between two margins or beyond them all; of several the highest, which answers most.

    `spans` answers every row, `margins` says by how much saying nothing is above that answer.
    """
    answered = per_example(_KIND, rows, spans, [])[metric]
    silent = np.array([not answers for answers in rows["answers"].to_pylist()], dtype=np.float64)
    order = np.argsort(margins, kind="stable")
    gains = np.concatenate([[0.0], np.cumsum(answered[order] - silent[order])])  # with the lowest k margins answered
    ordered = margins[order]
    distinct = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])  # between equals there is no threshold
    best = int(np.flatnonzero(distinct & (gains >= gains[distinct].max() - 1e-12))[-1])
    if best == len(ordered):
        return float(ordered[-1] + 1.0)
    return float(ordered[0] - 1.0) if best == 0 else float((ordered[best - 1] + ordered[best]) / 2)
