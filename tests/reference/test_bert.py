"""Our BERT against `transformers`' own."""

from typing import Any

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.unpacking import unpacked
from stemma.data.token_store import TokenStore
from stemma.families.bert.budget import pretraining_flops
from stemma.families.bert.family import FAMILY as BERT
from stemma.families.bert.family import BertExamples
from stemma.families.bert.forward import encode
from stemma.families.bert.network import build_network, load_encoder, load_tuned, pretraining_loss
from stemma.families.bert.scorer import load_scorer
from tests import toy_bert


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    job = toy_bert.pretraining(tmp_path_factory.mktemp("bert"), layers=2)
    metrics = BERT.pretrain(job)
    return job, metrics


@pytest.mark.parametrize("tokens_per_pass", [10_000, 64], ids=["one pass", "many passes"])
@pytest.mark.parametrize("batch", [0, 3])
def test_packed_loss_and_gradients_equal_those_of_bert_for_pretraining(trained, tmp_path, batch, tokens_per_pass):
    """The same weights, theirs on the same examples one a row; it computes every position and ignores those labelled -100."""
    job, _ = trained
    settings = toy_bert.settings(batch_size=24, tokens_per_pass=tokens_per_pass)
    documents = toy_bert.random_documents(3, 200, max_sentences=5, max_words=5)  # short ones, to share rows
    store = TokenStore.open(toy_bert.write_store(tmp_path / "short", documents))
    passes = BertExamples(store, toy_bert.tokenizer(), settings, seed=1).batch_at(batch).passes
    assert (len(passes) > 1) == (tokens_per_pass == 64)
    assert sum(len(tensors["input_ids"]) for tensors in passes) < 24, "more than one example in some row"
    network: Any = transformers.BertForPreTraining.from_pretrained(job.out)
    network.eval()
    rows = unpacked(passes)
    assert len(rows["input_ids"]) == 24
    theirs = network(**rows)
    theirs.loss.backward()
    wanted = {name: parameter.grad.clone() for name, parameter in network.named_parameters()}
    network.zero_grad()
    total = 0.0
    for tensors in passes:
        loss = pretraining_loss(network, tensors)["loss"]
        torch.autograd.backward(loss)
        total += float(loss.detach())
    assert total == pytest.approx(float(theirs.loss.detach()), rel=1e-5)
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(parameter.grad, wanted[name], rtol=1e-4, atol=1e-5)


def test_dropout_changes_no_mean(trained):
    """With dropout, our encoder's outputs have the mean of theirs over many draws, and as much spread."""
    job, _ = trained
    examples = BertExamples(TokenStore.open(job.tokens / "train"), toy_bert.tokenizer(), toy_bert.settings(), seed=1)
    rows = unpacked(examples.batch_at(0).passes)
    inputs = {name: rows[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
    network: Any = transformers.BertModel.from_pretrained(job.out)
    network.train()
    torch.manual_seed(0)
    inside = rows["attention_mask"].bool()
    with torch.no_grad():
        ours = torch.stack([encode(network, inputs)[inside] for _ in range(600)])
        theirs = torch.stack([network(**inputs).last_hidden_state[inside] for _ in range(600)])
    error = ((ours.var(0) + theirs.var(0)) / 600).sqrt()
    differences = (ours.mean(0) - theirs.mean(0)) / error
    assert float(differences.square().mean()) == pytest.approx(1, abs=0.25)
    assert float(ours.var(0).mean() / theirs.var(0).mean()) == pytest.approx(1, abs=0.05)


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


def test_multiple_choice_equals_that_of_transformers(trained, tmp_path):
    """Theirs takes (rows, choices, length); ours one choice after the other. Padding changes nothing."""
    job, _ = trained
    encoder = load_encoder(job.out)
    model = encoder.with_head("choice", ["a", "b", "c"], seed=3)
    encoder.save(model, tmp_path)
    theirs = transformers.AutoModelForMultipleChoice.from_pretrained(tmp_path).eval()
    assert isinstance(theirs, transformers.BertForMultipleChoice)
    ids = torch.randint(5, 15, (2, 3, 9))
    lengths = torch.tensor([[9, 5, 7], [4, 9, 6]])
    inputs = {
        "input_ids": ids,
        "attention_mask": (torch.arange(9) < lengths[:, :, None]).long(),
        "token_type_ids": (torch.arange(9) > 3).long().expand(2, 3, 9),
    }
    wanted = theirs(**inputs).logits  # (rows, choices)
    flat = {name: tensor.flatten(0, 1) for name, tensor in inputs.items()}
    for ours in (model.eval(), load_tuned(tmp_path, "choice").eval()):
        torch.testing.assert_close(ours(**flat).view(2, 3), wanted)
    other = encoder.with_head("choice", ["a", "b", "c"], seed=4).state_dict()
    differing = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, other[name])}
    assert differing == {"network.classifier.weight"}, "a fresh head, drawn from its seed"


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


def test_estimated_operations_are_those_that_torch_counts():
    """On full rows, with every word asked for: then nothing is left to estimate."""
    settings = toy_bert.settings(layers=2, max_length=16, dropout=0.0)
    network: Any = build_network(settings, toy_bert.tokenizer(), seed=1)
    network.set_attn_implementation("eager")  # the fused kernel is not counted as the products that it makes
    ids = torch.randint(5, 15, (3, 16))
    with FlopCounterMode(display=False) as counter:
        network(input_ids=ids, labels=ids, next_sentence_label=torch.tensor([0, 1, 0])).loss.backward()
    vocabulary = network.config.vocab_size
    expected = pretraining_flops(settings, vocabulary, num_tokens=48, num_words=48, num_pairs=3)
    assert counter.get_total_flops() == expected
