"""Packed rows of examples taken apart again, for those who want them one a row."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

__all__ = ["unpacked"]


def unpacked(passes: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The examples of a packed batch as `BertForPreTraining` takes them: one a row, padded, -100 where nothing is asked.

    Without next-sentence prediction, as `BertForMaskedLM` takes them.
    """
    found = []
    for tensors in passes:
        rows, width = tensors["input_ids"].shape
        examples = tensors.get("examples", torch.arange(rows)[:, None].expand(rows, width))
        places = torch.arange(rows)[:, None] * width + tensors["columns"]  # of the asked columns, in all rows
        labels, orders = torch.full((rows * width,), -100), torch.full((rows * width,), -100)
        labels[places.flatten()[tensors["asked"]]] = tensors["labels"]
        if "firsts" in tensors:
            orders[places.flatten()[tensors["firsts"]]] = tensors["next_sentence_label"]
        ids, types = tensors["input_ids"].flatten(), tensors["token_type_ids"].flatten()
        for number in torch.unique(examples):
            own = (examples.flatten() == number).nonzero().flatten()
            if number >= 0:
                torch.testing.assert_close(tensors["position_ids"].flatten()[own], torch.arange(len(own)))
                found.append((ids[own], types[own], labels[own], orders[own[0]]))
    columns = [pad_sequence([row[part] for row in found], True, fill) for part, fill in ((0, 0), (1, 0), (2, -100))]
    inside = pad_sequence([torch.ones(len(row[0])) for row in found], True, 0)
    names = ("input_ids", "token_type_ids", "labels", "attention_mask", "next_sentence_label")
    rows_of = dict(zip(names, [*columns, inside, torch.stack([row[3] for row in found])], strict=True))
    if "firsts" not in passes[0]:
        del rows_of["next_sentence_label"]
    return rows_of
