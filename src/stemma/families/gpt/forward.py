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
        joined = _joined(block.attn, hidden)
        found = _causal_attention(joined) if bias is None else attend(None, joined, bias, masks)
        hidden = _rest(block, hidden, found, masks)
    return hidden


@dataclass
class Cache:
    """The keys and values of the tokens that were read so far, by block."""

    blocks: list[Tensor] = field(default_factory=list)  # (rows, length, 2, heads, size) each

    @property
    def length(self) -> int:
        """How many tokens that is."""
        return self.blocks[0].shape[1] if self.blocks else 0


def extend(transformer: Any, ids: Tensor, cache: Cache) -> Tensor:
    """The last hidden states (rows, new, size) of tokens that follow those in the cache; it then holds them too."""
    before, count = cache.length, ids.shape[1]
    bias = _causal(before + count)[before:] if count > 1 else None
    hidden: Tensor = transformer.tokens_embed(ids) + transformer.positions_embed(torch.arange(before, before + count))
    for number, block in enumerate(transformer.h):
        joined = _joined(block.attn, hidden)
        query, new = joined[:, :, 0], joined[:, :, 1:]
        if before:
            cache.blocks[number] = torch.cat([cache.blocks[number], new], 1)
        else:
            cache.blocks.append(new)
        hidden = _rest(block, hidden, attend(query, cache.blocks[number], bias, None), None)
    return hidden


def _causal_attention(joined: Tensor) -> Tensor:
    """Attention to what stands before, by the kernel that does not compute what may not be seen."""
    query, key, value = (part.transpose(1, 2) for part in joined.unbind(2))
    return scaled_dot_product_attention(query, key, value, is_causal=True, scale=1.0).transpose(1, 2).flatten(2)


def _causal(width: int) -> Tensor:
    """What to add to scores (width, width) so that no token sees what follows it."""
    return torch.full((width, width), -torch.inf).triu_(1)


def _joined(attention: Any, hidden: Tensor) -> Tensor:
    """Queries, keys and values (rows, width, 3, heads, size); to scale weights is cheaper than to scale queries."""
    size = attention.split_size // attention.n_head
    scale = torch.ones(3, attention.split_size)
    scale[0] = size**-0.5
    weight, bias = (part * scale.flatten() for part in (attention.c_attn.weight, attention.c_attn.bias))
    return _product(hidden, weight, bias).view(*hidden.shape[:2], 3, -1, size)


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
