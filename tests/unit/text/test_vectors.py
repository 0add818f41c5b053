"""Word vectors: looking up, searching, and the formats of other tools."""

from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors

from stemma.errors import InputError
from stemma.text.vectors import WordVectors, load_vectors, read_word2vec, save_vectors, write_word2vec

WORDS = ["king", "queen", "man", "woman", "苹果", "zero"]
MATRIX = np.array([[2, 0, 1], [2, 1, 1], [1, 0, 0], [1, 1, 0], [0, 0, 3], [0, 0, 0]], np.float32)
VECTORS = WordVectors(WORDS, MATRIX)


def test_similarity_is_the_cosine() -> None:
    assert VECTORS.similarity("king", "苹果") == pytest.approx(1 / np.sqrt(5))
    assert VECTORS.similarity("man", "苹果") == 0
    assert VECTORS.similarity("man", "unknown") is None


def test_neighbours_come_by_falling_cosine_without_the_word_itself() -> None:
    found = VECTORS.neighbours("man", 10)
    assert [word for word, _ in found] == ["king", "queen", "woman", "苹果", "zero"]
    cosines = [cosine for _, cosine in found]
    assert cosines == sorted(cosines, reverse=True)
    assert VECTORS.neighbours("man", 2) == found[:2]


def test_an_analogy_leaves_out_the_words_that_ask_for_it() -> None:
    assert VECTORS.analogy("man", "king", "woman", 1)[0][0] == "queen"


def test_a_word_without_a_vector_is_named() -> None:
    with pytest.raises(InputError, match="'pear'"):
        VECTORS.neighbours("pear", 3)


def test_a_model_that_composes_knows_every_word() -> None:
    composing = WordVectors(WORDS, MATRIX, compose=lambda word: np.full(3, len(word), np.float32))
    assert composing.neighbours("apple", 1)[0][0] == "queen"
    assert "apple" not in composing


def test_saved_vectors_come_back(tmp_path: Path) -> None:
    save_vectors(VECTORS, tmp_path)
    loaded = load_vectors(tmp_path)
    assert loaded.words == WORDS
    assert np.array_equal(loaded.matrix, MATRIX)


def test_a_folder_without_vectors_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"vectors\.safetensors: no such file"):
        load_vectors(tmp_path)


@pytest.mark.parametrize("binary", [False, True])
def test_word2vec_format_comes_back_here_and_in_gensim(tmp_path: Path, binary: bool) -> None:
    path = tmp_path / "vectors"
    write_word2vec(VECTORS, path, binary=binary)
    loaded = read_word2vec(path, binary=binary)
    theirs = KeyedVectors.load_word2vec_format(str(path), binary=binary)
    assert list(loaded.words) == list(theirs.index_to_key) == WORDS
    assert np.array_equal(loaded.matrix, MATRIX)
    assert np.array_equal(theirs.vectors, MATRIX)


@pytest.mark.parametrize("binary", [False, True])
def test_a_file_that_is_cut_off_is_named(tmp_path: Path, binary: bool) -> None:
    path = tmp_path / "vectors"
    write_word2vec(VECTORS, path, binary=binary)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match="not a whole"):
        read_word2vec(path, binary=binary)


def test_a_word_with_a_space_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'new york'"):
        write_word2vec(WordVectors(["new york"], MATRIX[:1]), tmp_path / "vectors", binary=False)
    assert list(tmp_path.iterdir()) == []
