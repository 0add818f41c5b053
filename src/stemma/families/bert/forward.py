"""BERT's encoder as training runs it, on the modules of `transformers`: the same function, at less cost.

One product for queries, keys and values; dropout by `stemma.layers.dropout`; and the last block only where somebody asks for its
output. Reference tests compare outputs and gradients with the network's own forward.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from stemma.layers.attention import attend, same_example
from stemma.layers.dropout import Masks, add_dropped, dropped, masks_for

__all__ = ["encode", "encode_layers"]


def encode(bert: Any, tensors: Mapping[str, Tensor]) -> Tensor:
    """The last hidden states (rows, width, size) of `input_ids` (rows, width).

    `attention_mask` (rows, width) is 0 where a token is not to be seen; or `examples` (rows, width) says which example of
    its row a token belongs to, and `position_ids` where it stands there. With `columns` (rows, asked), only those of each row.
    In a network that is a decoder to `transformers`, no token sees those behind it.
    """
    return deque(_layers(bert, tensors), maxlen=1).pop()  # no layer below it is held


def encode_layers(bert: Any, tensors: Mapping[str, Tensor], count: int) -> list[Tensor]:
    """The hidden states behind each of the last `count` blocks; `columns` are those of the last alone."""
    return list(deque(_layers(bert, tensors), maxlen=count))


def _layers(bert: Any, tensors: Mapping[str, Tensor]) -> Iterator[Tensor]:
    masks = masks_for(bert.embeddings.dropout)  # one share for all, as the settings have it
    bias = _bias(tensors, one_way=bert.config.is_decoder)
    hidden = _embed(bert.embeddings, tensors, masks)
    *blocks, last = bert.encoder.layer
    for block in blocks:
        hidden = _block(block, hidden, None, bias, masks)
        yield hidden
    yield _block(last, hidden, tensors.get("columns"), bias, masks)


def _bias(tensors: Mapping[str, Tensor], *, one_way: bool) -> Tensor | None:
    bias = None
    if "examples" in tensors:
        bias = same_example(tensors["examples"])
    elif "attention_mask" in tensors:
        outside = tensors["attention_mask"][:, None, None, :] == 0
        bias = torch.zeros(outside.shape).masked_fill_(outside, -torch.inf)
    if not one_way:
        return bias
    rows, width = tensors["input_ids"].shape
    behind = torch.full((width, width), -torch.inf).triu_(1)
    return behind.expand(rows, 1, width, width) if bias is None else bias + behind


def _embed(embeddings: Any, tensors: Mapping[str, Tensor], masks: Masks | None) -> Tensor:
    ids = tensors["input_ids"]
    positions = tensors.get("position_ids", embeddings.position_ids[:, : ids.shape[1]])
    words = embeddings.word_embeddings(ids) + embeddings.token_type_embeddings(tensors["token_type_ids"])
    return dropped(embeddings.LayerNorm(words + embeddings.position_embeddings(positions)), masks)


def _block(block: Any, hidden: Tensor, columns: Tensor | None, bias: Tensor | None, masks: Masks | None) -> Tensor:
    attention, output = block.attention.self, block.attention.output
    size = attention.attention_head_size
    if columns is None:
        asked, query = hidden, None
        joined = linear(hidden, *_joined(attention, attention.query))
    else:
        asked = hidden.gather(1, columns[:, :, None].expand(-1, -1, hidden.shape[2]))
        query = attention.query(asked).mul(size**-0.5).unflatten(2, (-1, size))
        joined = linear(hidden, *_joined(attention))
        if bias is not None and bias.shape[2] > 1:
            bias = bias.gather(2, columns[:, None, :, None].expand(-1, -1, -1, bias.shape[3]))
    parts = 3 if query is None else 2
    context = attend(query, joined.view(*hidden.shape[:2], parts, -1, size), bias, masks)
    attended = output.LayerNorm(add_dropped(asked, output.dense(context), masks))
    inner = block.intermediate(attended)
    result: Tensor = block.output.LayerNorm(add_dropped(attended, block.output.dense(inner), masks))
    return result


def _joined(attention: Any, *queries: Any) -> tuple[Tensor, Tensor]:
    """The projections to queries, keys and values as one; it is cheaper to scale the weights of queries than what they give."""
    scale = attention.attention_head_size**-0.5
    others = attention.key, attention.value
    weights = [*(one.weight * scale for one in queries), *(one.weight for one in others)]
    biases = [*(one.bias * scale for one in queries), *(one.bias for one in others)]
    return torch.cat(weights), torch.cat(biases)
