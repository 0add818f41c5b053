"""What the ablations of BERT change, against `transformers`' own and against plain versions."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn

from benchmarks.unpacking import unpacked
from stemma.data.token_store import TokenStore
from stemma.families.bert.examples import BertExamples
from stemma.families.bert.family import FAMILY as BERT
from stemma.families.bert.forward import encode
from stemma.families.bert.network import load_encoder, load_tuned, pretraining_loss
from stemma.families.bert.scorer import load_scorer
from tests import toy_bert

LEFT_TO_RIGHT = {"next_sentence": False, "direction": "left-to-right"}
SENTENCES = ["abc de", "a", "", "jjj hab cde fgh abj"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A few steps of each variant."""
    changes: dict[str, dict[str, Any]] = {
        "no-nsp": {"next_sentence": False},
        "left-to-right": LEFT_TO_RIGHT,
        "bilstm": {"bilstm": True, "steps": 0},
        "left-to-right-bilstm": {**LEFT_TO_RIGHT, "bilstm": True, "steps": 0},
        "frozen": {"tune": "frozen", "steps": 0},
    }
    found = {}
    for name, change in changes.items():
        job = toy_bert.pretraining(tmp_path_factory.mktemp(name), **{"layers": 2, **change})
        BERT.pretrain(job)
        found[name] = job.out
    return found


def batch(folder: Path, **changes: Any) -> list[dict[str, Tensor]]:
    """The passes of a batch of short examples, which share rows."""
    documents = toy_bert.random_documents(3, 200, max_sentences=5, max_words=5)
    store = TokenStore.open(toy_bert.write_store(folder / "short", documents))
    settings = toy_bert.settings(batch_size=24, **changes)
    passes = BertExamples(store, toy_bert.tokenizer(), settings, seed=1).batch_at(1).passes
    assert sum(len(tensors["input_ids"]) for tensors in passes) < 24, "more than one example in some row"
    return [dict(tensors) for tensors in passes]


def inputs(lengths: list[int]) -> dict[str, Tensor]:
    """Random rows of these lengths, padded."""
    width = max(lengths)
    inside = torch.arange(width) < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, 25, inside.shape, generator=torch.Generator().manual_seed(4)).where(inside, 0)
    ids[:, 0] = 2
    types = (torch.arange(width) > 3).long().expand_as(ids)
    return {"input_ids": ids, "attention_mask": inside.long(), "token_type_ids": types}


@pytest.mark.parametrize(
    ("variant", "changes", "theirs"),
    [
        ("no-nsp", {"next_sentence": False}, transformers.BertForMaskedLM),
        ("left-to-right", LEFT_TO_RIGHT, transformers.BertLMHeadModel),
    ],
)
def test_loss_and_gradients_are_those_of_transformers(folders, tmp_path, variant, changes, theirs):
    """The same weights, theirs on the same examples one a row."""
    passes = batch(tmp_path, **changes)
    rows = unpacked(passes)
    assert rows["input_ids"][:, 0].tolist() == [2] * 24
    assert not rows["token_type_ids"].any(), "one segment"
    if variant == "left-to-right":  # their class shifts the labels by itself
        rows["labels"] = rows["input_ids"].where(rows["attention_mask"] > 0, -100)
    reference: Any = theirs.from_pretrained(folders[variant])
    reference.eval()
    loss = reference(**rows).loss
    loss.backward()
    network: Any = transformers.BertForPreTraining.from_pretrained(folders[variant])
    network.eval()
    total = 0.0
    for tensors in passes:
        part = pretraining_loss(network, tensors)["loss"]
        torch.autograd.backward(part)
        total += float(part.detach())
    assert total == pytest.approx(float(loss.detach()), rel=1e-5)
    wanted = dict(reference.named_parameters())
    for name, parameter in network.named_parameters():
        if name in wanted:
            torch.testing.assert_close(parameter.grad, wanted[name].grad, rtol=1e-4, atol=1e-5)
        else:
            assert parameter.grad is None, f"{name}: nobody asks for it"


def test_no_token_sees_those_behind_it(folders):
    network: Any = transformers.BertModel.from_pretrained(folders["left-to-right"])
    network.eval()
    one = inputs([9, 7])
    other = {**one, "input_ids": one["input_ids"].clone()}
    other["input_ids"][:, 5:] = one["input_ids"][:, 5:] % 20 + 5
    examples = {**one, "examples": torch.tensor([[0] * 4 + [1] * 5, [0] * 7 + [-1] * 2])}
    del examples["attention_mask"]
    with torch.no_grad():
        before, after = encode(network, one), encode(network, other)
        torch.testing.assert_close(before[:, :5], after[:, :5])
        assert not torch.allclose(before[:, 5:7], after[:, 5:7])
        plain = network(**one).last_hidden_state
        torch.testing.assert_close(before[0], plain[0])
        torch.testing.assert_close(before[1, :7], plain[1, :7])
        packed = encode(network, examples)  # two examples share the first row
        torch.testing.assert_close(packed[0, :4], plain[0, :4])
        assert not torch.allclose(packed[0, 4:], plain[0, 4:])
    backwards: Any = transformers.BertModel.from_pretrained(folders["no-nsp"])
    backwards.eval()
    with torch.no_grad():
        assert not torch.allclose(encode(backwards, one)[:, :5], encode(backwards, other)[:, :5]), "this one sees all"


@pytest.mark.parametrize(
    ("kind", "labels", "auto"),
    [
        ("span", [], transformers.AutoModelForQuestionAnswering),
        ("tagging", ["O", "B-X", "I-X"], transformers.AutoModelForTokenClassification),
    ],
)
def test_tasks_read_from_left_to_right_too(folders, tmp_path, kind, labels, auto):
    encoder = load_encoder(folders["left-to-right"])
    model = encoder.with_head(kind, labels, seed=3).eval()
    encoder.save(model, tmp_path)
    rows = inputs([9, 9])
    theirs = auto.from_pretrained(tmp_path).eval()(**rows)
    wanted = torch.stack([theirs.start_logits, theirs.end_logits], -1) if kind == "span" else theirs.logits
    torch.testing.assert_close(model(**rows), wanted)
    torch.testing.assert_close(load_tuned(tmp_path, kind).eval()(**rows), wanted)


@pytest.mark.parametrize("kind", ["classification", "choice"])
def test_a_label_is_read_at_the_last_token_from_left_to_right(folders, kind):
    model: Any = load_encoder(folders["left-to-right"]).with_head(kind, ["a", "b", "c"], seed=3).eval()
    rows = inputs([9, 6])
    states = model.network.bert(**rows).last_hidden_state
    for row, length in enumerate([9, 6]):
        pooled = model.network.bert.pooler(states[row : row + 1, length - 1 : length])
        torch.testing.assert_close(model(**rows)[row], model.network.classifier(pooled)[0])


@pytest.mark.parametrize("variant", ["bilstm", "left-to-right-bilstm"])
@pytest.mark.parametrize("kind", ["classification", "span", "tagging", "choice"])
def test_a_bilstm_reads_each_row_as_if_it_were_alone(folders, tmp_path, variant, kind):
    """Against torch's own LSTM over one row without padding, put together from its two directions."""
    encoder = load_encoder(folders[variant])
    labels = [] if kind == "span" else ["O", "B-X", "I-X"]
    model: Any = encoder.with_head(kind, labels, seed=3).eval()
    rows, lengths = inputs([9, 6, 7]), [9, 6, 7]
    logits = model(**rows)
    for row, length in enumerate(lengths):
        alone = {name: tensor[row : row + 1, :length] for name, tensor in rows.items()}
        states = both_ways(model.bilstm, model.network.bert(**alone).last_hidden_state)
        head = model.network.qa_outputs if kind == "span" else model.network.classifier
        if kind in ("span", "tagging"):
            torch.testing.assert_close(logits[row, :length], head(states)[0])
        else:
            place = length - 1 if variant.startswith("left") else 0
            torch.testing.assert_close(logits[row], head(model.network.bert.pooler(states[:, place:]))[0])
    encoder.save(model, tmp_path)
    torch.testing.assert_close(load_tuned(tmp_path, kind).eval()(**rows), logits)
    again, other = (encoder.with_head(kind, labels, seed=seed).get_parameter("bilstm.weight_hh_l0") for seed in (3, 4))
    assert torch.equal(again, model.bilstm.weight_hh_l0)
    assert not torch.equal(other, model.bilstm.weight_hh_l0)


def both_ways(bilstm: nn.LSTM, states: Tensor) -> Tensor:
    """One LSTM forward, another on the text turned round."""
    found = []
    for suffix, turned in (("", False), ("_reverse", True)):
        one = nn.LSTM(bilstm.input_size, bilstm.hidden_size, batch_first=True)
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        one.load_state_dict({name: getattr(bilstm, name + suffix) for name in names})
        read = one(states.flip(1) if turned else states)[0]
        found.append(read.flip(1) if turned else read)
    return torch.cat(found, dim=2)


@pytest.mark.parametrize("features", ["sum-last-four", "concat-last-four"])
@pytest.mark.parametrize("kind", ["classification", "tagging"])
def test_features_are_the_last_four_layers_of_transformers(tmp_path, features, kind):
    """The paper's feature-based variant: a BiLSTM on a weighted sum, or on the layers side by side; nothing else learns."""
    job = toy_bert.pretraining(tmp_path / "bert", layers=5, steps=0, bilstm=True, features=features, tune="frozen")
    BERT.pretrain(job)
    encoder = load_encoder(job.out)
    model: Any = encoder.with_head(kind, ["O", "B-X", "I-X"], seed=3).eval()
    if model.mix is not None:
        with torch.no_grad():
            model.mix.scores.copy_(torch.tensor([0.5, -1.0, 2.0, 0.0]))
            model.mix.gamma.fill_(0.7)
    rows = inputs([9, 9])
    layers = model.network.bert(**rows, output_hidden_states=True).hidden_states[-4:]
    if features == "concat-last-four":
        read = torch.cat(layers, dim=2)
    else:
        weights = torch.softmax(torch.tensor([0.5, -1.0, 2.0, 0.0]), 0)
        read = 0.7 * sum(weight * layer for weight, layer in zip(weights, layers, strict=True))
    states = both_ways(model.bilstm, read)
    head = model.network.classifier
    wanted = head(states) if kind == "tagging" else head(model.network.bert.pooler(states))
    logits = model(**rows)
    torch.testing.assert_close(logits, wanted)
    (tmp_path / "out").mkdir()
    encoder.save(model, tmp_path / "out")
    torch.testing.assert_close(load_tuned(tmp_path / "out", kind).eval()(**rows), logits)
    model.train()(**rows).sum().backward()
    learning = {name.partition(".")[0] for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert learning == {"network", "bilstm", *(["mix"] if model.mix is not None else [])}
    assert all(parameter.grad is None for parameter in model.network.bert.encoder.parameters())


def test_a_frozen_encoder_stays_and_its_features_have_no_dropout(folders):
    model: Any = load_encoder(folders["frozen"]).with_head("tagging", ["O", "B-X", "I-X"], seed=3)
    whole: Any = load_encoder(folders["bilstm"]).with_head("tagging", ["O", "B-X", "I-X"], seed=3)
    rows = inputs([9, 9])
    assert whole.train().network.bert.training
    seen: list[Tensor] = []
    model.network.classifier.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    model.train()
    torch.manual_seed(0)
    model.network.dropout.p = 0.0  # the head's own
    for _ in range(2):
        model(**rows).sum().backward()
    assert torch.equal(seen[0], seen[1])
    assert not seen[0].requires_grad
    learning = {name for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert learning == {"network.classifier.weight", "network.classifier.bias"}
    assert not any(parameter.requires_grad for parameter in model.network.bert.parameters())


def test_probabilities_from_left_to_right_are_those_of_transformers(folders):
    scorer = load_scorer(folders["left-to-right"])
    assert not scorer.pseudo
    network: Any = transformers.BertLMHeadModel.from_pretrained(folders["left-to-right"])
    network.eval()
    long = " ".join(["abc"] * 30)  # 90 tokens and the end, in pieces of 31
    scores = scorer.score([*SENTENCES, long])
    for sentence, nats, count in zip([*SENTENCES, long], scores.nats, scores.num_predictions, strict=True):
        symbols = toy_bert.tokenizer().encode(sentence).ids[1:]
        wanted = 0.0
        for start in range(0, len(symbols), 31):
            piece = symbols[start : start + 31]
            with torch.no_grad():
                chances = network(torch.tensor([[2, *piece[:-1]]])).logits[0].log_softmax(-1)
            wanted -= sum(chances[at, id_].item() for at, id_ in enumerate(piece))
        assert count == len(symbols)
        assert nats == pytest.approx(wanted, rel=1e-5)
    assert scores.num_unknown.tolist() == [0] * 5
