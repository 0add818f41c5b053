"""Pseudo-likelihood. Against one token at a time: tests/reference/test_bert.py."""

import pytest

from stemma.families.bert.family import FAMILY as BERT
from stemma.families.bert.scorer import load_scorer
from tests import toy_bert


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A network as it was drawn."""
    job = toy_bert.pretraining(tmp_path_factory.mktemp("bert"), steps=0)
    BERT.pretrain(job)
    return job.out


def test_long_sentences_are_scored_in_pieces(drawn):
    scorer = load_scorer(drawn)
    pieces = [" ".join(["a"] * 30), " ".join(["b"] * 30), "c ?"]
    whole, apart = scorer.score([" ".join(pieces)]), scorer.score(pieces)
    assert scorer.pseudo
    assert whole.nats.sum() == pytest.approx(apart.nats.sum(), rel=1e-5)
    assert whole.num_predictions.tolist() == [62]
    assert whole.num_unknown.tolist() == [1]


def test_scores_repeat_and_do_not_depend_on_the_company(drawn):
    scorer = load_scorer(drawn)
    sentences = ["abc de f", "j", "aaa bbb ccc"]
    together = scorer.score(sentences)
    assert scorer.score(sentences).nats.tolist() == together.nats.tolist()
    alone = [scorer.score([sentence]).nats[0] for sentence in sentences]
    assert together.nats.tolist() == pytest.approx(alone, rel=1e-5)
    assert scorer.score([]).nats.tolist() == []
