"""BERT's two published sizes: they have the paper's number of weights, and take a step."""

import os
from pathlib import Path

import pytest
import tokenizers
import torch
from tokenizers import models

from stemma.config import load_params
from stemma.families import family_settings
from stemma.families.bert.family import FAMILY as BERT
from stemma.families.bert.network import build_network
from stemma.families.bert.settings import BertSettings
from tests import toy_bert

PROFILES = Path(__file__).parents[2] / "profiles"
WORDS = 30_522  # of the vocabulary that was published
GIGABYTES = {"base": 4, "large": 8}  # to spare: weights, gradients and two moments, 4 bytes each


def settings_of(profile: str) -> BertSettings:
    settings = family_settings(load_params(PROFILES / f"{profile}.yaml"), "bert")
    assert isinstance(settings, BertSettings)
    return settings


@pytest.mark.parametrize(
    ("profile", "shape", "weights"),
    [("base", (12, 768, 12, 3072), 110_106_428), ("large", (24, 1024, 16, 4096), 336_226_108)],
)
def test_they_have_as_many_weights_as_those_that_were_published(profile, shape, weights):
    """With both heads of pretraining, the output's matrix being that of the inputs."""
    settings = settings_of(profile)
    assert (settings.layers, settings.hidden_size, settings.heads, settings.intermediate_size) == shape
    vocabulary = {token: id_ for id_, token in enumerate([*toy_bert.SPECIAL, *map(str, range(WORDS - 5))])}
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    with torch.device("meta"):  # shapes without memory
        network = build_network(settings, tokenizer, seed=1)
    assert sum(parameter.numel() for parameter in network.parameters()) == weights


@pytest.mark.parametrize("profile", ["base", "large"])
def test_they_take_a_step(tmp_path, profile):
    spare = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 30
    if spare < GIGABYTES[profile]:
        pytest.skip(f"{spare} GB of memory to spare, {GIGABYTES[profile]} are needed")
    small = {"max_length": 16, "batch_size": 1, "tokens_per_pass": 16, "threads": 1}  # of the batch alone
    job = toy_bert.pretraining(tmp_path, **{**settings_of(profile).model_dump(), **small})
    assert BERT.steps is not None
    assert 8 <= next(BERT.steps(job)) <= 16
