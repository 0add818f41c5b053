"""The worked example of BERT's inputs: three embeddings are added, and that is what the network gets."""

import re

import pytest
import torch

from stemma.lessons.bert_inputs import TOKENS, add_up, explain, segments


def test_a_token_is_the_sum_of_three_vectors():
    parts = add_up()
    total = parts.token + parts.segment + parts.position
    centred = total - total.mean(1, keepdim=True)
    torch.testing.assert_close(parts.given, centred / centred.pow(2).mean(1, keepdim=True).add(1e-12).sqrt())


def test_equal_tokens_segments_and_places_have_equal_parts():
    parts = add_up()
    assert segments(TOKENS) == [0] * 6 + [1] * 5
    assert torch.equal(parts.token[5], parts.token[10]), "[SEP] twice"
    assert not torch.equal(parts.total[5], parts.total[10])
    assert torch.equal(parts.segment[0], parts.segment[5])
    assert not torch.equal(parts.segment[0], parts.segment[6])
    assert len({tuple(row.tolist()) for row in parts.position}) == len(TOKENS)


def test_it_is_told_for_every_token():
    parts, told = add_up(), list(explain())
    rows = told[2 : 2 + len(TOKENS)]
    assert [line.split()[0] for line in rows] == TOKENS
    for place, line in enumerate(rows):
        shown = [[float(value) for value in cell.split()] for cell in re.findall(r"\(([^)]*)\)", line)]
        wanted = [parts.token[place], parts.segment[place], parts.position[place], parts.total[place]]
        assert len(shown) == 4
        for cell, vector in zip(shown, wanted, strict=True):
            assert cell == pytest.approx((100 * vector).tolist(), abs=0.051)
        for column in range(4):
            assert sum(cell[column] for cell in shown[:3]) == pytest.approx(shown[3][column], abs=0.21), (
                "by the eye too"
            )
    assert "each token mean 0.00 and spread 1.00" in told[-1]
