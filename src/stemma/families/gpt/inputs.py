"""A task's texts as GPT reads them (Radford et al. 2018, section 3.3): behind `start`, up to `extract`, where the answer is read.

Texts come as `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`. What they become, by the kind of question:

classification   start A extract
entailment       start A delimiter B extract: A is the premise
similarity       start A delimiter B extract, and start B delimiter A extract: neither comes first, so their last states are added
multiple choice  start A delimiter B extract, once a choice B; each gets one score, and the highest is the answer
"""

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Marks", "last_places", "marked", "swapped"]


@dataclass(frozen=True, kw_only=True)
class Marks:
    """The ids that frame texts as they come, and those of the network's own tokens that take their place."""

    cls: int
    sep: int
    start: int
    delimiter: int
    extract: int

    @classmethod
    def behind(cls, vocabulary_size: int, cls_id: int, sep_id: int) -> "Marks":
        """The three own tokens have the ids that follow a vocabulary."""
        start, delimiter, extract = range(vocabulary_size, vocabulary_size + 3)
        return cls(cls=cls_id, sep=sep_id, start=start, delimiter=delimiter, extract=extract)


def marked(ids: Tensor, inside: Tensor, marks: Marks) -> Tensor:
    """The inputs (rows, width) with our own tokens: `start` for [CLS], `extract` for the last [SEP], `delimiter` for others."""
    result = ids.masked_fill(ids == marks.cls, marks.start).masked_fill(ids == marks.sep, marks.delimiter)
    return result.scatter(1, last_places(inside)[:, None], marks.extract)


def swapped(ids: Tensor, inside: Tensor, types: Tensor) -> Tensor:
    """The same inputs with B before A; those without a B stay as they are."""
    columns = torch.arange(ids.shape[1])
    first = inside.long().argmax(1, keepdim=True)  # padding may come before
    at = columns - first
    second = ((types == 1) & inside.bool()).sum(1, keepdim=True) - 1  # how many tokens B has, without its [SEP]
    length = inside.sum(1, keepdim=True) - second - 3  # and A
    source = torch.where((at >= 1) & (at <= second), at + length + 1, at)
    source = torch.where(at == second + 1, length + 1, source)
    source = torch.where((at >= second + 2) & (at <= second + 1 + length), at - second - 1, source)
    return ids.gather(1, torch.where(second < 0, columns, source + first))


def last_places(inside: Tensor) -> Tensor:
    """Where the last token of each row stands, whichever side is padded."""
    return (inside.long() * torch.arange(1, inside.shape[1] + 1)).argmax(1)
