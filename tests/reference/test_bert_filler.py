"""Words for gaps, against `transformers`' own."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from typer.testing import CliRunner

from stemma.adapters import fill
from stemma.adapters.fill import describe_fillings
from stemma.cli import app
from stemma.errors import InputError
from stemma.families.bert.family import FAMILY as BERT
from stemma.families.bert.filler import load_filler
from stemma.files import write_json
from tests import toy_bert


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    job = toy_bert.pretraining(tmp_path_factory.mktemp("bert"), layers=2)
    BERT.pretrain(job)
    write_json(job.out / "family.json", {"family": "bert", "variant": "bert"})
    return job.out


@pytest.mark.parametrize("text", ["[MASK]", "abc [MASK] de", "ab[MASK]c. [MASK]"])
def test_probabilities_are_those_of_bert_for_masked_lm(folder, text):
    network: Any = transformers.BertForMaskedLM.from_pretrained(folder)
    network.eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(text)["input_ids"]
    gaps = [place for place, id_ in enumerate(ids) if id_ == 4]
    wanted = network(torch.tensor([ids])).logits[0, gaps].softmax(-1)
    found = load_filler(folder).fill(text, 27)
    assert len(found) == len(gaps)
    for fillings, chances in zip(found, wanted, strict=True):
        assert fillings == sorted(fillings, key=lambda filling: -filling.probability)
        assert sum(filling.probability for filling in fillings) == pytest.approx(1)
        for filling in fillings:
            chance = chances[toy_bert.tokenizer().token_to_id(filling.word)].item()
            assert filling.probability == pytest.approx(chance, rel=1e-5)


def test_every_line_is_shown_with_its_words(folder, tmp_path, monkeypatch):
    path = tmp_path / "text.txt"
    path.write_text("a [MASK] b\n\n[MASK] [MASK]\n")
    lines = list(describe_fillings(folder, path, 3))
    assert [line for line in lines if not line.startswith("  ")] == ["a [MASK] b", "[MASK] [MASK]"]
    assert [line[:5] for line in lines if line.startswith("  ")] == ["  1: ", "  1: ", "  2: "]
    best = load_filler(folder).fill("a [MASK] b", 3)[0]
    assert lines[1] == "  1: " + "  ".join(f"{filling.word} {filling.probability:.4f}" for filling in best)
    monkeypatch.setattr(fill, "STANDARD_INPUT", path)
    for arguments in ([str(path)], ["-"], []):
        result = CliRunner().invoke(app, ["fill", str(folder), *arguments, "--count", "3"], catch_exceptions=False)
        assert result.stdout.splitlines() == lines


def test_what_can_not_be_filled_is_named(folder, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("[MASK]\nno gap\n")
    with pytest.raises(InputError, match=r"text\.txt:2: no \[MASK\] in the text"):
        list(describe_fillings(folder, path, 3))
    path.write_text("a " * 40 + "[MASK]")
    with pytest.raises(InputError, match=r"text\.txt:1: 41 tokens, but the model reads at most 30"):
        list(describe_fillings(folder, path, 3))
    path.write_text("\n")
    with pytest.raises(InputError, match="no text in it"):
        list(describe_fillings(folder, path, 3))
    with pytest.raises(InputError, match=r"family\.json is missing"):
        list(describe_fillings(tmp_path, folder / "config.json", 3))
    other = tmp_path / "ngram"
    other.mkdir()
    write_json(other / "family.json", {"family": "ngram", "variant": "ngram"})
    with pytest.raises(InputError, match="family 'ngram' fills no gaps"):
        list(describe_fillings(other, folder / "config.json", 3))


def test_a_model_that_reads_one_way_fills_nothing(tmp_path):
    job = toy_bert.pretraining(tmp_path, steps=0, next_sentence=False, direction="left-to-right")
    BERT.pretrain(job)
    with pytest.raises(InputError, match="reads from left to right"):
        load_filler(job.out)
