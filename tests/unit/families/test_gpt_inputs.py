"""What a task's texts become for GPT, against lists that are put together by hand."""

import pytest
import torch
from torch import Tensor

from stemma.families.gpt.inputs import Marks, last_places, marked, swapped

MARKS = Marks.behind(100, cls_id=2, sep_id=3)
ROWS = [([11, 12, 13], [21]), ([11], [21, 22, 23, 24]), ([], [21]), ([11, 12], []), ([11, 12, 13, 14, 15], None)]


def batch(side: str) -> tuple[Tensor, Tensor, Tensor]:
    """Rows as features have them, padded on one side."""
    columns: list[list[list[int]]] = []
    for first, second in ROWS:
        ids = [2, *first, 3]
        types = [0] * len(ids)
        if second is not None:
            ids, types = [*ids, *second, 3], [*types, *[1] * (len(second) + 1)]
        gap = [0] * (9 - len(ids))
        parts = (ids, [1] * len(ids), types)
        columns.append([gap + part if side == "left" else part + gap for part in parts])
    found = torch.tensor(columns)  # (rows, 3, width)
    return found[:, 0], found[:, 1], found[:, 2]


def texts(ids: Tensor, inside: Tensor) -> list[list[int]]:
    return [row[mask.bool()].tolist() for row, mask in zip(ids, inside, strict=True)]


@pytest.mark.parametrize("side", ["left", "right"])
def test_own_tokens_stand_for_those_that_frame_the_texts(side: str) -> None:
    ids, inside, _ = batch(side)
    start, delimiter, extract = 100, 101, 102
    assert texts(marked(ids, inside, MARKS), inside) == [
        [start, *first, *([] if second is None else [delimiter, *second]), extract] for first, second in ROWS
    ]
    assert (marked(ids, inside, MARKS)[inside == 0] == 0).all(), "padding stays padding"


@pytest.mark.parametrize("side", ["left", "right"])
def test_texts_change_places(side: str) -> None:
    ids, inside, types = batch(side)
    other = swapped(ids, inside, types)
    assert texts(other, inside) == [
        [2, *first, 3] if second is None else [2, *second, 3, *first, 3] for first, second in ROWS
    ]
    assert (other[inside == 0] == 0).all()


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_last_token_of_a_row(side: str) -> None:
    ids, inside, _ = batch(side)
    places = last_places(inside)
    assert ids[torch.arange(len(ids)), places].tolist() == [3] * len(ids)
    assert places.tolist() == ([8] * 5 if side == "left" else [int(row.sum()) - 1 for row in inside])
