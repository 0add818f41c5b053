"""The CRF against all sequences written out, its gradients, and legal tags."""

import itertools

import pytest
import torch
from torch import Tensor, nn

from stemma.layers.crf import CrfTagger, LinearChainCrf, legal_transitions
from stemma.protocols import Tagger
from stemma.tasks.heads import head_loss

LABELS = ["O", "B-A", "I-A", "I-B"]
LENGTHS = torch.tensor([4, 1, 0, 3])


def crf() -> LinearChainCrf:
    torch.manual_seed(3)
    result = LinearChainCrf(LABELS).double()
    for parameter in result.parameters():
        nn.init.normal_(parameter)
    return result


def emissions() -> Tensor:
    return torch.randn(len(LENGTHS), 4, len(LABELS), generator=torch.Generator().manual_seed(5), dtype=torch.double)


def written_out(layer: LinearChainCrf, row: Tensor, tags: tuple[int, ...]) -> Tensor:
    total = layer.starts[tags[0]] + layer.ends[tags[-1]]
    for step, tag in enumerate(tags):
        total = total + row[step, tag]
    for before, tag in itertools.pairwise(tags):
        total = total + layer.transitions[before, tag]
    return total


def every(length: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(len(LABELS)), repeat=length))


def test_the_partition_and_the_scores_are_those_of_all_sequences() -> None:
    layer, scores = crf(), emissions()
    for row, length in enumerate(LENGTHS.tolist()):
        if not length:
            continue
        totals = [written_out(layer, scores[row], tags) for tags in every(length)]
        wanted = torch.logsumexp(torch.stack(totals), 0)
        torch.testing.assert_close(layer.log_partition(scores, LENGTHS)[row], wanted)
        for tags, total in list(zip(every(length), totals, strict=True))[::7]:
            padded = torch.full((len(LENGTHS), 4), 2)
            padded[row, :length] = torch.tensor(tags)
            torch.testing.assert_close(layer.score(scores, padded, LENGTHS)[row], total)


def test_probabilities_sum_to_one() -> None:
    layer, scores = crf(), emissions()[:1]
    tags = torch.tensor(every(3))
    losses = layer(scores[:, :3].expand(len(tags), -1, -1), tags, torch.full((len(tags),), 3))
    torch.testing.assert_close(torch.exp(-losses).sum(), torch.tensor(1.0, dtype=torch.double))


def test_a_row_without_tags_costs_nothing() -> None:
    assert crf()(emissions(), torch.zeros(4, 4, dtype=torch.long), LENGTHS)[2] == 0


def is_legal(tags: tuple[int, ...]) -> bool:
    """I-A behind B-A or I-A alone; I-B, which has no B-B, anywhere."""
    before = (None, *tags[:-1])
    return all(tag != 2 or last in (1, 2) for last, tag in zip(before, tags, strict=True))


def test_the_best_tags_are_the_best_of_all_legal_ones() -> None:
    layer, scores = crf(), emissions()
    found = layer.decode(scores, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        if length:
            legal = [tags for tags in every(length) if is_legal(tags)]
            best = max(legal, key=lambda tags: written_out(layer, scores[row], tags).item())
            assert tuple(found[row, :length].tolist()) == best


def test_an_illegal_sequence_is_never_found_however_likely() -> None:
    layer = LinearChainCrf(LABELS)
    scores = torch.zeros(1, 5, len(LABELS))
    scores[:, :, 2] = 10.0
    tags = layer.decode(scores, torch.tensor([5]))[0].tolist()
    assert tags == [1, 2, 2, 2, 2]


def test_what_is_legal_is_read_from_the_names() -> None:
    starts, follows = legal_transitions(LABELS)
    assert starts.tolist() == [True, True, False, True]
    assert follows[:, 2].tolist() == [False, True, True, False]
    assert follows[:, [0, 1, 3]].all()


def test_gradients_are_the_numerical_ones() -> None:
    layer, scores = crf(), emissions().requires_grad_()
    tags = torch.tensor([[0, 1, 2, 3], [2, 0, 0, 0], [0, 0, 0, 0], [3, 3, 0, 0]])
    assert torch.autograd.gradcheck(lambda given: layer(given, tags, LENGTHS).sum(), (scores,))

    def by_transitions(transitions: Tensor) -> Tensor:
        inputs = (emissions(), tags, LENGTHS)
        losses: Tensor = torch.func.functional_call(layer, {"transitions": transitions}, inputs)
        return losses.sum()

    assert torch.autograd.gradcheck(by_transitions, (layer.transitions.detach().clone().requires_grad_(),))


class Fixed(nn.Module):
    """Logits, whatever the input."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, *_: Tensor) -> Tensor:
        return self.logits


def test_only_tokens_that_are_asked_take_part() -> None:
    torch.manual_seed(1)
    logits = torch.randn(2, 6, len(LABELS))
    model = CrfTagger(Fixed(logits), LABELS)
    for parameter in model.crf.parameters():
        nn.init.normal_(parameter)
    assert isinstance(model, Tagger)
    targets = torch.tensor([[-100, 1, -100, 2, 0, -100], [-100, 3, -100, -100, -100, -100]])
    kept = torch.stack([logits[0, [1, 3, 4]], logits[1, [1, 0, 0]]])
    losses = model.crf(kept, torch.tensor([[1, 2, 0], [3, 0, 0]]), torch.tensor([3, 1]))
    torch.testing.assert_close(model.tag_loss(logits, targets), losses.sum() / 4)
    tags = model.best_tags(logits, targets >= 0)
    assert tags[0, [1, 3, 4]].tolist() == model.crf.decode(kept, torch.tensor([3, 1]))[0].tolist()
    assert not tags[targets < 0].any()


def test_without_transitions_it_is_cross_entropy() -> None:
    torch.manual_seed(1)
    logits, targets = torch.randn(3, 5, len(LABELS)), torch.randint(0, 4, (3, 5))
    targets[1, 2:] = -100
    loss = CrfTagger(Fixed(logits), LABELS).tag_loss(logits, targets)
    torch.testing.assert_close(loss, head_loss("tagging", logits, targets))


@pytest.mark.parametrize("asked", [0, 1])
def test_rows_in_which_nothing_is_asked_are_no_trouble(asked: int) -> None:
    targets = torch.full((2, 3), -100)
    targets[0, :asked] = 1
    model = CrfTagger(Fixed(torch.zeros(2, 3, len(LABELS))), LABELS)
    loss = model.tag_loss(model(targets, targets, targets), targets)
    loss.backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(loss)
    assert torch.isfinite(model.crf.starts.grad).all() if model.crf.starts.grad is not None else not asked
