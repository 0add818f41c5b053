"""Spans from the scores of their ends (Devlin et al. 2019, section 4.2): the best has its end not before its start."""

from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

__all__ = ["NO_SPAN", "best_spans"]

Ints = npt.NDArray[np.int64]
NO_SPAN: Final = float(np.finfo(np.float32).min)  # the score of a context without tokens


def best_spans(
    logits: Tensor, first: Ints, counts: Ints, max_length: int
) -> tuple[Ints, Ints, npt.NDArray[np.float32]]:
    """Of each row of logits (batch, length, 2) the best start, end and their score, among `counts` columns from `first`.

    The earliest start, and for it the earliest end, wins ties.
    """
    start, end = logits.float().unbind(-1)
    columns = torch.arange(logits.shape[1])
    begin, stop = torch.from_numpy(first)[:, None], torch.from_numpy(first + counts)[:, None]
    outside = (columns < begin) | (columns >= stop)
    start, end = start.masked_fill(outside, -torch.inf), end.masked_fill(outside, -torch.inf)
    best, length = torch.full_like(start, -torch.inf), torch.zeros_like(start, dtype=torch.long)
    for extra in range(min(max_length, logits.shape[1])):  # ends that lie `extra` behind their start
        scores = start[:, : start.shape[1] - extra] + end[:, extra:]
        better = scores > best[:, : scores.shape[1]]
        best[:, : scores.shape[1]][better] = scores[better]
        length[:, : scores.shape[1]][better] = extra
    score, chosen = best.max(dim=1)
    chosen = (best == score[:, None]).long().argmax(dim=1)  # max() does not say which of equals it takes
    last = chosen + length[torch.arange(len(chosen)), chosen]
    return chosen.numpy(), last.numpy(), score.clamp(min=NO_SPAN).numpy()
