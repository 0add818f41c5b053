"""A linear-chain conditional random field (Lafferty et al. 2001): the tags of a text are scored as a whole.

P(y | x) is the exponential of start[y1] + Σ_t emission_t[y_t] + Σ_t transition[y_t-1, y_t] + end[y_n], over the sum of that for
all tags that there could be, which the forward algorithm finds in log space. The best tags are found by Viterbi's, among those
that are legal: I-X only behind B-X or I-X. In training every sequence is possible, so that data which breaks that rule has a
finite loss.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

__all__ = ["CrfTagger", "LinearChainCrf", "legal_transitions"]


def legal_transitions(labels: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Which labels may begin a text (labels,), and which may follow which (labels before, labels).

    I-X needs B-X or I-X before it; where there is no B-X among the labels, I-X may stand anywhere.
    """
    starts, follows = torch.ones(len(labels), dtype=torch.bool), torch.ones(len(labels), len(labels), dtype=torch.bool)
    for number, label in enumerate(labels):
        begin = f"B-{label.removeprefix('I-')}"
        if label.startswith("I-") and begin in labels:
            starts[number] = False
            follows[:, number] = torch.tensor([before in (begin, label) for before in labels])
    return starts, follows


class LinearChainCrf(nn.Module):
    """Scores of neighbouring tags, and what follows from them for whole rows (rows, length, labels) of emissions."""

    legal_start: Tensor
    legal: Tensor

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(len(labels), len(labels)))
        self.starts, self.ends = nn.Parameter(torch.zeros(len(labels))), nn.Parameter(torch.zeros(len(labels)))
        starts, follows = legal_transitions(labels)
        self.register_buffer("legal_start", starts, persistent=False)
        self.register_buffer("legal", follows, persistent=False)

    def forward(self, emissions: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """Minus the log-probability of each row's tags (rows,); 0 for a row of none."""
        return self.log_partition(emissions, lengths) - self.score(emissions, tags, lengths)

    def score(self, emissions: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """The sum for given tags (rows,); what tags behind a row's length are does not matter."""
        inside = torch.arange(tags.shape[1]) < lengths[:, None]
        some = lengths > 0
        emitted = (emissions.gather(2, tags[:, :, None])[:, :, 0] * inside).sum(1)
        moved = (self.transitions[tags[:, :-1], tags[:, 1:]] * inside[:, 1:]).sum(1)
        last = tags.gather(1, (lengths - 1).clamp(min=0)[:, None])[:, 0]
        return emitted + moved + (self.starts[tags[:, 0]] + self.ends[last]) * some

    def log_partition(self, emissions: Tensor, lengths: Tensor) -> Tensor:
        """The logarithm of the sum over all tags of the exponential of their score (rows,)."""
        alpha = self.starts + emissions[:, 0]
        for step in range(1, emissions.shape[1]):
            after = torch.logsumexp(alpha[:, :, None] + self.transitions, dim=1) + emissions[:, step]
            alpha = torch.where((step < lengths)[:, None], after, alpha)
        return torch.logsumexp(alpha + self.ends, dim=1) * (lengths > 0)

    def decode(self, emissions: Tensor, lengths: Tensor) -> Tensor:
        """The legal tags with the highest score (rows, length); behind a row's length they mean nothing."""
        moves = self.transitions.masked_fill(~self.legal, -torch.inf)
        best = (self.starts + emissions[:, 0]).masked_fill(~self.legal_start, -torch.inf)
        before: list[Tensor] = []  # for each step and label, the best label before it
        for step in range(1, emissions.shape[1]):
            scores, places = (best[:, :, None] + moves).max(dim=1)
            inside = (step < lengths)[:, None]
            before.append(torch.where(inside, places, torch.arange(best.shape[1])))
            best = torch.where(inside, scores + emissions[:, step], best)
        tags = [(best + self.ends).argmax(dim=1)]
        for places in reversed(before):
            tags.append(places.gather(1, tags[-1][:, None])[:, 0])
        return torch.stack(tags[::-1], dim=1)


class CrfTagger(nn.Module):
    """A network of tags with a CRF on its logits; only the tokens that a tag is asked for take part."""

    def __init__(self, network: nn.Module, labels: Sequence[str]) -> None:
        super().__init__()
        self.network, self.crf = network, LinearChainCrf(labels)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """The network's logits, the emissions (rows, length, labels)."""
        logits: Tensor = self.network(input_ids, attention_mask, token_type_ids)
        return logits

    def tag_loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Minus the log-probability of the tags (rows, length), those below 0 left out, in nats a tag."""
        asked = targets >= 0
        order, lengths = _in_front(asked)
        tags = targets.gather(1, order).clamp(min=0)
        losses: Tensor = self.crf(_take(logits, order), tags, lengths)
        return losses.sum() / lengths.sum().clamp(min=1)

    def best_tags(self, logits: Tensor, asked: Tensor) -> Tensor:
        """The best tags of the tokens that are asked for (rows, length); 0 elsewhere."""
        order, lengths = _in_front(asked)
        tags = self.crf.decode(_take(logits, order), lengths)
        found = torch.zeros(asked.shape, dtype=torch.long).scatter(1, order, tags)
        return found * asked


def _in_front(asked: Tensor) -> tuple[Tensor, Tensor]:
    """The places of each row's tokens, those asked for first and in their order, and how many these are."""
    lengths = asked.sum(1)
    width = max(1, int(lengths.max()))
    return torch.argsort(~asked, dim=1, stable=True)[:, :width], lengths


def _take(values: Tensor, order: Tensor) -> Tensor:
    return values.gather(1, order[:, :, None].expand(-1, -1, values.shape[2]))
