"""A weighted sum of layers, whose weights a task learns (Peters et al. 2018, section 3.2)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

__all__ = ["ScalarMix"]


class ScalarMix(nn.Module):
    """γ Σ_j s_j h_j, where s is the softmax of what is learned."""

    def __init__(self, num_layers: int) -> None:
        super().__init__()
        self.scores = nn.Parameter(torch.zeros(num_layers))  # at first the mean
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """From layers of one shape to that shape."""
        weights = self.gamma * torch.softmax(self.scores, dim=0)
        return torch.stack([weight * layer for weight, layer in zip(weights, layers, strict=True)]).sum(0)
