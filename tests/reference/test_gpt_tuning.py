"""GPT with a head: what it reads where, and L3 = L2 + λ L1, against versions that take one input at a time."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
import transformers
from torch import Tensor
from torch.nn.functional import cross_entropy

from stemma.config import Task
from stemma.errors import InputError, SettingsError
from stemma.families.gpt.encoder import TunedGpt, load_encoder, load_tuned, save_auxiliary_weight
from stemma.progress import NullProgress
from stemma.protocols import Encoder
from stemma.tasks.tuning import Tuned, Tuner
from stemma.training.tracker import NullTracker
from tests import toy_gpt, toy_tasks

LABELS = ["no", "maybe", "yes"]
CHOICES = ["first", "second"]
PAIRS = [([5, 6, 7], [8, 9]), ([9, 8], [5, 5, 5, 6, 7]), ([6], [7]), ([5, 6, 7, 8, 9, 10], None)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_gpt.pretrain_on_pieces(tmp_path_factory.mktemp("gpt"), steps=8, dropout=0.0, layers=2)


def inputs(side: str = "right") -> dict[str, Tensor]:
    rows = []
    for first, second in PAIRS:
        ids, types = [2, *first, 3], [0] * (len(first) + 2)
        if second is not None:
            ids, types = [*ids, *second, 3], [*types, *[1] * (len(second) + 1)]
        gap = [0] * (12 - len(ids))
        parts = (ids, [1] * len(ids), types)
        rows.append([gap + part if side == "left" else part + gap for part in parts])
    names = ("input_ids", "attention_mask", "token_type_ids")
    return dict(zip(names, torch.tensor(rows).unbind(1), strict=True))


def with_head(folder: Path, weight: float, **changes: Any) -> TunedGpt:
    save_auxiliary_weight(weight, folder)
    asked: dict[str, Any] = {"kind": "classification", "labels": LABELS} | changes
    return load_encoder(folder).with_head(**asked, seed=3)


def far_from_zero(model: TunedGpt) -> TunedGpt:
    """With weights and gradients of all sizes."""
    draw = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=draw))
    return model


def written_out(model: TunedGpt, weight: float, targets: Tensor, *, symmetric: bool = False) -> Tensor:
    """L3 by transformers' own network, one input at a time: the mean of L2 and λ times the mean nats of all next tokens."""
    network: Any = model.network
    marks = model.about.marks
    scores, nats = [], []
    for first, second in PAIRS:
        orders = [(first, second)] if second is None or not symmetric else [(first, second), (second, first)]
        orders = orders * 2 if symmetric and len(orders) == 1 else orders
        states = []
        for one, other in orders:
            middle = [] if other is None else [marks.delimiter, *other]
            ids = torch.tensor([[marks.start, *one, *middle, marks.extract]])
            hidden = network.transformer(ids).last_hidden_state[0]
            logits = hidden @ network.transformer.tokens_embed.weight.t()
            nats.append(cross_entropy(logits[:-1], ids[0, 1:], reduction="none"))
            states.append(hidden[-1])
        scores.append(sum(states) @ model.head.weight.t())
    rows = torch.stack(scores)
    task = cross_entropy(rows.view(-1, len(CHOICES)) if model.about.kind == "choice" else rows, targets)
    return task + weight * torch.cat(nats).mean()


def objective(folder: Path, model: TunedGpt, tensors: dict[str, Tensor]) -> Tensor:
    """The loss that fine-tuning minimises."""
    name = "pick" if model.about.kind == "choice" else "first"
    rows = toy_tasks.write_task(folder.parent / name, name, train=1, validation=1)
    tables = {split: pq.read_table(rows / f"{split}.parquet") for split in ("train", "validation")}
    labels = toy_tasks.TASKS[name].labels if name == "pick" else LABELS
    task = toy_tasks.TASKS[name].model_copy(update={"labels": labels})
    tuner = Tuner(load_encoder(folder), name, task, toy_tasks.FINETUNING, **tables)
    return tuner._objective(model, tensors)["loss"]


@pytest.mark.parametrize(
    ("changes", "answers"),
    [
        ({"symmetric": False}, [0, 2, 1, 1]),
        ({"symmetric": True}, [0, 2, 1, 1]),
        ({"kind": "choice", "labels": CHOICES}, [1, 0]),  # four inputs are two rows of two choices
    ],
    ids=["classification", "symmetric", "choice"],
)
@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_l3_is_the_one_written_out(folder: Path, weight: float, changes: dict[str, Any], answers: list[int]) -> None:
    model, targets = far_from_zero(with_head(folder, weight, **changes)), torch.tensor(answers)
    loss = objective(folder, model, {**inputs(), "targets": targets})
    wanted = written_out(model, weight, targets, symmetric=model.about.symmetric)
    assert loss.item() == pytest.approx(wanted.item(), abs=1e-5)
    names = [name for name, _ in model.named_parameters()]
    ours = torch.autograd.grad(loss, list(model.parameters()))
    theirs = torch.autograd.grad(wanted, list(model.parameters()))
    for name, mine, other in zip(names, ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5, msg=name)


def test_without_lambda_there_is_no_gradient_of_the_language_model(folder: Path) -> None:
    """Of a word that no input has, only the softmax over all words knows."""
    unseen = 20
    gradients = {}
    for weight in (0.0, 0.5):
        model = with_head(folder, weight)
        objective(folder, model, {**inputs(), "targets": torch.tensor([0, 2, 1, 1])}).backward()  # type: ignore[no-untyped-call]
        gradient = model.get_parameter("network.transformer.tokens_embed.weight").grad
        assert gradient is not None
        gradients[weight] = gradient
    assert not gradients[0.0][unseen].any()
    assert gradients[0.5][unseen].any()
    assert model.logits_and_losses(**inputs())[1].keys() == {"lm"}
    assert with_head(folder, 0.0).logits_and_losses(**inputs())[1] == {}


@pytest.mark.parametrize(
    ("kind", "labels", "symmetric"),
    [
        ("classification", LABELS, False),
        ("classification", LABELS, True),
        ("span", [], False),
        ("tagging", ["O", "B-X"], False),
        ("choice", CHOICES, False),
    ],
)
def test_either_side_may_be_padded(folder: Path, kind: Any, labels: list[str], symmetric: bool) -> None:
    model = load_encoder(folder).with_head(kind, labels, seed=3, symmetric=symmetric).eval()
    right, left = inputs("right"), inputs("left")
    one, other = model(**right), model(**left)
    if kind in ("span", "tagging"):
        one, other = one[right["attention_mask"].bool()], other[left["attention_mask"].bool()]
    torch.testing.assert_close(one, other)
    save_auxiliary_weight(0.5, folder)
    both = [load_encoder(folder).with_head(kind, labels, seed=3, symmetric=symmetric) for _ in range(2)]
    losses = [model.eval().logits_and_losses(**some)[1]["lm"] for model, some in zip(both, (right, left), strict=True)]
    torch.testing.assert_close(*losses)


def test_the_order_of_a_symmetric_pair_does_not_matter(folder: Path) -> None:
    one = {name: tensor[:3] for name, tensor in inputs().items()}
    other = {name: tensor.clone() for name, tensor in one.items()}
    for number, (first, second) in enumerate(PAIRS[:3]):
        assert second is not None
        ids = [2, *second, 3, *first, 3]
        other["input_ids"][number, : len(ids)] = torch.tensor(ids)
        types = [0] * (len(second) + 2) + [1] * (len(first) + 1)
        other["token_type_ids"][number, : len(types)] = torch.tensor(types)
    plain, both = (far_from_zero(with_head(folder, 0.0, symmetric=symmetric)).eval() for symmetric in (False, True))
    torch.testing.assert_close(both(**one), both(**other))
    torch.testing.assert_close(both(**one), plain(**one) + plain(**other))
    assert not torch.allclose(plain(**one), plain(**other), atol=1e-3)


def test_choices_get_a_score_each(folder: Path) -> None:
    """(batch × choices) inputs, one score each, whatever stands beside them."""
    save_auxiliary_weight(0.5, folder)
    model = load_encoder(folder).with_head("choice", ["first", "second"], seed=3).eval()
    scores = model(**inputs())
    assert scores.shape == (4, 1)
    losses = load_encoder(folder).with_head("choice", ["first", "second"], seed=3).logits_and_losses(**inputs())[1]
    assert losses.keys() == {"lm"}
    alone = torch.cat([model(**{name: row[:1] for name, row in inputs().items()})])
    torch.testing.assert_close(alone, scores[:1])


@pytest.mark.parametrize(
    ("kind", "labels", "symmetric"),
    [
        ("classification", LABELS, True),
        ("span", [], False),
        ("tagging", ["O", "B-X", "I-X"], False),
        ("choice", ["first", "second"], False),
    ],
)
def test_a_tuned_folder_loads(folder: Path, tmp_path: Path, kind: Any, labels: list[str], symmetric: bool) -> None:
    encoder = load_encoder(folder)
    model = encoder.with_head(kind, labels, seed=3, symmetric=symmetric)
    encoder.save(model, tmp_path)
    loaded = load_tuned(tmp_path, kind)
    assert torch.equal(loaded.eval()(**inputs()), model.eval()(**inputs()))
    assert loaded.about == model.about
    theirs = transformers.OpenAIGPTLMHeadModel.from_pretrained(tmp_path)
    assert theirs.config.vocab_size == encoder.tokenizer.get_vocab_size() + 3
    assert theirs.lm_head.weight is theirs.transformer.tokens_embed.weight
    with pytest.raises(InputError, match="tuned for"):
        load_tuned(tmp_path, "span" if kind != "span" else "tagging")


def test_heads_and_own_tokens_are_drawn_from_their_seed(folder: Path) -> None:
    encoder = load_encoder(folder)
    state = torch.get_rng_state()
    one, same, other = (encoder.with_head("classification", LABELS, seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state), "nobody else's random numbers are used up"
    assert all(torch.equal(one[name], same[name]) for name in one)
    differing = {name for name in one if not torch.equal(one[name], other[name])}
    vectors = "network.transformer.tokens_embed.weight"
    assert differing == {"head.weight", vectors, "network.lm_head.weight"}
    assert torch.equal(one[vectors][:-3], other[vectors][:-3])
    assert one[vectors][-3:].std().item() == pytest.approx(0.02, rel=0.5)


def test_what_can_not_be_symmetric_is_refused(folder: Path) -> None:
    with pytest.raises(SettingsError, match="symmetric: a span task"):
        load_encoder(folder).with_head("span", [], seed=1, symmetric=True)
    with pytest.raises(ValueError, match="symmetric: a tagging task"):
        Task.model_validate({**toy_tasks.TASKS["letters"].model_dump(), "symmetric": True})


def test_a_folder_without_a_tuned_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no tuned GPT here \(head.json is missing\)"):
        load_tuned(tmp_path, "span")


def tune(folder: Path, work: Path, task: str, **changes: Any) -> Tuned:
    data = toy_tasks.write_task(work / "task", task, train=300)
    tables = {split: pq.read_table(data / f"{split}.parquet") for split in ("train", "validation")}
    encoder: Encoder = load_encoder(folder)
    settings = toy_tasks.FINETUNING.model_copy(update=changes)
    tuner = Tuner(encoder, task, toy_tasks.TASKS[task], settings, **tables)
    return tuner.tune(1, scratch=work / "scratch", tracker=NullTracker(), progress=NullProgress())


@pytest.mark.parametrize(("task", "floor"), [("first", 0.85), ("letters", 0.9)])
def test_it_learns_tasks(folder: Path, tmp_path: Path, task: str, floor: float) -> None:
    save_auxiliary_weight(0.1, folder)
    tuned = tune(folder, tmp_path, task, epochs=10, learning_rate=0.01)
    assert tuned.best.scores[toy_tasks.TASKS[task].metric] > floor
