"""word2vec and fastText against gensim's own training in one call, and the loss against loops over single predictions."""

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.models import FastText, Word2Vec
from gensim.models.fasttext import ft_ngram_hashes
from gensim.models.keyedvectors import KeyedVectors
from gensim.models.word2vec import _assign_binary_codes
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from stemma.data.token_store import TokenStore
from stemma.data.windows import keep_probability, sample_windows
from stemma.data.word_lines import write_word_lines
from stemma.families import load_family
from stemma.families.fasttext import family as fasttext
from stemma.families.fasttext.subwords import buckets_of
from stemma.families.word2vec import family as word2vec
from stemma.files import digest_tree, write_manifest
from stemma.layers.huffman import HuffmanTree
from stemma.layers.word_prediction import HierarchicalSoftmax, draw_negatives, noise_distribution
from stemma.training.word_vectors import number_words, read_words
from tests import toy_vectors
from tests.toy_vectors import BOTH, MODES

ROOT = Path(__file__).parents[2]
SAME = {
    "vector_size": BOTH["size"],
    "window": BOTH["window"],
    "ns_exponent": BOTH["noise_exponent"],
    "sample": BOTH["subsample"],
    "epochs": BOTH["epochs"],
    "alpha": BOTH["learning_rate"],
    "min_alpha": BOTH["min_learning_rate"],
    "min_count": 1,
    "workers": 1,
    "seed": 1,
}


# --- the vectors -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("architecture", "objective"), MODES)
def test_vectors_equal_those_of_one_call_of_gensim(tmp_path: Path, architecture: str, objective: str) -> None:
    texts = [
        *toy_vectors.sentences(1, 4000),
        "the sea " * 5500,
    ]  # several of gensim's batches, and a line that is too long
    job = toy_vectors.job(tmp_path, toy_vectors.word2vec(architecture, objective), train=texts)
    word2vec.FAMILY.pretrain(job)
    by_noise = objective == "negative-sampling"
    theirs = Word2Vec(
        corpus_file=_write(tmp_path, texts),
        sg=int(architecture == "skip-gram"),
        hs=int(not by_noise),
        negative=BOTH["negative"] if by_noise else 0,
        **SAME,
    )
    ours = load_family("word2vec").load_vectors
    write_manifest(job.out)
    assert ours is not None
    vectors = ours(job.out)
    assert list(vectors.words) == theirs.wv.index_to_key
    assert vectors.matrix.tobytes() == theirs.wv.vectors.tobytes()
    saved = load_file(job.out / "output.safetensors")
    assert saved["output"].tobytes() == (theirs.syn1neg if by_noise else theirs.syn1).tobytes()
    assert saved["counts"].tolist() == theirs.wv.expandos["count"].tolist()


def test_fasttext_equals_one_call_of_gensim_and_composes_what_it_never_saw(tmp_path: Path) -> None:
    texts = toy_vectors.sentences(1, 2000)
    job = toy_vectors.job(tmp_path, toy_vectors.fasttext(), train=texts)
    fasttext.FAMILY.pretrain(job)
    theirs = FastText(
        corpus_file=_write(tmp_path, texts), sg=1, negative=BOTH["negative"], min_n=2, max_n=4, bucket=150, **SAME
    )
    write_manifest(job.out)
    assert fasttext.FAMILY.load_vectors is not None
    ours = fasttext.FAMILY.load_vectors(job.out)
    assert list(ours.words) == theirs.wv.index_to_key
    assert ours.matrix.tobytes() == theirs.wv.vectors.tobytes()
    for word in ("ships", "sailing", "wäsche", "马车", "x", "", "the"):
        found = ours.vector(word)
        assert found is not None
        assert found.tobytes() == theirs.wv[word].tobytes(), word
    assert "sailing" not in ours
    assert ours.similarity("sailing", "sail") is not None


def test_fasttext_without_ngrams_equals_gensims_and_composes_nothing(tmp_path: Path) -> None:
    texts = toy_vectors.sentences(1, 2000)
    job = toy_vectors.job(tmp_path, toy_vectors.fasttext(max_n=0), train=texts)
    metrics = fasttext.FAMILY.pretrain(job)
    theirs = FastText(corpus_file=_write(tmp_path, texts), sg=1, negative=BOTH["negative"], max_n=0, **SAME)
    write_manifest(job.out)
    assert fasttext.FAMILY.load_vectors is not None
    ours = fasttext.FAMILY.load_vectors(job.out)
    assert list(ours.words) == theirs.wv.index_to_key
    assert ours.matrix.tobytes() == theirs.wv.vectors.tobytes()
    assert ours.vector("sailing") is None
    assert metrics["parameters"] == 2 * len(ours.words) * BOTH["size"], "words and output, and no bucket"


@given(st.text(), st.integers(1, 4), st.integers(0, 4), st.integers(1, 10**6))
@settings(max_examples=200, deadline=None)
def test_ngrams_fall_into_the_same_buckets(word: str, min_n: int, more: int, buckets: int) -> None:
    assert buckets_of(word, min_n, min_n + more, buckets) == ft_ngram_hashes(word, min_n, min_n + more, buckets)


def test_a_process_with_another_hash_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for name, asked in (("word2vec", toy_vectors.word2vec()), ("fasttext", toy_vectors.fasttext())):
        load_family(name).pretrain(toy_vectors.job(tmp_path / "here" / name, asked))
    _train_elsewhere(tmp_path / "there", hash_seed="7")
    for name in ("word2vec", "fasttext"):
        assert digest_tree([tmp_path / "here" / name / "out"]) == digest_tree([tmp_path / "there" / name / "out"])


# --- the loss --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("architecture", "objective"), MODES)
def test_the_loss_is_that_of_single_predictions(tmp_path: Path, architecture: str, objective: str) -> None:
    asked = toy_vectors.word2vec(architecture, objective)
    job = toy_vectors.job(tmp_path, asked)
    model, store, word_of = _untrained(job, word2vec)
    rng = np.random.default_rng(5)
    for array in (model.wv.vectors, model.syn1 if model.hs else model.syn1neg):
        array[:] = rng.normal(size=array.shape)
    loss = word2vec.make_loss(asked, model, store, word_of, seed=3)
    assert loss is not None

    rng = np.random.default_rng([3, store.num_tokens])
    counts = model.wv.expandos["count"]
    pairs = sample_windows(store, word_of, keep_probability(counts, asked.subsample), asked.window, rng)
    windows: dict[int, tuple[int, list[int]]] = {}
    for place, center, context in zip(pairs.places, pairs.centers, pairs.contexts, strict=True):
        windows.setdefault(place, (center, []))[1].append(context)
    predictions = [
        (center, used)
        for center, contexts in windows.values()
        for used in ([contexts] if architecture == "cbow" else [[context] for context in contexts])
    ]
    targets = np.array([center for center, _ in predictions])
    noise = noise_distribution(counts, 0.75)
    negatives = draw_negatives(targets, asked.negative, noise, rng) if not model.hs else np.zeros((len(targets), 0))
    nats = [
        _nats(model, center, np.mean([model.wv.vectors[word] for word in used], axis=0), drawn)
        for (center, used), drawn in zip(predictions, negatives, strict=True)
    ]
    assert len(nats) > 300
    assert loss() == pytest.approx(sum(nats) / len(nats), rel=1e-6)


def test_the_loss_of_fasttext_is_that_of_single_predictions(tmp_path: Path) -> None:
    asked = toy_vectors.fasttext()
    model, store, word_of = _untrained(toy_vectors.job(tmp_path, asked), fasttext)
    rng = np.random.default_rng(5)
    model.syn1neg[:] = rng.normal(size=model.syn1neg.shape)
    loss = fasttext.make_loss(asked, model, store, word_of, seed=3)
    assert loss is not None

    rng = np.random.default_rng([3, store.num_tokens])
    counts = model.wv.expandos["count"]
    pairs = sample_windows(store, word_of, keep_probability(counts, asked.subsample), asked.window, rng)
    negatives = draw_negatives(pairs.contexts, asked.negative, noise_distribution(counts, 0.75), rng)
    nats = []
    for center, context, drawn in zip(pairs.centers, pairs.contexts, negatives, strict=True):
        parts = ft_ngram_hashes(model.wv.index_to_key[center], asked.min_n, asked.max_n, asked.buckets)
        rows = [model.wv.vectors_vocab[center], *(model.wv.vectors_ngrams[part] for part in parts)]
        nats.append(_nats(model, context, np.sum(rows, axis=0) / len(parts), drawn))
    assert loss() == pytest.approx(sum(nats) / len(nats), rel=1e-6)


@pytest.mark.parametrize(("architecture", "objective"), MODES)
def test_the_loss_falls(tmp_path: Path, architecture: str, objective: str) -> None:
    asked = toy_vectors.word2vec(architecture, objective, epochs=5)
    assert _falls(word2vec, toy_vectors.job(tmp_path, asked))


def test_the_loss_of_fasttext_falls(tmp_path: Path) -> None:
    for max_n in (4, 0):
        asked = toy_vectors.fasttext(epochs=5, max_n=max_n)
        assert _falls(fasttext, toy_vectors.job(tmp_path / str(max_n), asked))


# --- hierarchical softmax --------------------------------------------------------------------------------------------
@given(st.lists(st.integers(1, 30), min_size=2, max_size=40))
@settings(max_examples=100, deadline=None)
def test_the_tree_is_the_one_that_gensim_trains_with(counts: list[int]) -> None:
    vectors = KeyedVectors(1)
    vectors.add_vectors([str(word) for word in range(len(counts))], np.zeros((len(counts), 1)))
    for word, count in enumerate(counts):
        vectors.set_vecattr(word, "count", count)
    _assign_binary_codes(vectors)
    tree = HuffmanTree.of(counts)
    for word in range(len(counts)):
        code, points = vectors.expandos["code"][word], vectors.expandos["point"][word]
        assert tree.code(word, heavier=1) == "".join(map(str, code))
        assert [tree.parents[node] - len(counts) for node in tree.way(word)] == list(points)


def test_probabilities_of_all_words_sum_to_one() -> None:
    rng = np.random.default_rng(1)
    tree = HuffmanTree.of([8, 6, 5, 3, 1, 15])
    words = np.arange(6)
    hidden = np.repeat(rng.normal(size=(1, 4)), 6, axis=0)
    assert np.exp(-HierarchicalSoftmax(tree, words).losses(hidden, rng.normal(size=(6, 4)))).sum() == pytest.approx(1)


def _nats(model: Any, target: int, hidden: Any, negatives: Any) -> float:
    """One prediction, as the paper writes it."""
    if model.hs:
        code, points = model.wv.expandos["code"][target], model.wv.expandos["point"][target]
        choices = zip(code, points, strict=True)
        return -math.log(math.prod(_sigmoid((1 - 2 * int(bit)) * model.syn1[point] @ hidden) for bit, point in choices))
    found = -math.log(_sigmoid(model.syn1neg[target] @ hidden))
    return found - sum(math.log(_sigmoid(-model.syn1neg[word] @ hidden)) for word in negatives if word >= 0)


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def _untrained(job: Any, family: Any) -> tuple[Any, TokenStore, Any]:
    vocabulary, store = read_words(job.tokenizer), TokenStore.open(job.tokens / "train")
    lines = write_word_lines(store, vocabulary, job.scratch / "lines")
    model = family.build_model(job.settings, 1, lines)
    return model, store, number_words(model, vocabulary)


def _falls(family: Any, job: Any) -> bool:
    model, store, word_of = _untrained(job, family)
    before = family.make_loss(job.settings, model, store, word_of, job.seed)()
    metrics = family.FAMILY.pretrain(job)
    after = [float(line.split(",")[1]) for line in (job.out / "curve.csv").read_text().splitlines()[1:]]
    assert len(after) == 5
    assert metrics["loss"] == after[-1]
    assert metrics["validation_loss"] < before
    return all(one > other for one, other in zip([before, *after], after, strict=False))


def _write(folder: Path, texts: list[str]) -> str:
    path = folder / "theirs.txt"
    words = [line.split() for line in toy_vectors.lines_of(texts).splitlines()]
    cut = [line[start : start + 10_000] for line in words for start in range(0, len(line), 10_000)]
    path.write_text("".join(f"{' '.join(line)}\n" for line in cut), encoding="utf-8")
    return str(path)


def _train_elsewhere(folder: Path, hash_seed: str) -> None:
    """Train both families in a process of its own."""
    program = (
        "import sys; from pathlib import Path; from tests import toy_vectors as toy\n"
        "from stemma.families import load_family\n"
        "for name in ('word2vec', 'fasttext'):\n"
        "    load_family(name).pretrain(toy.job(Path(sys.argv[1], name), getattr(toy, name)()))\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", program, str(folder)], cwd=ROOT, env=environment, check=True)
