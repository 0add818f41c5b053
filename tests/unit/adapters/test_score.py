"""`stemma score`: a row a line and the totals, for every family with a scorer; or one line that says why not."""

import math
from pathlib import Path

import pytest

from stemma.adapters.score import describe_scores
from stemma.errors import InputError
from stemma.families.bert.scorer import load_scorer as load_bert_scorer
from stemma.families.elmo.scorer import load_scorer as load_elmo_scorer
from stemma.families.gpt.scorer import load_scorer as load_gpt_scorer
from stemma.families.nnlm.scorer import load_scorer
from stemma.files import write_json, write_manifest
from tests import toy_elmo, toy_gpt, toy_ngrams, toy_nnlm, toy_tasks

TEXT = "a b c\n\nj zz\n"


@pytest.fixture(scope="module")
def neural(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_nnlm.pretrain(tmp_path_factory.mktemp("nnlm"))[0]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def ngram(folder: Path, smoothing: str) -> Path:
    tokens, tokenizer = toy_ngrams.save_corpus(folder, "abc", ["a b", "a c", "b a"], ["a b"])
    toy_ngrams.pretrain(tokens, tokenizer, toy_ngrams.settings(smoothing, 2), folder / "model")
    write_json(folder / "model/family.json", {"family": "ngram", "variant": "ngram"})
    write_manifest(folder / "model")
    return folder / "model"


def test_rows_and_totals_are_the_scorers(neural: Path, text: Path) -> None:
    header, first, second, total = describe_scores(neural, text)
    scores = load_scorer(neural).score(["a b c", "j zz"])
    assert header.split() == ["line", "nats", "bits/byte", "tokens", "unknown"]
    assert [row.split()[0] for row in (first, second)] == ["1", "3"]
    assert [float(row.split()[1]) for row in (first, second)] == pytest.approx(scores.nats.tolist(), abs=1e-4)
    bits = [nats / math.log(2) / size for nats, size in zip(scores.nats, (5, 4), strict=True)]
    assert [float(row.split()[2]) for row in (first, second)] == pytest.approx(bits, abs=1e-4)
    assert [row.split()[3:] for row in (first, second)] == [["4", "0"], ["3", "1"]]
    perplexity = math.exp(scores.nats.sum() / 7)
    assert total.startswith("2 sentences, 7 tokens, 1 unknown:")
    assert f"perplexity {perplexity:.4f}, {scores.nats.sum() / math.log(2) / 9:.4f} bits per byte" in total
    assert "pseudo" not in header + total


def test_many_lines_keep_their_numbers(neural: Path, tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("a b\n\n" * 1500)
    _, *rows, total = describe_scores(neural, tmp_path / "many.txt")
    assert [int(row.split()[0]) for row in rows] == list(range(1, 3001, 2))
    assert total.startswith("1,500 sentences, 4,500 tokens")


def test_an_n_gram_model_and_what_it_holds_for_impossible(tmp_path: Path, text: Path) -> None:
    _, *rows, total = describe_scores(ngram(tmp_path / "laplace", "laplace"), text)
    assert len(rows) == 2
    assert "perplexity" in total
    _, first, _, total = describe_scores(ngram(tmp_path / "unsmoothed", "maximum-likelihood"), text)
    assert first.split()[1] == "inf"
    assert total.endswith("2 sentences have probability 0, so that there is no perplexity")


def test_gpt_and_its_pieces(tmp_path: Path, text: Path) -> None:
    folder = toy_gpt.pretrain_on_pieces(tmp_path)
    header, first, second, total = describe_scores(folder, text)
    scores = load_gpt_scorer(folder).score(["a b c", "j zz"])
    assert header.split() == ["line", "nats", "bits/byte", "tokens", "unknown"]
    assert [float(row.split()[1]) for row in (first, second)] == pytest.approx(scores.nats.tolist(), abs=1e-4)
    assert [row.split()[3:] for row in (first, second)] == [["4", "0"], ["3", "1"]]
    assert total.startswith("2 sentences, 7 tokens, 1 unknown:")
    assert f"perplexity {math.exp(scores.nats.sum() / 7):.4f}, " in total


def test_a_pseudo_likelihood_says_so(tmp_path: Path, text: Path) -> None:
    folder = toy_tasks.write_pretrained(tmp_path / "bert")
    write_json(folder / "family.json", {"family": "bert", "variant": "bert"})
    header, first, _, total = describe_scores(folder, text)
    assert header.split() == ["line", "pseudo-nats", "pseudo-bits/byte", "tokens", "unknown"]
    assert first.index(first.split()[2]) + len(first.split()[2]) == header.index("pseudo-bits/byte") + 16
    scores = load_bert_scorer(folder).score(["a b c", "j zz"])
    assert float(first.split()[2]) == pytest.approx(scores.nats[0] / math.log(2) / 5, abs=1e-4)
    assert total.endswith(f" {scores.nats.sum() / math.log(2) / 9:.4f} pseudo-bits per byte")
    assert "pseudo-nats, pseudo-perplexity" in total


def test_a_model_that_reads_from_both_sides_shows_both(tmp_path: Path, text: Path) -> None:
    folder, _ = toy_elmo.pretrain(tmp_path)
    header, first, second, total, other = describe_scores(folder, text)
    scores = load_elmo_scorer(folder).score(["a b c", "j zz"])
    assert header.split()[-2:] == ["backward", "bits/byte"]
    assert len(header) == len(first)
    assert [float(row.split()[1]) for row in (first, second)] == pytest.approx(scores.nats.tolist(), abs=1e-4)
    backward = scores.others["backward"]
    assert [float(row.split()[5]) for row in (first, second)] == pytest.approx(backward.tolist(), abs=1e-4)
    bits = [nats / math.log(2) / size for nats, size in zip(backward, (5, 4), strict=True)]
    assert [float(row.split()[6]) for row in (first, second)] == pytest.approx(bits, abs=1e-4)
    assert f"{scores.nats.sum():.4f} nats, perplexity" in total
    nats, perplexity = f"{backward.sum():.4f} nats", f"perplexity {math.exp(backward.sum() / 7):.4f}"
    assert other == f"backward: {nats}, {perplexity}, {backward.sum() / math.log(2) / 9:.4f} bits per byte"


def test_standard_input(neural: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(describe_scores(neural, text))
    with text.open() as file:
        monkeypatch.setattr("stemma.adapters.score.STANDARD_INPUT", Path(f"/proc/self/fd/{file.fileno()}"))
        assert list(describe_scores(neural, None)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "the file is empty"), (b"\n \n", "no text in it"), (b"a\n\xff\n", r"text\.txt:2: not valid UTF-8")],
)
def test_what_is_wrong_with_a_text_is_named(neural: Path, text: Path, content: bytes, message: str) -> None:
    text.write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(describe_scores(neural, text))


def test_what_is_no_language_model_is_named(tmp_path: Path, text: Path) -> None:
    with pytest.raises(InputError, match=r"family\.json is missing"):
        list(describe_scores(tmp_path, text))
    with pytest.raises(InputError, match=r"no\.txt: no such file"):
        list(describe_scores(tmp_path, tmp_path / "no.txt"))
