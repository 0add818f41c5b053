"""GPT's forward as training and scoring run it, on the modules of `transformers`: the same function, at less cost.

`transformers` runs this network only operation by operation. Here queries are scaled by their weights, dropout is that of
`stemma.layers.dropout`, GELU is one operation, and attention without dropout is torch's fused kernel. Reference tests compare
outputs and gradients.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import gelu, scaled_dot_product_attention

from stemma.layers.attention import attend
from stemma.layers.dropout import Masks, add_dropped, dropped, masks_for

__all__ = ["Cache", "encode", "extend"]


def encode(transformer: Any, ids: Tensor, inside: Tensor | None = None) -> Tensor:
    """The last hidden states (rows, width, size) of tokens (rows, width), each from itself and what stands before it.

    `inside` (rows, width) is 0 where padding stands, on either side; positions count from the first token that is none.
    """
    width = ids.shape[1]
    positions, bias = torch.arange(width), None
    if inside is not None and not bool(inside[:, 0].all()):  # behind the tokens, padding is never seen
        positions = (inside.cumsum(1) - 1).clamp(min=0)
        seen = inside.bool()[:, None, :] | torch.eye(width, dtype=torch.bool)  # padding sees itself, or it would be NaN
        bias = torch.zeros(seen.shape).masked_fill_(~seen, -torch.inf)[:, None] + _causal(width)
    masks = masks_for(transformer.drop)  # one share for all, as the settings have it
    if masks is not None and bias is None:
        bias = _causal(width)
    hidden = dropped(transformer.tokens_embed(ids) + transformer.positions_embed(positions), masks)
    for block in transformer.h:
        query, key, value = _heads(block.attn, hidden)
        if bias is None:
            context = scaled_dot_product_attention(query, key, value, is_causal=True, scale=1.0)
            context = context.transpose(1, 2).flatten(2)
        else:
            context = attend(query, key, value, bias, masks)
        hidden = _rest(block, hidden, context, masks)
    return hidden


@dataclass
class Cache:
    """The keys and values of the tokens that were read so far, by block."""

    blocks: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    @property
    def length(self) -> int:
        """How many tokens that is."""
        return self.blocks[0][0].shape[2] if self.blocks else 0


def extend(transformer: Any, ids: Tensor, cache: Cache) -> Tensor:
    """The last hidden states (rows, new, size) of tokens that follow those in the cache; it then holds them too."""
    before, count = cache.length, ids.shape[1]
    bias = _causal(before + count)[before:] if count > 1 else None
    hidden: Tensor = transformer.tokens_embed(ids) + transformer.positions_embed(torch.arange(before, before + count))
    for number, block in enumerate(transformer.h):
        query, key, value = _heads(block.attn, hidden)
        if before:
            old_key, old_value = cache.blocks[number]
            key, value = torch.cat([old_key, key], 2), torch.cat([old_value, value], 2)
            cache.blocks[number] = key, value
        else:
            cache.blocks.append((key, value))
        hidden = _rest(block, hidden, attend(query, key, value, bias, None), None)
    return hidden


def _causal(width: int) -> Tensor:
    """What to add to scores (width, width) so that no token sees what follows it."""
    return torch.full((width, width), -torch.inf).triu_(1)


def _heads(attention: Any, hidden: Tensor) -> Tensor:
    """Queries, which are scaled, keys and values: (3, rows, heads, width, size); it is cheaper to scale the queries' weights."""
    size = attention.split_size // attention.n_head
    scale = torch.ones(3, attention.split_size)
    scale[0] = size**-0.5
    scale = scale.flatten()
    projected = _product(hidden, attention.c_attn.weight * scale, attention.c_attn.bias * scale)
    return projected.view(*hidden.shape[:2], 3, -1, size).permute(2, 0, 3, 1, 4)


def _rest(block: Any, hidden: Tensor, context: Tensor, masks: Masks | None) -> Tensor:
    """What a block makes of its input and what attention found in it."""
    attended = _product(context, block.attn.c_proj.weight, block.attn.c_proj.bias)
    hidden = block.ln_1(add_dropped(hidden, attended, masks))
    inner = gelu(_product(hidden, block.mlp.c_fc.weight, block.mlp.c_fc.bias), approximate="tanh")
    result: Tensor = block.ln_2(
        add_dropped(hidden, _product(inner, block.mlp.c_proj.weight, block.mlp.c_proj.bias), masks)
    )
    return result


def _product(values: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.addmm(bias, values.flatten(0, 1), weight).view(*values.shape[:2], -1)
