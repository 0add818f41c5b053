import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stemma.cli import app
from stemma.errors import InputError
from stemma.families.ngram.chain import explain_sentence, sentence_factors
from stemma.families.ngram.family import FAMILY as NGRAM
from stemma.families.ngram.model import NgramModel
from stemma.files import write_json, write_manifest
from stemma.text.vocabulary import load_tokenizer
from tests.toy_ngrams import SMOOTHINGS, pretrain, save_corpus, settings

CORPUS = ["a b", "a c", "b a"]


def model_dir(folder: Path, smoothing: str, order: int, family: str = "ngram") -> Path:
    pretrain(*save_corpus(folder, "abc", CORPUS, CORPUS), settings(smoothing, order), folder / "model")
    write_json(folder / "model" / "family.json", {"family": family, "variant": family})
    write_manifest(folder / "model")
    return folder / "model"


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (1, [((), "a", 3, 9), ((), "[UNK]", 0, 9), ((), "</s>", 3, 9)]),
        (2, [(("<s>",), "a", 2, 3), (("a",), "[UNK]", 0, 3), (("[UNK]",), "</s>", 0, 0)]),
        (3, [(("<s>",), "a", 2, 3), (("<s>", "a"), "[UNK]", 0, 2), (("a", "[UNK]"), "</s>", 0, 0)]),
    ],
)
def test_every_factor_has_its_counts(tmp_path: Path, order: int, expected: list[tuple[object, ...]]) -> None:
    folder = model_dir(tmp_path, "laplace", order)
    factors = sentence_factors(NgramModel.open(folder), load_tokenizer(folder), "a d")
    assert [(f.context, f.word, f.count, f.context_count) for f in factors] == expected
    for factor in factors:  # five events: a b c [UNK] </s>
        assert factor.probability == pytest.approx((factor.count + 1) / (factor.context_count + 5))


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_the_product_is_what_the_scorer_says(tmp_path: Path, smoothing: str) -> None:
    folder = model_dir(tmp_path, smoothing, 3)
    assert NGRAM.load_scorer is not None
    scorer = NGRAM.load_scorer(folder)
    for sentence in ("a b", "b a", ""):
        factors = sentence_factors(NgramModel.open(folder), load_tokenizer(folder), sentence)
        expected = math.exp(-float(scorer.score([sentence]).nats[0]))
        assert math.prod([factor.probability for factor in factors]) == pytest.approx(expected, abs=1e-12)


def test_the_verb_prints_a_table(tmp_path: Path) -> None:
    folder = model_dir(tmp_path, "maximum-likelihood", 2)
    result = CliRunner().invoke(app, ["factors", str(folder), "a b"])
    assert result.stdout.splitlines() == [
        "     count         of  probability",
        "         2          3     0.666667  P(a | <s>)",
        "         1          3     0.333333  P(b | a)",
        "         1          2          0.5  P(</s> | b)",
        "              product     0.111111  P(a b)",
    ]


def test_another_family_has_no_counts(tmp_path: Path) -> None:
    folder = model_dir(tmp_path, "laplace", 1, family="bert")
    with pytest.raises(InputError, match="a model of family 'bert' has no counts to show; give an n-gram model"):
        explain_sentence(folder, "a")
