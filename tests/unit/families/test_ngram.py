"""The family: settings, what a vocabulary must have, training on a token store, scoring text."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemma.config import parse_settings
from stemma.errors import CorruptionError, InputError, SettingsError, TrainingError
from stemma.families.ngram.family import FAMILY as NGRAM
from stemma.families.ngram.family import NgramScorer, NgramSettings, read_symbols
from stemma.files import digest_tree
from tests.toy_ngrams import MARKERS, pretrain, save_corpus, save_tokenizer, settings

GOOD = {"order": 3, "smoothing": "kneser-ney", "add_k": 1.0, "interpolation": [0.1, 0.3, 0.6], "prior_count": 5.0}
TRAIN = ["the cat sat", "the dog sat", "a cat ran", "the cat ran away"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": 0}, "order: "),
        ({"order": 6}, "order: "),
        ({"smoothing": "good-turing"}, "smoothing: "),
        ({"add_k": 0}, "add_k: "),
        ({"smoothing": "interpolated", "order": 2}, "interpolation: 3 weights for order 2"),
        ({"smoothing": "interpolated", "interpolation": [0, 0, 0]}, "interpolation: at least one weight"),
        ({"interpolation": [0.5, -0.5, 1]}, r"interpolation\.1: "),
        ({"cutoff": 2}, "cutoff: unknown key"),
    ],
)
def test_settings_that_can_not_be(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_settings(NgramSettings, GOOD | change, "params.yaml: variants.x")


def test_weights_of_an_unused_interpolation_are_not_looked_at() -> None:
    assert parse_settings(NgramSettings, GOOD | {"order": 5}, "x").order == 5


def test_symbols_of_a_word_vocabulary(tmp_path: Path) -> None:
    save_tokenizer(tmp_path, ["a", "b"])
    symbols = read_symbols(tmp_path)
    assert (symbols.size, symbols.begin, symbols.end, symbols.unknown) == (9, 5, 6, 1)
    assert np.flatnonzero(symbols.events).tolist() == [1, 6, 7, 8]


def test_a_wordpiece_vocabulary_lends_its_own_boundaries(tmp_path: Path) -> None:
    tokenizer = save_tokenizer(tmp_path, ["a"])
    text = tokenizer.to_str().replace('"<s>"', '"##s"').replace('"</s>"', '"##t"')
    (tmp_path / "tokenizer.json").write_text(text)
    symbols = read_symbols(tmp_path)
    assert (symbols.begin, symbols.end) == (MARKERS.index("[CLS]"), MARKERS.index("[SEP]"))
    assert np.flatnonzero(symbols.events).tolist() == [1, 3, 5, 6, 7]


def test_a_vocabulary_without_boundaries_is_refused(tmp_path: Path) -> None:
    tokenizer = save_tokenizer(tmp_path, ["a"])
    (tmp_path / "tokenizer.json").write_text(tokenizer.to_str().replace('"<s>"', '"s"').replace('"[CLS]"', '"c"'))
    with pytest.raises(InputError, match="needs"):
        read_symbols(tmp_path)


def test_metrics_say_what_was_counted(tmp_path: Path) -> None:
    tokens, tokenizer = save_corpus(tmp_path, ["the", "cat", "sat", "unused"], TRAIN, ["the cat sat", "a b the"])
    metrics = pretrain(tokens, tokenizer, settings("laplace", 2), tmp_path / "model")
    assert metrics["vocabulary_size"] == 6
    assert metrics["ngrams_of_order_1"] == 6  # the cat sat [UNK] <s> </s>
    assert metrics["train_unknown_rate"] == pytest.approx(5 / 17)  # dog, a, ran, ran, away
    assert metrics["tokens"] == 17
    assert metrics["parameters"] == metrics["ngrams_of_order_1"] + metrics["ngrams_of_order_2"]
    assert "flops" not in metrics
    assert metrics["validation_unknown_rate"] == pytest.approx(2 / 8)


def test_a_corpus_without_sentences_is_refused(tmp_path: Path) -> None:
    tokens, tokenizer = save_corpus(tmp_path, ["a"], [], ["a"])
    with pytest.raises(TrainingError, match="train: no sentences"):
        pretrain(tokens, tokenizer, settings("laplace", 2), tmp_path / "model")


def test_without_validation_text_there_is_no_perplexity(tmp_path: Path) -> None:
    tokens, tokenizer = save_corpus(tmp_path, ["a"], ["a"], [])
    metrics = pretrain(tokens, tokenizer, settings("laplace", 2), tmp_path / "model")
    assert not [name for name in metrics if name.startswith("validation")]


def test_shards_leave_no_trace(tmp_path: Path) -> None:
    digests = set()
    for number, tokens_per_shard in enumerate((1, 50, 10_000)):
        folder = tmp_path / str(number)
        corpus = save_corpus(folder, ["the", "cat"], TRAIN * 9, TRAIN, tokens_per_shard=tokens_per_shard)
        pretrain(*corpus, settings("kneser-ney", 3), folder / "model")
        digests.add(digest_tree([folder / "model"]))
    assert len(digests) == 1


def test_scores_text(tmp_path: Path) -> None:
    scorer = _scorer(tmp_path, "kneser-ney")
    sentences = [*TRAIN, "", "cat the", "zebra"] * 400  # more than a batch
    scores = scorer.score(sentences)
    assert len(scores.nats) == len(scores.num_predictions) == len(scores.num_unknown) == len(sentences)
    assert scores.num_predictions[:7].tolist() == [4, 4, 4, 5, 1, 3, 2]
    assert scores.num_unknown[:7].tolist() == [0, 1, 1, 0, 0, 0, 1]
    assert scores.nats[:7].tolist() == scores.nats[-7:].tolist()
    for sentence, nats in zip(sentences[:7], scores.nats, strict=False):
        assert scorer.score([sentence]).nats[0] == pytest.approx(nats)
    assert scores.nats[0] < scorer.score(["sat cat the"]).nats[0]
    assert not scorer.pseudo


def test_no_sentences_have_no_scores(tmp_path: Path) -> None:
    scores = _scorer(tmp_path, "laplace").score([])
    assert len(scores.nats) == len(scores.num_predictions) == len(scores.num_unknown) == 0


def test_markers_in_a_text_are_unknown_words(tmp_path: Path) -> None:
    scorer = _scorer(tmp_path, "kneser-ney")
    spelt, unknown = scorer.score(["the </s> <s> [PAD]"]), scorer.score(["the x x x"])
    assert spelt.nats.tolist() == unknown.nats.tolist()
    assert spelt.num_unknown.tolist() == [3]


def test_maximum_likelihood_holds_the_unseen_for_impossible(tmp_path: Path) -> None:
    scores = _scorer(tmp_path, "maximum-likelihood").score(["the cat sat", "sat sat"])
    assert scores.nats.tolist() == pytest.approx([-math.log(3 / 4 * 2 / 3 * 1 / 3), math.inf])


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    _scorer(tmp_path, "laplace")
    (tmp_path / "model" / "ngram.json").write_text("{}")
    with pytest.raises(CorruptionError, match=r"ngram\.json"):
        _load(tmp_path / "model")


def _scorer(folder: Path, smoothing: str) -> NgramScorer:
    corpus = save_corpus(folder, ["the", "cat", "sat", "ran", "away"], TRAIN, TRAIN)
    pretrain(*corpus, settings(smoothing, 2), folder / "model")
    return _load(folder / "model")


def _load(folder: Path) -> NgramScorer:
    assert NGRAM.load_scorer is not None
    scorer = NGRAM.load_scorer(folder)
    assert isinstance(scorer, NgramScorer)
    return scorer
