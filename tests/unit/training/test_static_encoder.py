"""Tasks on static word vectors: which vector a token gets, rows and their padding, what is tuned, folders."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from torch import Tensor, nn

from stemma.errors import InputError
from stemma.families import load_family
from stemma.layers.crf import CrfTagger
from stemma.layers.word_networks import WordNetwork, compare
from stemma.layers.word_table import Texts
from stemma.progress import NullProgress
from stemma.protocols import Encoder, HeadKind, OwnRate
from stemma.tasks.features import encode_rows
from stemma.tasks.heads import input_tensors
from stemma.tasks.predictor import Predictor
from stemma.tasks.tuning import Tuned, Tuner
from stemma.text.vectors import WordVectors, load_vectors
from stemma.training.static_tasks import load_static_encoder, load_static_tuned
from stemma.training.tracker import NullTracker
from tests import toy_counts, toy_nnlm, toy_static, toy_tasks, toy_vectors

KINDS: list[HeadKind] = ["classification", "regression", "span", "tagging", "choice"]
NETWORKS = ["cbow", "bilstm"]
LABELS = ["O", "B-A", "I-A"]
TEXTS: list[tuple[str, str | None]] = [("a bc zzz ja", "bc"), ("d", None), ("", "a b c d e"), ("ef", "ef gh")]


def encode(encoder: Encoder, texts: list[tuple[str, str | None]], width: int | None = None) -> dict[str, Tensor]:
    encodings = [encoder.tokenizer.encode(first, second) for first, second in texts]
    wide = width or max(len(encoding.ids) for encoding in encodings)
    ids, mask, types = torch.zeros(3, len(texts), wide, dtype=torch.long)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding.ids)] = torch.tensor(encoding.ids)
        mask[row, : len(encoding.ids)] = 1
        types[row, : len(encoding.ids)] = torch.tensor(encoding.type_ids)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


def read(encoder: Encoder, texts: list[tuple[str, str | None]]) -> Texts:
    model: Any = encoder.with_head("classification", ["no", "yes"], seed=1)
    assert isinstance(model, WordNetwork)
    with torch.no_grad():
        model.table.unknown.fill_(7.0)
        found: Texts = model.table(**encode(encoder, texts))
    return found


def scaled(vectors: WordVectors) -> Callable[[str], Tensor]:
    scale = 1 / np.sqrt(np.square(vectors.matrix, dtype=np.float64).mean())

    def vector(word: str) -> Tensor:
        return torch.from_numpy(vectors.known(word) * np.float32(scale))

    return vector


def test_words_get_their_vectors_and_marks_none(tmp_path: Path) -> None:
    folder = toy_static.write_pretrained(tmp_path)
    texts = read(load_static_encoder(folder), TEXTS)
    vector, unknown = scaled(load_vectors(folder)), torch.full((toy_static.SIZE,), 7.0)
    nothing = torch.zeros(toy_static.SIZE)
    expected = [nothing, vector("a"), vector("bc"), unknown, unknown, nothing, vector("bc"), nothing]
    torch.testing.assert_close(texts.vectors[0], torch.stack(expected))
    assert texts.first[0].tolist() == [False, True, True, True, True, False, False, False]
    assert texts.second[0].tolist() == [False] * 6 + [True, False]
    assert not texts.second[1].any()
    assert not texts.vectors[1, 3:].any(), "padding is nothing"


def test_fasttext_composes_what_it_never_saw(tmp_path: Path) -> None:
    family = load_family("fasttext")
    assert family.load_encoder is not None
    assert family.load_vectors is not None
    folder = toy_static.write_pretrained(tmp_path, "fasttext")
    encoder = family.load_encoder(folder)
    texts = read(encoder, [("a bcdef ja ?", "x jj gabe")])
    tokens = encoder.tokenizer.encode("a bcdef ja ?", "x jj gabe").tokens
    assert tokens[1:6] == ["a", "bcd", "\ue000e", "\ue000f", "ja"]
    vector = scaled(family.load_vectors(folder))
    unknown = torch.full((toy_static.SIZE,), 7.0)
    words = ["a", *["bcdef"] * 3, "ja", None, "[SEP]", None, "jj", *["gabe"] * 2]
    expected = [
        unknown if word is None else torch.zeros(toy_static.SIZE) if word == "[SEP]" else vector(word) for word in words
    ]
    torch.testing.assert_close(texts.vectors[0, 1:-1], torch.stack(expected))
    assert texts.first[0, 1:7].tolist() == [True, True, False, False, True, True], "a word counts once"
    assert texts.second[0, 8:].tolist() == [True, True, True, False, False]


def test_texts_are_compared_by_the_formula() -> None:
    u, v = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 1.0]])
    assert compare(u, v, symmetric=False).tolist() == [[1, -2, 3, 1, 2, 3, 3, -2]]
    assert torch.equal(compare(u, v, symmetric=True), compare(v, u, symmetric=True))


def test_cbow_is_the_mean_of_a_texts_words(tmp_path: Path) -> None:
    """Any order of the words, and how often all of them are repeated, is the same to it."""
    encoder = load_static_encoder(toy_static.write_pretrained(tmp_path))
    model = encoder.with_head("classification", LABELS, seed=1).eval()
    logits = model(**encode(encoder, [("a bc d", "e"), ("d a bc", "e"), ("a a bc d bc d", "e e"), ("a bc", "e")]))
    torch.testing.assert_close(logits[0], logits[1])
    torch.testing.assert_close(logits[0], logits[2])
    assert not torch.allclose(logits[0], logits[3])


def test_symmetric_texts_may_change_places(tmp_path: Path) -> None:
    encoder = load_static_encoder(toy_static.write_pretrained(tmp_path))
    either, ordered = (
        encoder.with_head("classification", LABELS, seed=1, symmetric=symmetric).eval() for symmetric in (True, False)
    )
    batch = encode(encoder, [("a bc d", "e f"), ("e f", "a bc d")])
    torch.testing.assert_close(*either(**batch))
    assert not torch.allclose(*ordered(**batch))


def test_a_bilstm_sees_the_other_text(tmp_path: Path) -> None:
    """What it gives for a word of the first text changes with a word of the second, beyond those that it stands next to."""
    encoder = load_static_encoder(toy_static.write_pretrained(tmp_path, task_network="bilstm"))
    model: Any = encoder.with_head("tagging", LABELS, seed=1).eval()
    texts = read(encoder, [("a", "b c"), ("a", "b d")])
    mixed = model.reader._other(texts.vectors, texts)
    assert not torch.allclose(mixed[0, 1], mixed[1, 1])
    alone = read(encoder, [("a", None), ("b", None)])
    assert not model.reader._other(alone.vectors, alone).any()


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_does_not_depend_on_its_padding_nor_on_other_rows(tmp_path: Path, kind: HeadKind, network: str) -> None:
    encoder = load_static_encoder(toy_static.write_pretrained(tmp_path, task_network=network))
    model = encoder.with_head(kind, LABELS, seed=1).eval()
    with torch.inference_mode():
        together, wider = (model(**encode(encoder, TEXTS, width)) for width in (None, 20))
        for row, text in enumerate(TEXTS):
            batch = encode(encoder, [text])
            alone = model(**batch)[0]
            stop = slice(batch["input_ids"].shape[1]) if kind in ("span", "tagging") else slice(None)
            torch.testing.assert_close(together[row][stop], alone)
            torch.testing.assert_close(wider[row][stop], alone)
    shapes = {"classification": (4, 3), "regression": (4, 1), "span": (4, 8, 2), "tagging": (4, 8, 3), "choice": (4, 1)}
    assert together.shape == shapes[kind]


@pytest.mark.parametrize("network", NETWORKS)
def test_no_gradient_goes_into_padding(tmp_path: Path, network: str) -> None:
    encoder = load_static_encoder(toy_static.write_pretrained(tmp_path, task_network=network, tune="whole"))
    model = encoder.with_head("classification", LABELS, seed=1).eval()

    def gradients(batches: list[list[tuple[str, str | None]]], width: int | None) -> dict[str, Tensor]:
        model.zero_grad()
        for texts in batches:
            model(**encode(encoder, texts, width)).square().sum().backward()
        return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}

    together, alone = gradients([TEXTS], 12), gradients([[text] for text in TEXTS], None)
    assert together.keys() == alone.keys() == dict(model.named_parameters()).keys()
    for name in together:
        torch.testing.assert_close(together[name], alone[name], rtol=1e-4, atol=1e-5)


def test_networks_are_drawn_from_their_seed(tmp_path: Path) -> None:
    encoder = load_static_encoder(toy_static.write_pretrained(tmp_path))
    torch.manual_seed(0)
    state = torch.get_rng_state()
    one, same, other = (encoder.with_head("tagging", LABELS, seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state), "nobody else's random numbers are used up"
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["hidden.weight"], other["hidden.weight"])


def tune(folder: Path, encoder: Encoder, task: str, *, train: int = 60, **changes: Any) -> Tuned:
    data = toy_tasks.write_task(folder / "task", task, train=train)
    tables = {split: pq.read_table(data / f"{split}.parquet") for split in ("train", "validation")}
    settings = toy_tasks.FINETUNING.model_copy(update=changes)
    tuner = Tuner(encoder, task, toy_tasks.TASKS[task], settings, **tables)
    return tuner.tune(1, scratch=folder / "scratch", tracker=NullTracker(), progress=NullProgress())


@pytest.mark.parametrize("mode", ["frozen", "whole"])
def test_only_what_is_to_be_tuned_is(tmp_path: Path, mode: str) -> None:
    encoder = load_static_encoder(toy_static.write_pretrained(tmp_path / "pretrained", tune=mode))
    model = tune(tmp_path, encoder, "first", epochs=1).model
    before: Any = encoder.with_head("classification", ["no", "yes"], seed=1)
    assert isinstance(model, WordNetwork)
    changed = (model.table.table != before.table.table).any(1)
    assert changed.any() == (mode == "whole")
    assert ("table.table" in model.state_dict()) == (mode == "whole"), "what is frozen is not in checkpoints"
    assert torch.any(model.hidden.weight != before.hidden.weight)


@pytest.mark.parametrize(
    ("task", "network"), [("first", "cbow"), ("where", "bilstm"), ("letters", "cbow"), ("pick", "bilstm")]
)
def test_it_learns(tmp_path: Path, task: str, network: str) -> None:
    folder = toy_static.write_pretrained(tmp_path / "pretrained", task_network=network, tune="whole")
    tuned = tune(tmp_path, load_static_encoder(folder), task, train=300, epochs=5)
    assert tuned.best.scores[toy_tasks.TASKS[task].metric] > 0.85


def test_a_crf_answers_with_legal_tags_alone(tmp_path: Path) -> None:
    encoder = load_static_encoder(toy_static.write_pretrained(tmp_path / "pretrained", crf=True))
    assert isinstance(encoder.with_head("span", [], seed=1), WordNetwork)
    model = tune(tmp_path, encoder, "letters", epochs=1).model
    assert isinstance(model, CrfTagger)
    with torch.no_grad():
        model.network.output.bias += torch.tensor([0.0, 0.0, 50.0])  # type: ignore[union-attr, operator]
    (tmp_path / "out").mkdir()
    encoder.save(model, tmp_path / "out")
    task = toy_tasks.TASKS["letters"]
    predictor = Predictor(
        task_name="letters",
        task=task,
        model=load_static_tuned(tmp_path / "out", "tagging"),
        tokenizer=encoder.tokenizer,
    )
    rows = pq.read_table(tmp_path / "task" / "validation.parquet")
    for tags in predictor.predict(rows)["tags"].to_pylist():
        assert tags == ["B-A", *["I-A"] * (len(tags) - 1)], "I-A all along, but for the first"


@pytest.mark.parametrize(
    ("kind", "network", "mode"),
    [
        ("classification", "cbow", "frozen"),
        ("span", "bilstm", "whole"),
        ("tagging", "bilstm", "frozen"),
        ("choice", "cbow", "whole"),
    ],
)
@pytest.mark.parametrize("name", ["word2vec", "fasttext"])
def test_what_is_saved_answers_as_before(tmp_path: Path, name: str, kind: HeadKind, network: str, mode: str) -> None:
    family = load_family(name)
    assert family.load_encoder is not None
    assert family.load_tuned is not None
    encoder = family.load_encoder(
        toy_static.write_pretrained(tmp_path / "pretrained", name, task_network=network, tune=mode)
    )
    model = encoder.with_head(kind, LABELS, seed=3, symmetric=kind == "classification").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1)  # not what it was drawn as
    (tmp_path / "out").mkdir()
    encoder.save(model, tmp_path / "out")
    again: nn.Module = family.load_tuned(tmp_path / "out", kind).eval()
    batch = encode(encoder, [*TEXTS, ("bcdef a", "gabe")])
    with torch.inference_mode():
        assert torch.equal(again(**batch), model(**batch))
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".json", ".safetensors"}
    with pytest.raises(InputError, match=rf"head\.json: tuned for {kind}, not for "):
        family.load_tuned(tmp_path / "out", "span" if kind != "span" else "tagging")


def test_a_new_network_learns_at_its_own_rate(tmp_path: Path) -> None:
    """Not at that of fine-tuning, which is made for what pretraining left."""
    slow, fast = (
        load_static_encoder(toy_static.write_pretrained(tmp_path / name, task_learning_rate=rate))
        for name, rate in (("slow", 1e-7), ("fast", 0.03))
    )
    assert isinstance(slow, OwnRate)
    before: Any = slow.with_head("classification", ["no", "yes"], seed=1)
    moved = [
        (tune(tmp_path / name, encoder, "first", epochs=1).model.get_parameter("hidden.weight") - before.hidden.weight)
        .abs()
        .max()
        .item()
        for name, encoder in (("a", slow), ("b", fast))
    ]
    assert moved[0] < 1e-5
    assert moved[1] > 1e-2


def test_dropout_is_drawn_anew_while_training(tmp_path: Path) -> None:
    encoder = load_static_encoder(toy_static.write_pretrained(tmp_path))
    model, batch = encoder.with_head("tagging", LABELS, seed=1).train(), encode(encoder, TEXTS)
    assert not torch.equal(model(**batch), model(**batch))


def test_folders_without_a_network_are_named(tmp_path: Path) -> None:
    folder = toy_static.write_pretrained(tmp_path)
    with pytest.raises(InputError, match=r"no task's network on word vectors here \(head\.json is missing\)"):
        load_static_tuned(folder, "span")
    (folder / "task_network.json").unlink()
    with pytest.raises(InputError, match=r"task_network\.json: no such file; run the stage `pretrain` again"):
        load_static_encoder(folder)


@pytest.mark.parametrize("name", ["cooccurrence", "glove", "word2vec", "fasttext", "nnlm"])
def test_what_a_family_pretrains_can_be_tuned(tmp_path: Path, name: str) -> None:
    """From `pretrain` of every family of word vectors to a tuned model's answers."""
    family = load_family(name)
    if name in ("cooccurrence", "glove"):
        toy_counts.write_corpus(tmp_path)
        job = toy_counts.pretraining(name, tmp_path)
    elif name == "nnlm":
        job = toy_nnlm.pretraining(tmp_path)
    else:
        job = toy_vectors.job(tmp_path, getattr(toy_vectors, name)())
    family.pretrain(job)
    folder = toy_static.finish(job.out, job.tokenizer, family)
    assert family.load_encoder is not None
    encoder = family.load_encoder(folder)
    rows = pq.read_table(toy_tasks.write_task(tmp_path / "task", "letters", train=5) / "train.parquet")
    features = encode_rows(rows, toy_tasks.TASKS["letters"], _with_marks(encoder), 24)
    logits = encoder.with_head("tagging", LABELS, seed=1)(**input_tensors(features, np.arange(5)))
    assert torch.isfinite(logits).all()
    assert json.loads((folder / "task_network.json").read_text())["task_network"] == "cbow"


def _with_marks(encoder: Encoder) -> Any:
    assert encoder.tokenizer.token_to_id("[CLS]") is not None
    return encoder.tokenizer
