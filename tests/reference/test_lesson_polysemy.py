"""Polysemy: the sentences, the nearest of them, and what is told of models that know the senses or do not."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from stemma.errors import InputError
from stemma.families.bert.contextual import load_contextual as load_bert
from stemma.families.bert.network import load_pretrained
from stemma.families.elmo.contextual import load_contextual as load_elmo
from stemma.families.elmo.network import load_network
from stemma.families.gpt.contextual import load_contextual as load_gpt
from stemma.lessons import polysemy
from stemma.lessons.polysemy import SENTENCES, Use, explain, nearest, uses_of, word_vectors
from stemma.protocols import InContext
from tests import toy_elmo, toy_gpt, toy_nnlm, toy_tasks


class Reader:
    """Every character is a token; its vector is what the sentence's sense says."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors

    def read(self, sentences: Sequence[str]) -> list[InContext]:
        found = []
        for sentence in sentences:
            places = np.arange(len(sentence))
            values = np.tile(np.array(self._vectors[sentence], np.float32), (len(places), 1))
            values[:, -1] = places  # so that it shows which tokens were taken
            found.append(InContext(vectors=values, spans=np.stack([places, places + 1], axis=1)))
        return found


def test_every_sentence_has_its_word_once_and_senses_are_as_many() -> None:
    assert {word: list(senses) for word, senses in SENTENCES.items()} == {
        "bank": ["river", "money"],
        "play": ["sport", "theatre"],
    }
    for word, senses in SENTENCES.items():
        assert len({len(sentences) for sentences in senses.values()}) == 1
        for use in uses_of(word):
            assert len(re.findall(rf"\b{word}\b", use.sentence)) == 1
            start, end = use.span
            assert use.sentence[start:end] == word


def test_a_words_vector_is_the_mean_of_its_tokens() -> None:
    uses = [Use("bank", "river", "a bank"), Use("bank", "money", "banking at a bank now")]
    found = word_vectors(Reader({"a bank": [1, 2, 0], "banking at a bank now": [3, 4, 0]}), uses)
    assert found.tolist() == [[1, 2, (2 + 3 + 4 + 5) / 4], [3, 4, (13 + 14 + 15 + 16) / 4]]


def test_nearest_is_by_angle_and_never_itself() -> None:
    assert nearest(np.array([[1, 0], [9, 1], [0, 2], [-1, 5]], np.float32)) == [1, 0, 3, 2]


def test_vectors_of_a_trained_model_are_its_last_layer(tmp_path: Path) -> None:
    folder, _ = toy_elmo.pretrain(tmp_path, pieces=True)
    (read,) = load_elmo(folder).read(["ab c"])
    assert read.spans.tolist() == [[0, 1], [1, 2], [3, 4]]
    assert read.vectors.shape == (3, 12)
    ids = torch.tensor([2, 5, 16, 7, 3])  # [CLS] a ##b c [SEP]
    tokens, places = torch.unique(torch.stack([ids, ids.flip(0)])[:, :, None], return_inverse=True)
    with torch.inference_mode():
        last = load_network(folder).read(tokens, places).layers[-1][:, :, 0]
    expected = torch.cat([last[0], last[1].flip(0)], dim=1)[1:-1]
    assert read.vectors == pytest.approx(expected.numpy(), abs=1e-6)


def test_gpts_vectors_have_read_up_to_their_token_and_berts_all(tmp_path: Path) -> None:
    gpt, bert = toy_gpt.pretrain_on_pieces(tmp_path / "gpt"), toy_tasks.write_pretrained(tmp_path / "bert")
    one, other = load_gpt(gpt).read(["ab c", "ab d"])
    assert one.spans.tolist() == other.spans.tolist() == [[0, 1], [1, 2], [3, 4]]
    assert one.vectors[:2] == pytest.approx(other.vectors[:2], abs=1e-6)
    assert not np.allclose(one.vectors[2], other.vectors[2], atol=1e-4)
    one, other = load_bert(bert).read(["ab c", "ab d"])
    assert one.spans.tolist() == other.spans.tolist() == [[0, 1], [1, 2], [3, 4]]
    assert not np.isclose(one.vectors, other.vectors, atol=1e-6).all(axis=1).any()
    network: Any = load_pretrained(bert)
    ids = torch.tensor([[2, 5, 16, 7, 3]])  # [CLS] a ##b c [SEP]
    with torch.inference_mode():
        expected = network.eval().bert(ids, token_type_ids=torch.zeros_like(ids)).last_hidden_state[0, 1:-1]
    assert one.vectors == pytest.approx(expected.numpy(), abs=1e-5)


def test_what_is_told_of_trained_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = {
        "a": {"one": ("b a", "a b b", "b b a"), "other": ("c a d", "a c", "d d a")},
        "zz": {"one": ("a zz", "zz b"), "other": ("zz", "c zz")},
    }
    monkeypatch.setattr(polysemy, "SENTENCES", sentences)
    toy_elmo.pretrain(tmp_path / "x")
    toy_nnlm.pretrain(tmp_path / "y")
    toy_tasks.write_pretrained(tmp_path / "z")
    toy_gpt.pretrain(tmp_path / "w")
    models = tmp_path / "models"
    models.mkdir()
    for name, place in (("elmo", "x"), ("nnlm", "y"), ("bert", "z"), ("gpt", "w")):
        (tmp_path / place / "out").rename(models / name)
    lines = list(explain(models))
    assert lines[0].startswith("'a' in 6 sentences, one or other.")
    assert lines[1].split()[:6] == ["nnlm", "one", "vector", "in", "all", "of"]
    for line, name in zip(lines[2:5], ("bert", "elmo", "gpt"), strict=True):
        count = int(line.split()[1])
        assert line.split() == [name, str(count), "of", "6", f"{count / 6:.0%}"]
    assert lines[5].split() == ["by", "chance", "40%"]
    assert sum("→" in line for line in lines) == 2 * 3 * 2
    assert "  nnlm               has no vector for 'zz'" in lines


def test_no_models_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no pretrained models with vectors there"):
        list(explain(tmp_path))
