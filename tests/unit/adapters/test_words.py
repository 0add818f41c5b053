"""Word vectors on the command line: those of any model that has them, or one line that says why not."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gensim.models import KeyedVectors
from typer.testing import CliRunner

from stemma import families
from stemma.adapters.words import choose_model, open_words
from stemma.cli import app
from stemma.config import Settings, Tokenizer
from stemma.errors import CorruptionError, InputError
from stemma.families.base import Family
from stemma.files import write_json, write_manifest
from stemma.text.vectors import WordVectors, load_vectors, save_vectors, write_word2vec
from stemma.text.vocabulary import learn_tokenizer, save_tokenizer

ROOT = Path(__file__).parents[3]
WORDS = ["king", "queen", "man", "woman", "北京", "中国"]
MATRIX = np.array([[2, 0, 1], [2, 1, 1], [1, 0, 0], [1, 1, 0], [0, -1, 3], [0, -1, 2]], np.float32)
VECTORS = WordVectors(WORDS, MATRIX)


def no_pretraining(_: object) -> dict[str, float]:
    raise NotImplementedError


def record(name: str, **loaders: Any) -> Family[Settings]:
    nothing: dict[str, Any] = dict.fromkeys(("steps", "load_encoder", "load_tuned", "load_scorer", "load_vectors"))
    return Family(name=name, params=Settings, pretrain=no_pretraining, **nothing | loaders)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project in which the variant `bert` has been trained by a family with word vectors, and `ngram` by one without."""
    monkeypatch.chdir(tmp_path)
    for name, family in (("words", record("words", load_vectors=load_vectors)), ("silent", record("silent"))):
        module = ModuleType(f"stemma.families.{name}.family")
        module.FAMILY = family  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(families, "families", lambda: ["silent", "words"])
    Path("params.yaml").write_text((ROOT / "params.yaml").read_text())
    write_model(Path("models/pretrained/ngram"), "silent")
    save_vectors(VECTORS, Path("models/pretrained/bert"))
    write_model(Path("models/pretrained/bert"), "words")


def write_model(folder: Path, family: str) -> None:
    settings = Tokenizer(corpus="c", kind="word", vocabulary_size=50, min_frequency=1, lowercase=True)
    save_tokenizer(learn_tokenizer([(word, 9) for word in WORDS], settings), settings, folder)
    write_json(folder / "family.json", {"family": family, "variant": folder.name})
    write_manifest(folder)


def stemma(*arguments: str) -> tuple[list[str], str]:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines(), result.stderr


def test_neighbours_of_the_first_variant_with_vectors() -> None:
    lines, error = stemma("neighbours", "King", "--count", "2")
    assert [line.split() for line in lines] == [["0.9129", "queen"], ["0.8944", "man"]]
    assert error == "model: models/pretrained/bert\n"


def test_an_analogy() -> None:
    lines, _ = stemma("analogy", "man", "king", "woman", "--count", "1")
    assert lines[0].split()[1] == "queen"


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("name", ["vectors.txt", "vectors.bin.gz"])
def test_a_file_of_word2vecs_is_a_model_too_in_both_kinds_and_any_script(binary: bool, name: str) -> None:
    write_word2vec(VECTORS, Path("plain"), binary=binary)
    keyed = KeyedVectors.load_word2vec_format("plain", binary=binary)
    keyed.save_word2vec_format(name, binary=binary)
    lines, error = stemma("neighbours", "北京", "--model", name, "--count", "1")
    assert lines[0].split()[1] == "中国"
    assert error == ""


@pytest.mark.parametrize("binary", [True, False])
def test_exported_vectors_are_read_by_gensim_and_by_us(binary: bool) -> None:
    stemma("export-vectors", "models/pretrained/bert", "out.vec", *(["--binary"] if binary else []))
    keyed = KeyedVectors.load_word2vec_format("out.vec", binary=binary)
    assert keyed.index_to_key == WORDS
    assert np.array_equal(keyed.vectors, MATRIX)
    assert np.array_equal(open_words(Path("out.vec")).vectors.matrix, MATRIX)


def test_words_are_drawn() -> None:
    stemma("plot-words", "words.svg", "king", "Queen", "北京", "queen")
    text = Path("words.svg").read_text()
    assert [text.count(f">{word}<") for word in ("king", "queen", "北京")] == [1, 1, 1]


def test_a_misspelled_word_gets_near_ones() -> None:
    with pytest.raises(InputError, match=r"^no vector for 'quen', .* 6 words; near it: queen$"):
        stemma("neighbours", "quen")
    with pytest.raises(InputError, match="none is spelled like it"):
        stemma("neighbours", "上海")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("models/pretrained/ngram", "family 'silent' has no word vectors"),
        ("models/pretrained", "no pretrained model's folder"),
        ("nowhere", "nowhere: no pretrained model's folder"),
        ("params.yaml", r"params\.yaml: not a whole text file of word2vec's format"),
    ],
)
def test_what_has_no_vectors_is_named(model: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_words(Path(model))


def test_a_damaged_model_is_refused() -> None:
    path = Path("models/pretrained/bert/words.json")
    path.write_text(path.read_text().replace("queen", "quean"))
    with pytest.raises(CorruptionError, match=r"words\.json: bytes do not match"):
        open_words(path.parent)


def test_no_model_at_all_is_said() -> None:
    with pytest.raises(InputError, match=r"no variant of params\.yaml with word vectors is there"):
        choose_model(Path("params.yaml"), Path("nowhere"))
