"""word2vec and fastText as families: settings, refusals, metrics, files."""

from pathlib import Path
from typing import Any

import pytest

from stemma.config import parse_settings
from stemma.errors import CorruptionError, SettingsError, TrainingError
from stemma.families.fasttext.family import FAMILY as FASTTEXT
from stemma.families.fasttext.family import FastTextSettings
from stemma.families.fasttext.subwords import ngrams
from stemma.families.word2vec.family import FAMILY as WORD2VEC
from stemma.families.word2vec.family import Word2VecSettings
from stemma.files import write_manifest
from stemma.training.tracker import NullTracker
from stemma.training.word_vectors import read_words
from tests import toy_vectors


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"architecture": "glove"}, "architecture: "),
        ({"objective": "softmax"}, "objective: "),
        ({"subsample": 0}, "subsample: "),
        ({"subsample": 1}, "subsample: "),
        ({"epochs": 0}, "epochs: "),
        ({"min_learning_rate": 0.5}, "min_learning_rate is above learning_rate"),
    ],
)
def test_settings_of_word2vec_that_can_not_be(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_settings(Word2VecSettings, toy_vectors.word2vec().model_dump() | change, "params.yaml: variants.x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"min_n": 5}, "min_n is above max_n"),
        ({"min_learning_rate": 0.5}, "min_learning_rate is above learning_rate"),
        ({"buckets": 2**29}, "buckets times size is 6,442,450,944"),
    ],
)
def test_settings_of_fasttext_that_can_not_be(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_settings(FastTextSettings, toy_vectors.fasttext().model_dump() | change, "params.yaml: variants.x")


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ([], "0 of the tokenizer's words"),
        (["the the", toy_vectors.UNKNOWN], "1 of the tokenizer's words"),
        (["the", "sea"], "no two words stand together"),
    ],
)
def test_a_corpus_with_nothing_to_learn_from_is_refused(tmp_path: Path, train: list[str], message: str) -> None:
    for family, settings in ((WORD2VEC, toy_vectors.word2vec()), (FASTTEXT, toy_vectors.fasttext())):
        with pytest.raises(TrainingError, match=message):
            family.pretrain(toy_vectors.job(tmp_path / family.name, settings, train=train))


def test_metrics_and_the_tracked_curve(tmp_path: Path) -> None:
    class Points(NullTracker):
        seen: list[tuple[int, float]] = []  # noqa: RUF012

        def log_metrics(self, metrics, step):
            self.seen.append((step, metrics["loss"]))

    texts = ["the sea", f"a wave {toy_vectors.UNKNOWN}", "the sea"]
    job = toy_vectors.job(tmp_path, toy_vectors.word2vec(subsample=0.5), train=texts)
    object.__setattr__(job, "tracker", Points())
    metrics = WORD2VEC.pretrain(job)
    assert metrics["tokens"] == 6 * 3
    assert metrics["vocabulary_size"] == 4
    assert metrics["parameters"] == 2 * 4 * 12
    assert metrics["flops"] == 18 * (3 + 1) * 6 * 12 * (4 + 1)  # words · contexts · (product and two sums) · rows
    assert [step for step, _ in Points.seen] == [1, 2, 3]
    assert Points.seen[-1][1] == pytest.approx(metrics["loss"])


def test_words_are_those_of_the_tokenizer_without_special_tokens(tmp_path: Path) -> None:
    job = toy_vectors.job(tmp_path, toy_vectors.word2vec())
    assert read_words(job.tokenizer) == [None] * 7 + list(toy_vectors.WORDS)


@pytest.mark.parametrize(
    ("family", "settings", "file"),
    [
        (WORD2VEC, toy_vectors.word2vec(), "vectors.safetensors"),
        (FASTTEXT, toy_vectors.fasttext(), "ngrams.safetensors"),
    ],
)
def test_a_damaged_model_is_not_loaded(tmp_path: Path, family: Any, settings: Any, file: str) -> None:
    job = toy_vectors.job(tmp_path, settings)
    family.pretrain(job)
    write_manifest(job.out)
    data = (job.out / file).read_bytes()
    (job.out / file).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(CorruptionError, match=file):
        family.load_vectors(job.out)


def test_ngrams_of_the_paper() -> None:
    assert ngrams("where", 3, 3) == ["<wh", "whe", "her", "ere", "re>"]
