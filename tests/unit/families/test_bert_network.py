"""BERT's network: what is drawn, read and refused. Against `transformers`: tests/reference/test_bert.py."""

import pytest
import torch

from stemma.errors import InputError
from stemma.families.bert.family import FAMILY as BERT
from stemma.families.bert.network import load_encoder, load_pretrained, read_tokenizer
from tests import toy_bert


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A network as it was drawn."""
    job = toy_bert.pretraining(tmp_path_factory.mktemp("bert"), steps=0)
    BERT.pretrain(job)
    return job.out


def test_heads_are_drawn_from_their_seed(drawn):
    encoder = load_encoder(drawn)
    torch.manual_seed(0)
    state = torch.get_rng_state()
    one, same, other = (encoder.with_head("classification", ["a", "b"], seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state), "nobody else's random numbers are used up"
    assert all(torch.equal(one[name], same[name]) for name in one)
    differing = {name for name in one if not torch.equal(one[name], other[name])}
    assert differing == {"network.classifier.weight"}


def test_a_tokenizer_without_the_special_tokens_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_tokenizer(tmp_path)
    text = toy_bert.tokenizer().to_str().replace("[MASK]", "[HIDE]")
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(InputError, match=r"BERT needs \[MASK\]"):
        read_tokenizer(tmp_path)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no BERT model here \(config.json is missing\)"):
        load_pretrained(tmp_path)


def test_words_that_look_like_special_tokens_are_words(drawn):
    assert read_tokenizer(drawn).encode("a [MASK]", add_special_tokens=False).ids.count(4) == 0
