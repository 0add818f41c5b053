"""A token's vector from its characters alone (Kim et al. 2016, as ELMo has it): filters, highway layers, a projection.

A filter of width w looks at each w characters in a row; of what it finds in a token the largest counts. Behind a token there is
padding without end, whose vector is 0, so a token's vector does not depend on how long the others are.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from stemma.families.elmo.characters import NUM_CHARACTERS, PADDING, Characters

__all__ = ["Highway", "TokenEncoder"]

_AT_ONCE = 256  # tokens, of like length


class Highway(nn.Module):
    """Part of the input goes through a layer, the rest past it (Srivastava et al. 2015): y = t · relu(W x + b) + (1 - t) · x."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layer = nn.Linear(size, 2 * size)  # W and what the gate t is the sigmoid of
        nn.init.normal_(self.layer.weight, std=1 / math.sqrt(size))
        nn.init.zeros_(self.layer.bias[:size])
        nn.init.constant_(self.layer.bias[size:], -2.0)  # at first almost all goes past

    def forward(self, inputs: Tensor) -> Tensor:
        """From (tokens, size) to the same shape."""
        changed, gate = self.layer(inputs).chunk(2, dim=1)
        return torch.lerp(inputs, torch.relu(changed), torch.sigmoid(gate))


class TokenEncoder(nn.Module):
    """Ids to vectors."""

    table: Tensor  # (ids, longest): characters
    lengths: Tensor  # (ids,)

    def __init__(
        self, characters: Characters, character_size: int, filters: Sequence[tuple[int, int]], highways: int, size: int
    ) -> None:
        super().__init__()
        self._reach = max(width for width, _ in filters) - 1  # how far a window that begins in a token goes beyond it
        table = nn.functional.pad(torch.from_numpy(characters.table), (0, self._reach), value=PADDING)
        self.register_buffer("table", table, persistent=False)
        self.register_buffer("lengths", torch.from_numpy(characters.lengths), persistent=False)
        self.vectors = nn.Parameter(torch.empty(NUM_CHARACTERS, character_size))
        self.filters = nn.ParameterList(nn.Parameter(torch.empty(width * character_size, n)) for width, n in filters)
        total = sum(number for _, number in filters)
        self.bias = nn.Parameter(torch.zeros(total))
        self.highways = nn.Sequential(*(Highway(total) for _ in range(highways)))
        self.projection = nn.Linear(total, size)
        nn.init.uniform_(self.vectors, -1.0, 1.0)
        with torch.no_grad():
            self.vectors[PADDING] = 0.0
        for filter_ in self.filters:
            nn.init.normal_(filter_, std=1 / math.sqrt(len(filter_)))

    def forward(self, ids: Tensor) -> Tensor:
        """Vectors (tokens, size) of some tokens, best each once."""
        order = torch.argsort(self.lengths[ids], stable=True)
        found = torch.cat([self._look(ids[some]) for some in torch.split(order, _AT_ONCE)])
        found = torch.empty_like(found).index_copy(0, order, found)
        result: Tensor = self.projection(self.highways(torch.relu(found + self.bias)))
        return result

    def _look(self, ids: Tensor) -> Tensor:
        """What each filter finds at most (tokens, filters); in the padding behind every token it finds 0."""
        longest = int(self.lengths[ids].max())
        characters = self.table[ids, : longest + self._reach]
        vectors = nn.functional.embedding(characters, self.vectors, padding_idx=PADDING)  # (tokens, width, size)
        parts = []
        for filter_ in self.filters:
            width = len(filter_) // vectors.shape[2]
            windows = torch.cat([vectors[:, start : start + longest] for start in range(width)], dim=2)
            parts.append((windows @ filter_).max(dim=1).values.clamp(min=0))
        return torch.cat(parts, dim=1)
