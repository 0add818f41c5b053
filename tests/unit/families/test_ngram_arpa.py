"""ARPA text: its form, and what can't be said in it. That KenLM reads it is in tests/reference."""

import gzip
from pathlib import Path

import pytest

from stemma.errors import CorruptionError, InputError
from stemma.families.ngram.arpa import export_arpa
from tests.toy_ngrams import pretrain, save_corpus, settings


def test_the_form(tmp_path: Path) -> None:
    """Seen: `<s> ä </s>` twice, `<s> </s>` once; a quarter of a context's probability comes from the unigrams."""
    export_arpa(_model(tmp_path, "interpolated", weights=[1, 3]), tmp_path / "model.arpa")
    assert (tmp_path / "model.arpa").read_text(encoding="utf-8").splitlines() == [
        "\\data\\",
        "ngram 1=5",
        "ngram 2=3",
        "",
        "\\1-grams:",
        "-99.0000000\t<unk>\t0.0000000",
        "-99.0000000\t<s>\t-0.6020600",  # 1/4
        "-0.2218487\t</s>\t0.0000000",  # 3/5
        "-0.3979400\tä\t-0.6020600",  # 2/5
        "-99.0000000\tb\t0.0000000",
        "",
        "\\2-grams:",
        "-0.3979400\t<s> </s>",  # 3/4 of 1/3 and 1/4 of 3/5
        "-0.0457575\tä </s>",  # 3/4 of 1 and 1/4 of 3/5
        "-0.2218487\t<s> ä",  # 3/4 of 2/3 and 1/4 of 2/5
        "",
        "\\end\\",
    ]


def test_compressed_text_is_the_same_text_and_equal_bytes(tmp_path: Path) -> None:
    model = _model(tmp_path, "kneser-ney")
    for name in ("a.arpa", "a.arpa.gz", "b.arpa.gz"):
        export_arpa(model, tmp_path / name)
    assert gzip.decompress((tmp_path / "a.arpa.gz").read_bytes()) == (tmp_path / "a.arpa").read_bytes()
    assert (tmp_path / "a.arpa.gz").read_bytes() == (tmp_path / "b.arpa.gz").read_bytes()


def test_maximum_likelihood_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="maximum-likelihood model has no ARPA form"):
        export_arpa(_model(tmp_path, "maximum-likelihood"), tmp_path / "model.arpa")
    assert not (tmp_path / "model.arpa").exists()


@pytest.mark.parametrize("word", ["<unk>"])
def test_a_word_that_arpa_files_use_otherwise_is_refused(tmp_path: Path, word: str) -> None:
    tokens, tokenizer = save_corpus(tmp_path, ["a", word], ["a"], ["a"])
    pretrain(tokens, tokenizer, settings("laplace", 2), tmp_path / "model")
    with pytest.raises(InputError, match=word):
        export_arpa(tmp_path / "model", tmp_path / "model.arpa")


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    model = _model(tmp_path, "laplace")
    data = bytearray((model / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (model / "model.safetensors").write_bytes(data)
    with pytest.raises(CorruptionError, match=r"model\.safetensors: bytes do not match"):
        export_arpa(model, tmp_path / "model.arpa")


def _model(folder: Path, smoothing: str, *, weights: list[float] | None = None) -> Path:
    tokens, tokenizer = save_corpus(folder, ["ä", "b"], ["ä", "ä", ""], ["ä"])
    pretrain(tokens, tokenizer, settings(smoothing, 2, weights=weights), folder / "model")
    return folder / "model"
