"""16 bits only where a processor has them."""

import pytest
import torch

from stemma.errors import SettingsError
from stemma.training.precision import check_precision, lowered


def test_a_processor_without_the_instructions_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"\(Old CPU\) has no bfloat16 instructions.*use float32"):
        check_precision("bfloat16", capabilities={"cpu_name": "Old CPU", "avx2": True})
    check_precision("float32", capabilities={"cpu_name": "Old CPU"})


@pytest.mark.parametrize("feature", ["amx_bf16", "avx512_bf16"])
def test_a_processor_that_has_them_is_not(feature: str) -> None:
    check_precision("bfloat16", capabilities={feature: True})


def test_products_are_in_the_precision_that_is_asked_for() -> None:
    left, right = torch.randn(2, 8, 8)
    with lowered("bfloat16"):
        assert (left @ right).dtype == torch.bfloat16
    with lowered("float32"):
        assert (left @ right).dtype == torch.float32
