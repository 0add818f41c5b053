from pathlib import Path

import pytest

from stemma.data.clean_documents import CLEAN_SCHEMA
from stemma.data.documents import RowGroupWriter
from stemma.errors import InputError
from stemma.progress import NullProgress
from stemma.stages import tokenizer
from stemma.text.vocabulary import load_tokenizer
from tests.toy_corpora import params


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))
    for variable in ("TOKENIZERS_PARALLELISM", "RAYON_NUM_THREADS"):
        monkeypatch.setenv(variable, "")  # restored afterwards: the stage sets them


def write_split(corpus: Path, split: str, documents: list[list[str]]) -> None:
    with RowGroupWriter(corpus / split, "part", CLEAN_SCHEMA) as writer:
        for number, sentences in enumerate(documents):
            writer.write({"id": str(number), "source": "toy", "sentences": sentences}, 10)


def test_the_vocabulary_comes_from_the_training_split_alone(tmp_path: Path) -> None:
    write_split(tmp_path / "toy", "train", [["Seen words here.", "Seen again."], ["Words, words."]])
    write_split(tmp_path / "toy", "test", [["Hidden hidden hidden."]])
    tokenizer.run("word", params(), NullProgress(), corpus=tmp_path / "toy", out=tmp_path / "out")
    vocabulary = load_tokenizer(tmp_path / "out").get_vocab()
    assert (vocabulary["."], vocabulary["words"], vocabulary["seen"]) == (7, 8, 9)  # by count, then by the alphabet
    assert not {"hidden", "here", "again"} & set(vocabulary)


@pytest.mark.parametrize("name", ["wordpiece", "word"])
def test_the_folder_has_the_two_files(tmp_path: Path, name: str) -> None:
    write_split(tmp_path / "toy", "train", [["Some words, some words."]])
    tokenizer.run(name, params(), NullProgress(), corpus=tmp_path / "toy", out=tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["tokenizer.json", "tokenizer_config.json"]


def test_no_words_is_said(tmp_path: Path) -> None:
    write_split(tmp_path / "toy", "train", [])
    with pytest.raises(InputError, match="train: no words to learn a vocabulary from"):
        tokenizer.run("word", params(), NullProgress(), corpus=tmp_path / "toy", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
