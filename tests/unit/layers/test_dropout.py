"""Masks of the right rate, from torch's generator alone."""

import pytest
import torch
from scipy import stats
from torch import nn

from stemma.layers.dropout import Masks, add_dropped, dropped, masks_for


@pytest.mark.parametrize("share", [0.1, 0.5, 0.013])
def test_the_rate_is_that_of_the_setting_and_the_mean_stays(share):
    torch.manual_seed(1)
    mask = Masks(share).draw((1000, 1003))
    dropped_values = int((mask == 0).sum())
    assert stats.binomtest(dropped_values, mask.numel(), share).pvalue > 1e-4
    assert len(set(mask.flatten()[:10_000].tolist())) == 2
    assert float(mask.max()) == pytest.approx(1 / (1 - share), rel=1e-4)


def test_masks_follow_from_torchs_generator():
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append([Masks(0.3).draw((64,)), Masks(0.3).draw((64,))])
    torch.testing.assert_close(draws[0], draws[1], rtol=0, atol=0)
    assert not torch.equal(draws[0][0], draws[2][0])
    assert not torch.equal(draws[0][0], draws[0][1]), "each pass has masks of its own"


def test_values_of_a_mask_do_not_depend_on_their_neighbours():
    torch.manual_seed(3)
    kept = (Masks(0.5).draw((2, 200_000)) > 0).float()
    for lag in (1, 2, 3, 4, 8):
        together = float((kept[:, lag:] * kept[:, :-lag]).mean())
        assert together == pytest.approx(0.25, abs=0.005)
    assert float((kept[0] * kept[1]).mean()) == pytest.approx(0.25, abs=0.005)


def test_gradients_pass_where_values_do():
    torch.manual_seed(1)
    values, base = torch.ones(50, requires_grad=True), torch.zeros(50, requires_grad=True)
    result = add_dropped(base, values, Masks(0.4))
    torch.autograd.backward(result.sum())
    torch.testing.assert_close(values.grad, result.detach())
    torch.testing.assert_close(base.grad, torch.ones(50))
    assert dropped(values, None) is values


def test_a_module_that_does_not_train_has_no_masks():
    assert masks_for(nn.Dropout(0.1).eval()) is None
    assert masks_for(nn.Dropout(0.0)) is None
    assert masks_for(nn.Dropout(0.1)) is not None
