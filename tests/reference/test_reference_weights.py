"""Weights from elsewhere: what is imported computes what `transformers` does, and tuning begins with Trainer's loss."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from benchmarks.reference_trainer import TrainerSide, encode, load_network
from scripts.import_weights import find_weights, import_weights
from stemma.config import Finetuning, Task
from stemma.errors import InputError
from stemma.families.bert.forward import encode as hidden_states
from stemma.families.bert.network import load_encoder, load_pretrained, read_tokenizer
from stemma.files import digest_tree, verify_manifest
from stemma.progress import NullProgress
from stemma.tasks.base import ROW_SCHEMAS
from stemma.tasks.features import answer_columns, encode_rows, tag_targets
from stemma.tasks.heads import head_loss, input_tensors, make_targets
from stemma.tasks.predictor import Predictor
from stemma.tasks.tuning import Tuner
from stemma.training.tracker import NullTracker
from tests.toy_bert import sentence
from tests.toy_weights import CUT, make_network, write_weights

KINDS = ("classification", "regression", "tagging", "span")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_weights(tmp_path_factory.mktemp("weights") / "model", make_network())


@pytest.fixture(scope="module")
def imported(source: Path) -> Path:
    out = source.parent / "imported"
    import_weights(source, out, "toy")
    return out


def make_task(kind: str, **changes: Any) -> Task:
    labels = {"classification": ["no", "yes"], "tagging": ["O", "B-X", "I-X"]}
    metrics = {"classification": "accuracy", "regression": "spearman", "tagging": "entity_f1", "span": "f1"}
    values = {
        "kind": kind,
        "source": {"kind": "files", "format": "jsonl", "files": {}},
        "labels": labels.get(kind, []),
        "metric": metrics[kind],
        "max_length": 24 if kind == "span" else 16,
        **({"score_range": [0, 5]} if kind == "regression" else {}),
        **({"stride": 4} if kind == "span" else {}),
        **changes,
    }
    return Task.model_validate(values)


def make_rows(kind: str, count: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for number in range(count):
        row: dict[str, Any] = {"id": str(number), "document": ""}
        if kind == "tagging":
            tokens = sentence(rng, int(rng.integers(2, 9))).split()
            row |= {"tokens": tokens, "tags": [str(rng.choice(["O", "B-X"])) for _ in tokens]}
        elif kind == "span":
            context = sentence(rng, int(rng.integers(4, 14)))
            answer = str(rng.choice(context.split()))
            at = f" {context} ".index(f" {answer} ")
            row |= {"context": context, "question": sentence(rng, 2), "answers": [{"text": answer, "start": at}]}
        else:
            row |= {"text": sentence(rng, int(rng.integers(1, 7))), "text_pair": sentence(rng, 3)}
            row |= (
                {"score": float(rng.random() * 5)}
                if kind == "regression"
                else {"label": str(rng.choice(["no", "yes"]))}
            )
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=ROW_SCHEMAS[kind])  # type: ignore[index]


def test_hidden_states_are_those_of_the_weights(source: Path, imported: Path) -> None:
    theirs: Any = transformers.BertModel.from_pretrained(source)
    theirs.eval()
    ours: Any = load_pretrained(imported)
    ids = torch.randint(5, 27, (3, 11), generator=torch.Generator().manual_seed(1))
    inputs = {"input_ids": ids, "token_type_ids": (ids > 15).long(), "attention_mask": torch.ones_like(ids)}
    inputs["attention_mask"][1, 7:] = 0
    with torch.inference_mode():
        expected = theirs(**inputs)
        found = hidden_states(ours.bert.eval(), inputs)
        pooled = ours.bert.pooler(found)
    inside = inputs["attention_mask"] == 1
    torch.testing.assert_close(found[inside], expected.last_hidden_state[inside], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(pooled, expected.pooler_output, rtol=1e-5, atol=1e-5)


def test_weights_keep_their_bits_and_what_was_drawn_is_named(source: Path, imported: Path) -> None:
    before, after = load_file(source / "model.safetensors"), load_file(imported / "model.safetensors")
    assert all(torch.equal(tensor, after[f"bert.{name}"]) for name, tensor in before.items())
    drawn = verify_manifest(imported)["imported"]["drawn"]
    assert drawn
    assert all(name.startswith("cls.") for name in drawn)
    assert set(after) <= {f"bert.{name}" for name in before} | set(drawn)


def test_the_tokenizer_neither_cuts_nor_pads(source: Path, imported: Path) -> None:
    text = "a b c d e f g h i j"
    assert len(read_tokenizer(imported).encode(text).ids) == 12
    assert len(read_tokenizer(imported).encode("a").ids) == 3 < CUT
    loaded = transformers.AutoTokenizer.from_pretrained(imported)
    assert loaded(text)["input_ids"] == read_tokenizer(imported).encode(text).ids


def test_importing_twice_gives_the_same_bytes(source: Path, imported: Path, tmp_path: Path) -> None:
    import_weights(source, tmp_path / "again", "toy")
    assert digest_tree([tmp_path / "again"]) == digest_tree([imported])


def test_weights_with_their_heads_keep_them(tmp_path: Path) -> None:
    torch.manual_seed(3)
    networks: Any = transformers
    whole = networks.BertForPreTraining(make_network().config)
    source = write_weights(tmp_path / "model", whole)
    assert import_weights(source, tmp_path / "out", "toy") == []
    weights: Any = load_pretrained(tmp_path / "out").state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in whole.state_dict().items())


def test_what_can_not_be_imported_is_refused_with_a_reason(tmp_path: Path) -> None:
    network = make_network()
    with pytest.raises(InputError, match="neither a folder nor an installed package"):
        find_weights("no_such_package_here")
    with pytest.raises(InputError, match=r"config\.json: no such file"):
        import_weights(tmp_path, tmp_path / "out", "toy")
    for changes, message in (
        ({"model_type": "roberta"}, "model_type is 'roberta'"),
        ({"position_embedding_type": "relative_key"}, "only 'absolute'"),
        ({"hidden_dropout_prob": 0.2}, "one share for both"),
        ({"intermediate_size": 48}, r"intermediate\.dense\.\w+ is .*, but config\.json makes it"),
        ({"num_hidden_layers": 3}, "16 weights of the encoder are missing"),
        ({"num_hidden_layers": 1}, "no place for 16 weights"),
        ({"vocab_size": 12}, "word_embeddings"),
    ):
        source = write_weights(tmp_path / "bad", network, **changes)
        with pytest.raises(InputError, match=message):
            import_weights(source, tmp_path / "out", "toy")
    assert not (tmp_path / "out").exists()


def test_weights_of_half_precision_become_floats(source: Path, tmp_path: Path) -> None:
    write_weights(tmp_path / "model", make_network())
    weights = load_file(tmp_path / "model" / "model.safetensors")
    save_file({name: tensor.half() for name, tensor in weights.items()}, tmp_path / "model" / "model.safetensors")
    import_weights(tmp_path / "model", tmp_path / "out", "toy")
    found = load_file(tmp_path / "out" / "model.safetensors")
    assert {tensor.dtype for tensor in found.values()} == {torch.float32}


@pytest.mark.parametrize("kind", KINDS)
def test_both_sides_read_rows_alike(kind: str, imported: Path) -> None:
    task, rows = make_task(kind), make_rows(kind, 40)
    theirs = encode(rows, task, transformers.AutoTokenizer.from_pretrained(imported))
    ours = encode_rows(rows, task, read_tokenizer(imported), task.max_length)
    assert theirs.rows == ours.rows.tolist()
    for number, one in enumerate(theirs.inputs):
        at = slice(ours.ids.offsets[number], ours.ids.offsets[number + 1])
        assert one["input_ids"] == ours.ids.values[at].tolist()
        assert one["token_type_ids"] == ours.types.values[at].tolist()
    if kind == "tagging":
        targets = tag_targets(rows, ours, task.labels)
        assert [label for one in theirs.inputs for label in one["labels"]] == targets.values.tolist()
    if kind == "span":
        places = [[one["start_positions"], one["end_positions"]] for one in theirs.inputs]
        assert places == answer_columns(rows, ours).tolist()
        assert (
            0 < sum(place != [0, 0] for place in places) < len(places) > len(rows)
        )  # more than one window, some without


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_loss_of_tuning_is_that_of_trainers_network(kind: str, source: Path, imported: Path) -> None:
    task, rows = make_task(kind), make_rows(kind, 12)
    theirs = load_network(source, task)
    ours: Any = load_encoder(imported).with_head(task.kind, task.labels, seed=1)
    head = "qa_outputs" if kind == "span" else "classifier"
    getattr(theirs, head).load_state_dict(getattr(ours.network, head).state_dict())
    tokenizer = transformers.AutoTokenizer.from_pretrained(imported)
    named = "DataCollatorForTokenClassification" if kind == "tagging" else "DataCollatorWithPadding"
    collator = getattr(transformers, named)(
        tokenizer, pad_to_multiple_of=8
    )  # as ours: a span's softmax is over padding too
    expected = theirs.train()(**collator(encode(rows, task, tokenizer).inputs)).loss
    features = encode_rows(rows, task, read_tokenizer(imported), task.max_length)
    examples = np.arange(len(features.rows))
    logits: Any = ours.train()(**input_tensors(features, examples))
    found: Any = head_loss(task.kind, logits, make_targets(rows, features, task).take(examples))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    found.backward()
    expected.backward()
    their_gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    for name, parameter in ours.network.named_parameters():
        torch.testing.assert_close(parameter.grad, their_gradients[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_both_sides_read_the_same_answers_from_one_network(kind: str, imported: Path) -> None:
    task, rows = make_task(kind), make_rows(kind, 30, seed=2)
    encoder = load_encoder(imported)
    model: Any = encoder.with_head(task.kind, task.labels, seed=1)
    ours = Predictor(task_name="toy", task=task, model=model, tokenizer=encoder.tokenizer).predict(rows)
    theirs = TrainerSide(imported, task, train=rows, validation=rows).answer(model.network, rows)
    for name in ("label", "tags", "text", "start", "end"):
        if name in ours.column_names:
            assert ours[name].to_pylist() == theirs[name].to_pylist()
    if "score" in ours.column_names:
        np.testing.assert_allclose(ours["score"].to_numpy(), theirs["score"].to_numpy(), rtol=1e-4, atol=1e-5)


def test_an_imported_model_is_tuned_by_both_sides(source: Path, imported: Path, tmp_path: Path) -> None:
    pytest.importorskip("accelerate", reason="the Trainer needs accelerate, which `make bench` installs")
    task = make_task("classification")
    rng = np.random.default_rng(3)
    texts = [sentence(rng, 3) for _ in range(64)]
    labels = [str(rng.choice(["no", "yes"])) for _ in texts]
    texts = [f"{'a' if label == 'yes' else 'b'} {text}" for text, label in zip(texts, labels, strict=True)]
    columns = {"id": [str(n) for n in range(64)], "document": [""] * 64, "text": texts, "text_pair": [None] * 64}
    rows = pa.table({**columns, "label": labels}, schema=ROW_SCHEMAS["classification"])
    settings = Finetuning(
        seeds=[1],
        epochs=8,
        batch_size=8,
        learning_rate=0.01,
        grid=None,
        weight_decay=0.01,
        warmup_share=0.1,
        max_gradient_norm=1.0,
        threads=1,
    )
    theirs = TrainerSide(source, task, train=rows, validation=rows).tune(settings)
    tuner = Tuner(load_encoder(imported), "toy", task, settings, train=rows, validation=rows)
    ours = tuner.tune(1, scratch=tmp_path / "scratch", tracker=NullTracker(), progress=NullProgress())
    assert len(theirs.epochs) == 8
    assert theirs.epochs[theirs.best_epoch - 1]["accuracy"] == max(epoch["accuracy"] for epoch in theirs.epochs)
    assert ours.best.scores["accuracy"] > 0.9
    assert theirs.epochs[theirs.best_epoch - 1]["accuracy"] > 0.9
