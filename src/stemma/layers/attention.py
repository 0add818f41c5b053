"""Attention of every token to the tokens of its own example."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import scaled_dot_product_attention

from stemma.layers.dropout import Masks

__all__ = ["attend", "same_example"]


def same_example(examples: Tensor) -> Tensor:
    """What to add to scores (rows, 1, width, width) so that tokens see only those of their example, from each token's example."""
    apart = examples[:, None, :, None] != examples[:, None, None, :]
    return torch.zeros(apart.shape).masked_fill_(apart, -torch.inf)


def attend(query: Tensor | None, joined: Tensor, bias: Tensor | None, masks: Masks | None) -> Tensor:
    """What the heads find, side by side: (rows, width of the queries, heads × size).

    `joined` (rows, width, 3, heads, size) holds queries, keys and values as one product gives them; without the first, if
    queries (rows, their width, heads, size) are given. They come scaled, by one over the root of their size.
    torch's fused kernel knows no dropout on a CPU, and ours is cheaper than what it falls back to.
    """
    if masks is not None:
        found: Tensor = _Attention.apply(query, joined, bias, masks)  # type: ignore[no-untyped-call]
        return found
    queries, keys, values = (part.transpose(1, 2) for part in _parts(query, joined))
    return scaled_dot_product_attention(queries, keys, values, attn_mask=bias, scale=1.0).transpose(1, 2).flatten(2)


def _parts(query: Tensor | None, joined: Tensor) -> tuple[Tensor, ...]:
    """Queries, keys and values (rows, width, heads, size) each."""
    return joined.unbind(2) if query is None else (query, *joined.unbind(2))


class _Attention(torch.autograd.Function):
    """Attention with dropout. Written out so that every head is copied once on its way in and once on its way back."""

    @staticmethod
    def forward(ctx: Any, query: Tensor | None, joined: Tensor, bias: Tensor | None, masks: Masks) -> Tensor:
        queries, keys, values = (_apart(part) for part in _parts(query, joined))
        scores = torch.bmm(queries, keys.transpose(1, 2))
        if bias is not None:
            scores.view(len(joined), -1, *scores.shape[1:]).add_(bias)
        weights = torch.softmax(scores, dim=-1).to(values.dtype)
        kept = masks.draw(weights.shape).to(values.dtype).mul_(weights)
        found = _together(torch.bmm(kept, values), len(joined)).contiguous()
        ctx.save_for_backward(queries, keys, values, weights, kept, found)
        ctx.has_query = query is not None
        return found.flatten(2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_found: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, weights, kept, found = ctx.saved_tensors
        errors = of_found.view_as(found)
        # What a score adds to the sum that softmax divides by, it takes from all weights: that part is errors · found.
        common = (errors * found).sum(3).transpose(1, 2).flatten(0, 1)[:, :, None]
        errors = _apart(errors)
        of_scores = torch.bmm(errors, values.transpose(1, 2)).mul_(kept).addcmul_(weights, common, value=-1)
        gradients = [
            _together(one, len(found))
            for one in (
                torch.bmm(of_scores, keys),
                torch.bmm(of_scores.transpose(1, 2), queries),
                torch.bmm(kept.transpose(1, 2), errors),
            )
        ]
        of_query = gradients.pop(0) if ctx.has_query else None
        return of_query, torch.stack(gradients, dim=2), None, None


def _apart(tokens: Tensor) -> Tensor:
    """Heads that lie side by side at each token (rows, width, heads, size), one after the other: (rows × heads, width, size)."""
    return tokens.transpose(1, 2).contiguous().flatten(0, 1)


def _together(heads: Tensor, num_rows: int) -> Tensor:
    """The way back: (rows, width, heads, size)."""
    return heads.view(num_rows, -1, *heads.shape[1:]).transpose(1, 2)
