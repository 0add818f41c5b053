"""Our BERT against `transformers`' own."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from stemma.data.token_store import TokenStore
from stemma.families.bert.family import FAMILY as BERT
from stemma.families.bert.family import BertExamples
from stemma.families.bert.network import build_network, load_encoder, load_tuned, pretraining_loss
from stemma.families.bert.scorer import load_scorer
from tests import toy_bert


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    job = toy_bert.pretraining(tmp_path_factory.mktemp("bert"), layers=2)
    metrics = BERT.pretrain(job)
    return job, metrics


@pytest.mark.parametrize("batch", [0, 3])
def test_the_loss_equals_that_of_bert_for_pretraining(trained, batch):
    """The same weights and the same batch; theirs computes every position and ignores those labelled -100."""
    job, _ = trained
    tokenizer, settings = toy_bert.tokenizer(), toy_bert.settings(batch_size=8)
    examples = BertExamples(TokenStore.open(job.tokens / "train"), tokenizer, settings, seed=1)
    tensors = examples.batch_at(batch).tensors
    network: Any = transformers.BertForPreTraining.from_pretrained(job.out)
    network.eval()
    labels = torch.full(tensors["input_ids"].shape, -100)
    columns = tensors["columns"]
    rows = torch.arange(len(columns))[:, None].expand_as(columns)
    labels[rows.flatten()[tensors["asked"]], columns.flatten()[tensors["asked"]]] = tensors["labels"]
    theirs = network(
        input_ids=tensors["input_ids"],
        attention_mask=tensors.get("attention_mask"),
        token_type_ids=tensors["token_type_ids"],
        labels=labels,
        next_sentence_label=tensors["next_sentence_label"],
    )
    ours = pretraining_loss(network, tensors)
    torch.testing.assert_close(ours["loss"], theirs.loss, rtol=1e-6, atol=1e-6)
    theirs.loss.backward()
    wanted = {name: parameter.grad.clone() for name, parameter in network.named_parameters()}
    network.zero_grad()
    torch.autograd.backward(ours["loss"])
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(parameter.grad, wanted[name], rtol=1e-4, atol=1e-6)


def test_padding_changes_no_loss(trained):
    """A pair alone, without padding and mask, and among longer ones."""
    job, _ = trained
    settings = toy_bert.settings(batch_size=8)
    examples = BertExamples(TokenStore.open(job.tokens / "train"), toy_bert.tokenizer(), settings, seed=1)
    network: Any = transformers.BertForPreTraining.from_pretrained(job.out)
    network.eval()
    batch = np.arange(len(examples))[:: len(examples) // 8]
    together = examples.batch(batch, 0, "all").tensors
    assert "attention_mask" in together
    asked = [examples.batch(np.array([example]), 0, "one").tensors for example in batch]
    sums = [pretraining_loss(network, tensors)["mlm"] * len(tensors["labels"]) for tensors in asked]
    torch.testing.assert_close(
        pretraining_loss(network, together)["mlm"] * len(together["labels"]),
        torch.stack(sums).sum(),
        rtol=1e-5,
        atol=1e-5,
    )


def test_the_checkpoint_loads_with_the_auto_classes(trained):
    job, _ = trained
    model = transformers.AutoModel.from_pretrained(job.out)
    tokenizer = transformers.AutoTokenizer.from_pretrained(job.out)
    assert isinstance(model, transformers.BertModel)
    encoded = tokenizer("ab c", "de", return_tensors="pt")
    ids = toy_bert.tokenizer().encode("ab c", "de").ids
    assert encoded["input_ids"][0].tolist() == ids
    assert model(input_ids=encoded["input_ids"]).last_hidden_state.shape == (1, len(ids), 16)
    with_heads = transformers.BertForPreTraining.from_pretrained(job.out)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, with_heads.bert.state_dict()[name])


def test_the_embeddings_are_tied(trained):
    job, _ = trained
    network = transformers.BertForPreTraining.from_pretrained(job.out)
    assert network.cls.predictions.decoder.weight is network.bert.embeddings.word_embeddings.weight


@pytest.mark.parametrize(
    ("kind", "labels", "auto"),
    [
        ("classification", ["no", "yes", "maybe"], transformers.AutoModelForSequenceClassification),
        ("span", [], transformers.AutoModelForQuestionAnswering),
        ("tagging", ["O", "B-X", "I-X"], transformers.AutoModelForTokenClassification),
    ],
)
def test_a_tuned_folder_loads_with_the_auto_classes(trained, tmp_path, kind, labels, auto):
    job, _ = trained
    encoder = load_encoder(job.out)
    model = encoder.with_head(kind, labels, seed=3)
    encoder.save(model, tmp_path)
    theirs = auto.from_pretrained(tmp_path)
    if labels:
        assert theirs.config.id2label == dict(enumerate(labels))
    inputs = {"input_ids": torch.tensor([[2, 7, 8, 3]]), "attention_mask": torch.ones(1, 4, dtype=torch.long)}
    inputs["token_type_ids"] = torch.zeros(1, 4, dtype=torch.long)
    model.eval()
    theirs.eval()
    output = theirs(**inputs)
    wanted = torch.stack([output.start_logits, output.end_logits], -1) if kind == "span" else output.logits
    assert torch.equal(model(**inputs), wanted)
    assert torch.equal(load_tuned(tmp_path, kind).eval()(**inputs), wanted)
    assert (
        transformers.AutoTokenizer.from_pretrained(tmp_path)("ab")["input_ids"] == toy_bert.tokenizer().encode("ab").ids
    )


def test_pseudo_likelihood_equals_one_masked_token_at_a_time(trained):
    job, _ = trained
    sentences = ["abc de", "a", "", "jjj hab cde fgh abj"]
    scores = load_scorer(job.out).score(sentences)
    network: Any = transformers.BertForMaskedLM.from_pretrained(job.out)
    network.eval()
    for sentence, nats, count in zip(sentences, scores.nats, scores.num_predictions, strict=True):
        ids = toy_bert.tokenizer().encode(sentence).ids
        wanted = 0.0
        for position in range(1, len(ids) - 1):
            hidden = torch.tensor([ids])
            hidden[0, position] = 4
            wanted -= network(hidden).logits[0, position].log_softmax(-1)[ids[position]].item()
        assert count == len(ids) - 2
        assert nats == pytest.approx(wanted, rel=1e-5)


def test_initialisation_is_that_of_the_paper():
    network = build_network(toy_bert.settings(hidden_size=128, intermediate_size=512), toy_bert.tokenizer(), seed=1)
    weights = network.get_parameter("bert.encoder.layer.0.intermediate.dense.weight")
    assert weights.std().item() == pytest.approx(0.02, rel=0.05)
