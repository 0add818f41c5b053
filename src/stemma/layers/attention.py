"""Attention of every token to the tokens of its own example."""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from stemma.layers.dropout import Masks

__all__ = ["attend", "same_example"]


def same_example(examples: Tensor) -> Tensor:
    """What to add to scores (rows, 1, width, width) so that tokens see only those of their example, from each token's example."""
    apart = examples[:, None, :, None] != examples[:, None, None, :]
    return torch.zeros(apart.shape).masked_fill_(apart, -torch.inf)


def attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, masks: Masks | None) -> Tensor:
    """Attention of heads (rows, heads, width, size), put side by side: (rows, width of the query, heads × size).

    Queries come scaled, by one over the root of their size.
    torch's fused kernel knows no dropout on a CPU, and ours is cheaper than what it falls back to.
    """
    if masks is None:
        context = scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=1.0)
    else:
        scores = query @ key.transpose(2, 3)
        if bias is not None:
            scores = scores + bias
        weights = torch.softmax(scores, dim=-1)
        context = (weights * masks.draw(weights.shape)) @ value
    return context.transpose(1, 2).flatten(2)
