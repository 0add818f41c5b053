"""What a step costs, and the machine's own rate."""

from collections.abc import Iterator

import pytest
import torch

from stemma.training.hotspots import find_hotspots, matrix_rate


def multiply() -> Iterator[int]:
    matrix = torch.randn(400, 400)
    while True:
        torch.mm(matrix, matrix)
        yield 7


def test_the_dearest_operation_comes_first() -> None:
    found = find_hotspots(multiply(), most=3)
    assert found.top[0].name == "aten::mm"
    assert found.top[0].calls == 1
    assert found.top[0].share > 0.5
    assert [one.share for one in found.top] == sorted((one.share for one in found.top), reverse=True)
    assert found.tokens_per_second * found.milliseconds / 1000 == pytest.approx(7)
    assert 0.05 < found.matrix_share < 5, "nothing but products; small ones may run from the cache"


def test_the_rate_is_of_this_world() -> None:
    assert 1e8 < matrix_rate(size=256, rounds=3) < 1e14
