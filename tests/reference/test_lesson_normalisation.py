"""Batch and layer normalisation against their formulas written out."""

import math

import pytest
import torch
from torch import nn

from stemma.lessons import explain
from stemma.lessons.normalisation import BATCH, over_batch, over_layer


def normal(values: list[float]) -> list[float]:
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    return [(value - mean) / math.sqrt(variance + 1e-5) for value in values]


def test_columns_by_batch_and_rows_by_layer() -> None:
    batch = torch.tensor(BATCH)
    for column, wanted in zip(over_batch(batch).T.tolist(), batch.T.tolist(), strict=True):
        assert column == pytest.approx(normal(wanted), abs=1e-5)
    for row, wanted in zip(over_layer(batch).tolist(), batch.tolist(), strict=True):
        assert row == pytest.approx(normal(wanted), abs=1e-5)
    torch.testing.assert_close(over_batch(batch), nn.BatchNorm1d(4)(batch))
    torch.testing.assert_close(over_layer(batch), nn.LayerNorm(4)(batch))


def test_what_is_told() -> None:
    lines = list(explain("normalisation"))
    assert "   1  2  3  6" in lines
    column, row = normal([1, 2, 3]), normal([1, 2, 3, 6])
    assert f"   {column[0]:.3f}  0.000  {column[0]:.3f}  0.000" in lines
    told = "  ".join(f"{value:.3f}" for value in row)
    assert lines.count(f"   {told}") == 2, "an example and its double"
    assert f"   layer: {told}, as before" in lines
    assert f"   layer: {told}" in lines, "alone"
    assert "   batch: 0.000  0.000  0.000  0.000" in lines
    (changed,) = (line for line in lines if line.startswith("   batch: -"))
    first = [normal([1, 2, 30]), normal([2, 4, 20]), normal([3, 6, 0]), normal([6, 12, 5])]
    assert changed == "   batch: " + "  ".join(f"{values[0] + 1e-9:.3f}" for values in first)
