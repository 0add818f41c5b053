"""N-gram models of classes against the formula written out, choices, folders, and the stage as a whole."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from stemma.config import Grid, Pair
from stemma.errors import InputError
from stemma.families.ngram.class_counts import ClassCounts, count_classes
from stemma.families.ngram.classifier import ChoiceScorer, ClassNgrams
from stemma.families.ngram.family import FAMILY
from stemma.families.ngram.windows import pad, windows
from stemma.files import read_json
from stemma.progress import NullProgress
from stemma.protocols import Counting, Encoder
from stemma.stages import finetune
from stemma.tasks.predictor import load_predictor
from stemma.training.tracker import NullTracker
from tests import toy_classes, toy_ngrams, toy_tasks

SYMBOLS = toy_ngrams.symbols(4)
A, B, C, D = range(toy_ngrams.FIRST_WORD, toy_ngrams.FIRST_WORD + 4)
TEXTS = [([A, B, A], 0), ([B], 0), ([C, A, B, A], 1), ([], 1), ([A, A], 1)]
UNIGRAMS = np.where(SYMBOLS.events, 1.0, 0.0) / SYMBOLS.events.sum()
MU = 2.0


def read(text: list[int], order: int) -> list[Any]:
    padded, starts = pad(np.array(text, np.int64), np.array([0, len(text)]), SYMBOLS)
    return [column[1:] for column in windows(padded, starts, order, SYMBOLS.size)]


def counted(order: int) -> ClassCounts:
    parts = [read(text, order) for text, _ in TEXTS]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    classes = np.concatenate([np.full(len(text) + 1, label) for text, label in TEXTS])
    return count_classes(columns, classes, np.array([2, 3]), unigrams=UNIGRAMS, prior_count=MU)


def written_out(words: list[int], order: int, label: int) -> float:
    """P(last word | those before it, class), from counts of slices."""
    sentences = [[SYMBOLS.begin, *text, SYMBOLS.end] for text, of in TEXTS if of == label]
    result = float(UNIGRAMS[words[-1]])
    for length in range(1, min(order, len(words)) + 1):
        slices = Counter(
            tuple(sentence[at - length + 1 : at + 1])
            for sentence in sentences
            for at in range(max(1, length - 1), len(sentence))
        )
        context = tuple(words[-length:-1])
        total = sum(count for ngram, count in slices.items() if ngram[:-1] == context)
        result = (slices[tuple(words[-length:])] + MU * result) / (total + MU)
    return result


@pytest.mark.parametrize("order", [1, 2, 3])
def test_probabilities_are_the_formula(order: int) -> None:
    counts = counted(order)
    for text in ([A, B, A], [D, A, B], [C], [], [B, B, C, A]):
        found = np.exp(counts.log_probabilities(read(text, order)))
        sentence = [SYMBOLS.begin, *text, SYMBOLS.end]
        wanted = [[written_out(sentence[: at + 1], order, label) for label in (0, 1)] for at in range(1, len(sentence))]
        np.testing.assert_allclose(found, wanted)


def test_probabilities_of_a_class_sum_to_one() -> None:
    events = np.flatnonzero(SYMBOLS.events)
    for context in ([A, B], [D, D], [SYMBOLS.size, SYMBOLS.begin]):
        columns = [events, np.full(len(events), context[1]), np.full(len(events), context[0])]
        np.testing.assert_allclose(np.exp(counted(3).log_probabilities(columns)).sum(axis=0), [1.0, 1.0])


def test_counts_survive_a_file() -> None:
    counts = counted(3)
    again = ClassCounts.from_arrays(counts.arrays(), MU)
    columns = read([A, B, A, D], 3)
    np.testing.assert_array_equal(again.log_probabilities(columns), counts.log_probabilities(columns))
    np.testing.assert_allclose(np.exp(again.log_priors()), [3 / 7, 4 / 7])


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_classes.write_pretrained(tmp_path_factory.mktemp("ngram"))


def load(folder: Path) -> Encoder:
    assert FAMILY.load_encoder is not None
    return FAMILY.load_encoder(folder)


def tensors(encoder: Encoder, *texts: tuple[str, str | None]) -> dict[str, torch.Tensor]:
    encodings = [encoder.tokenizer.encode(*text) for text in texts]
    ids, mask, types = torch.zeros(3, len(texts), 24, dtype=torch.long)
    for row, encoding in enumerate(encodings):
        stop = len(encoding.ids)
        ids[row, :stop], mask[row, :stop] = torch.tensor(encoding.ids), 1
        types[row, :stop] = torch.tensor(encoding.type_ids)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


def test_of_two_texts_each_is_read_by_itself(pretrained: Path) -> None:
    encoder = load(pretrained)
    model: Any = encoder.with_head("classification", ["no", "yes"], seed=1)
    assert isinstance(model, ClassNgrams)
    assert isinstance(model, Counting)
    batch = tensors(encoder, ("a b", None), ("c d", "a"), ("j", "j"))
    model.count([{**batch, "targets": torch.tensor([0, 1, 1])}])
    one, other, both = model(**tensors(encoder, ("a b c", None), ("d", None), ("a b c", "d")))
    assert model.counts is not None
    priors = torch.from_numpy(model.counts.log_priors())
    torch.testing.assert_close(both - priors, (one - priors) + (other - priors))


def test_a_choice_is_scored_by_the_pretrained_model(pretrained: Path) -> None:
    """The mean nats of the choice's words and the end, behind the context: those of the whole less those of the context."""
    assert FAMILY.load_scorer is not None
    encoder, scorer = load(pretrained), FAMILY.load_scorer(pretrained)
    model = encoder.with_head("choice", ["one", "two"], seed=1)
    assert isinstance(model, ChoiceScorer)
    found = model(**tensors(encoder, ("a b j", "j j"), ("a b j", "zz e f")))[:, 0]
    whole = scorer.score(["a b j j j", "a b j zz e f"]).nats
    encoded = scorer.model  # type: ignore[attr-defined]
    ids = np.array(encoder.tokenizer.encode("a b j", add_special_tokens=False).ids)
    context = -np.log(encoded.predict_sentences(ids, np.array([0, 3]))[0][:-1]).sum()
    expected = [-(whole[0] - context) / 3, -(whole[1] - context) / 4]
    assert found.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("task", ["first", "pick"])
def test_the_stage_counts_once_for_all_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pretrained: Path, task: str
) -> None:
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))
    toy_tasks.write_task(tmp_path / "task", task, train=3000)
    pair = Pair(variant="ngram", family="ngram", task=task)
    params = toy_tasks.params().model_copy(update={"pairs": {f"ngram-{task}": pair}})
    out = tmp_path / "out"
    data = {"pretrained": pretrained, "task": tmp_path / "task", "out": out}
    finetune.run(f"ngram-{task}", params, NullTracker(), NullProgress(), **data)
    rows = pq.read_table(tmp_path / "task" / "validation.parquet")
    seeds = [load_predictor(out / f"seed-{seed}").predict(rows) for seed in (1, 2)]
    assert seeds[0].equals(seeds[1]), "nothing is drawn"
    assert seeds[0].equals(pq.read_table(out / "predictions" / "validation-seed-1.parquet"))
    right = np.mean([one == other for one, other in zip(seeds[0]["label"], rows["label"], strict=True)])
    majority = max(Counter(rows["label"].to_pylist()).values()) / len(rows)
    assert right > majority, "words with a j tell" if task == "first" else "j is likely behind whatever"
    curve = (out / "curve.csv").read_text().splitlines()
    assert len(curve) == 3
    assert math.isfinite(float(curve[1].split(",")[3]))
    assert FAMILY.load_tuned is not None
    with pytest.raises(InputError, match=r"head\.json: made for "):
        FAMILY.load_tuned(out / "seed-1", "tagging")
    with pytest.raises(InputError, match=r"head\.json is missing"):
        FAMILY.load_tuned(pretrained, "choice")


def test_a_grid_changes_nothing_of_what_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pretrained: Path
) -> None:
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))
    toy_tasks.write_task(tmp_path / "task", "first")
    grid = Grid(epochs=[1, 3], batch_size=[8, 16], learning_rate=[0.01])
    params = toy_tasks.params(toy_tasks.FINETUNING.model_copy(update={"grid": grid}))
    params = params.model_copy(update={"pairs": {"ngram-first": Pair(variant="ngram", family="ngram", task="first")}})
    data = {"pretrained": pretrained, "task": tmp_path / "task", "out": tmp_path / "out"}
    finetune.run("ngram-first", params, NullTracker(), NullProgress(), **data)
    found = read_json(tmp_path / "out" / "metrics.json")["seeds"]["1"]
    assert [one["validation"] for one in found["grid"]] == [found["validation"]], "one point is tried"
