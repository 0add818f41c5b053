"""N-gram models against a hand-worked example, the formulas written out over dictionaries, and KenLM."""

import math
from collections import Counter
from itertools import product
from pathlib import Path

import kenlm
import numpy as np
import pytest

from stemma.families.ngram.arpa import export_arpa
from stemma.families.ngram.family import FAMILY as NGRAM
from stemma.families.ngram.family import NgramScorer
from tests.toy_ngrams import SMOOTHINGS, pretrain, save_corpus, settings

Ngram = tuple[str, ...]


# --- by hand ---------------------------------------------------------------------------------------------------------
# The corpus: <s> a b </s>   <s> a c </s>   <s> b a </s>
# Events, over which probabilities sum to 1: a b c [UNK] </s>, so V = 5.
#
# Unigrams: a 3, b 2, c 1, </s> 3: 9 tokens.
# Bigrams:  <s> a 2, <s> b 1;   a b 1, a c 1, a </s> 1;   b a 1, b </s> 1;   c </s> 1.
HAND_CORPUS = ["a b", "a c", "b a"]
HAND_EXAMPLES = [
    # Maximum likelihood: P(a|<s>) = 2/3, P(b|a) = 1/3, P(</s>|b) = 1/2; P(c|<s>) = 0
    ("maximum-likelihood", "a b", [2 / 3, 1 / 3, 1 / 2]),
    ("maximum-likelihood", "c", [0, 1]),
    # Laplace: (count + 1) / (count of the context + 5)
    ("laplace", "a b", [3 / 8, 2 / 8, 2 / 7]),
    ("laplace", "c d", [1 / 8, 1 / 6, 1 / 5]),  # d is unknown: (0 + 1) / (1 + 5), and nothing was ever seen after it
    # Add 0.3: (count + 0.3) / (count of the context + 1.5)
    ("add-k", "a b", [2.3 / 4.5, 1.3 / 4.5, 1.3 / 3.5]),
    # Interpolated, weights 1 : 2: 2/3 of the bigram's frequency and 1/3 of the unigram's
    (
        "interpolated",
        "a b",
        [2 / 3 * 2 / 3 + 1 / 3 * 3 / 9, 2 / 3 * 1 / 3 + 1 / 3 * 2 / 9, 2 / 3 * 1 / 2 + 1 / 3 * 3 / 9],
    ),
    # Kneser-Ney. Unigrams count how many different words they follow: a {<s>, b} 2, b {<s>, a} 2, c {a} 1,
    # </s> {a, b, c} 3: 8 in all. Counts of these counts: n1 = 1, n2 = 2, n3 = 1, n4 = 0. Y = 1 / (1 + 2·2) = 0.2,
    # D1 = 1 - 2·0.2·2/1 = 0.2, D2 = 2 - 3·0.2·1/2 = 1.7, D3+ = 3 - 4·0.2·0/1 = 3.
    # Left over: (0.2·1 + 1.7·2 + 3·1) / 8 = 0.825, a fifth of it (0.165) for each event.
    # P(a) = P(b) = (2 - 1.7) / 8 + 0.165 = 0.2025, P(c) = (1 - 0.2) / 8 + 0.165 = 0.265,
    # P(</s>) = (3 - 3) / 8 + 0.165 = 0.165, P([UNK]) = 0.165: 1 in all.
    # Bigrams have the counts of counts n1 = 7, n2 = 1, n3 = 0, which give no discounts: 0.5, 1 and 1.5 stand in.
    # After <s>: total 3, left over (1 + 0.5) / 3 = 0.5. P(a|<s>) = (2 - 1) / 3 + 0.5·0.2025.
    # After a: total 3, left over 3·0.5 / 3 = 0.5. P(b|a) = 0.5 / 3 + 0.5·0.2025.
    # After b: total 2, left over 2·0.5 / 2 = 0.5. P(</s>|b) = 0.5 / 2 + 0.5·0.165.
    ("kneser-ney", "a b", [1 / 3 + 0.10125, 0.5 / 3 + 0.10125, 0.25 + 0.0825]),
    # P(c|<s>) = 0.5·0.265. After c: total 1, left over 0.5: P([UNK]|c) = 0.5·0.165. Nothing was seen after [UNK]: P(</s>).
    ("kneser-ney", "c d", [0.1325, 0.0825, 0.165]),
]


@pytest.mark.parametrize(("smoothing", "sentence", "factors"), HAND_EXAMPLES)
def test_worked_by_hand(tmp_path: Path, smoothing: str, sentence: str, factors: list[float]) -> None:
    tokens, tokenizer = save_corpus(tmp_path, "abc", HAND_CORPUS, HAND_CORPUS)
    pretrain(tokens, tokenizer, settings(smoothing, 2), tmp_path / "model")
    scorer = _load(tmp_path / "model")

    assert _factors(scorer, sentence) == pytest.approx(factors, rel=1e-6)
    scores = scorer.score([sentence])
    expected = -sum(math.log(factor) if factor else -math.inf for factor in factors)
    assert scores.nats.tolist() == pytest.approx([expected], rel=1e-6)
    assert scores.num_predictions.tolist() == [len(sentence.split()) + 1]
    assert scores.num_unknown.tolist() == [sentence.count("d")]


# --- by the formulas, over dictionaries ------------------------------------------------------------------------------
class Formulas:
    """Every smoothing as its paper writes it, one n-gram at a time; shares nothing with the code that it checks."""

    def __init__(
        self, sentences: list[list[str]], events: set[str], order: int, k: float, weights: list[float]
    ) -> None:
        self.events, self.order, self.k, self.weights = events, order, k, weights
        self.count: Counter[Ngram] = Counter()
        for sentence in sentences:
            tokens = ("<s>", *(word if word in events else "[UNK]" for word in sentence), "</s>")
            for length in range(1, order + 1):
                for start in range(len(tokens) - length + 1):
                    self.count[tokens[start : start + length]] += 1
        self.follows: dict[Ngram, set[str]] = {}
        self.precedes: dict[Ngram, set[str]] = {}
        for ngram in self.count:
            if ngram != ("<s>",):
                self.follows.setdefault(ngram[:-1], set()).add(ngram[-1])
            self.precedes.setdefault(ngram[1:], set()).add(ngram[0])
        self.discount = {length: self.discounts(length) for length in range(1, order + 1)}

    def frequency(self, context: Ngram, word: str) -> float:
        seen = sum(self.count[(*context, other)] for other in self.follows.get(context, ()))
        return self.count[(*context, word)] / seen

    def maximum_likelihood(self, context: Ngram, word: str) -> float:
        return self.frequency(context, word) if context in self.follows else 0.0

    def add_k(self, context: Ngram, word: str, k: float) -> float:
        seen = sum(self.count[(*context, other)] for other in self.follows.get(context, ()))
        return (self.count[(*context, word)] + k) / (seen + k * len(self.events))

    def interpolated(self, context: Ngram, word: str) -> float:
        suffixes = [context[len(context) - length :] for length in range(len(context) + 1)]
        terms = [(self.weights[len(suffix)], suffix) for suffix in suffixes if suffix in self.follows]
        return sum(w * self.frequency(suffix, word) for w, suffix in terms) / sum(w for w, _ in terms)

    def adjusted(self, ngram: Ngram) -> int:
        """c_KN: a count at the highest order and after <s>, else N1+(• ngram)."""
        if len(ngram) == self.order or ngram[0] == "<s>":
            return self.count[ngram]
        return len(self.precedes.get(ngram, ()))

    def discounts(self, length: int) -> tuple[float, float, float, float]:
        adjusted = [self.adjusted(ngram) for ngram in self.count if len(ngram) == length and ngram != ("<s>",)]
        n = [adjusted.count(times) for times in range(5)]
        if 0 in n[1:4]:
            return 0, 0.5, 1, 1.5
        y = n[1] / (n[1] + 2 * n[2])
        d = (0, 1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3])
        return d if min(d[1:]) > 0 else (0, 0.5, 1, 1.5)

    def kneser_ney(self, context: Ngram, word: str) -> float:
        lower = self.kneser_ney(context[1:], word) if context else 1 / len(self.events)
        if context not in self.follows:
            return lower
        d = self.discount[len(context) + 1]
        counts = {other: self.adjusted((*context, other)) for other in self.follows[context]}
        total = sum(counts.values())
        n = [sum(1 for c in counts.values() if min(c, 3) == times) for times in range(4)]
        own = counts.get(word, 0)
        gamma = (d[1] * n[1] + d[2] * n[2] + d[3] * n[3]) / total
        return max(own - d[min(own, 3)], 0) / total + gamma * lower

    def probability(self, smoothing: str, context: Ngram, word: str) -> float:
        if smoothing == "laplace":
            return self.add_k(context, word, 1)
        if smoothing == "add-k":
            return self.add_k(context, word, self.k)
        return float(getattr(self, smoothing.replace("-", "_"))(context, word))


def _random_corpus(seed: int, num_sentences: int) -> list[str]:
    """Sentences in which some words are frequent, some follow each other, and some the vocabulary does not have."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(num_sentences):
        words = (rng.zipf(1.4, rng.integers(1, 12)) - 1) % 14
        if rng.random() < 0.3:
            words = np.concatenate([[1, 2, 3, 4, 5][: rng.integers(2, 6)], words])
        sentences.append(" ".join(f"w{word}" for word in words))
    return sentences


WORDS = [f"w{number}" for number in range(12)] + ["never", "seen"]  # w12 and w13 are unknown
CORPUS = _random_corpus(1, 400)
HELD_OUT = [*_random_corpus(2, 60), "", "never", "seen w1 never w2 w3", "w99 w99"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return save_corpus(tmp_path_factory.mktemp("corpus"), WORDS, CORPUS, HELD_OUT)


@pytest.mark.parametrize(("smoothing", "order"), list(product(SMOOTHINGS, [1, 2, 3, 4, 5])))
def test_equals_the_formulas(tmp_path: Path, corpus: tuple[Path, Path], smoothing: str, order: int) -> None:
    asked = settings(smoothing, order)
    metrics = pretrain(*corpus, asked, tmp_path / "model")
    scorer = _load(tmp_path / "model")
    events = {*WORDS, "[UNK]", "</s>"}
    formulas = Formulas([s.split() for s in CORPUS], events, order, asked.add_k, asked.interpolation)

    total = tokens = 0.0
    for sentence in HELD_OUT:
        words = ["<s>", *(word if word in events else "[UNK]" for word in sentence.split()), "</s>"]
        expected = [
            formulas.probability(smoothing, tuple(words[max(0, place - order + 1) : place]), words[place])
            for place in range(1, len(words))
        ]
        assert _factors(scorer, sentence) == pytest.approx(expected, rel=1e-5, abs=1e-12)
        total -= sum(math.log(p) if p else -math.inf for p in expected)
        tokens += len(expected)
    lengths = [Counter(len(ngram) for ngram in formulas.count)[length] for length in range(1, order + 1)]
    assert [metrics[f"ngrams_of_order_{length}"] for length in range(1, order + 1)] == lengths
    if math.isfinite(total):
        assert metrics["validation_perplexity"] == pytest.approx(math.exp(total / tokens), rel=1e-5)
        num_bytes = sum(len(sentence.encode()) for sentence in HELD_OUT)
        assert metrics["validation_bits_per_byte"] == pytest.approx(total / math.log(2) / num_bytes, rel=1e-5)
        assert metrics["validation_zero_probability_tokens"] == 0
    else:  # "never" and "seen" never were
        assert smoothing in ("maximum-likelihood", "interpolated")
        assert "validation_perplexity" not in metrics
        assert metrics["validation_zero_probability_tokens"] > 0


def test_the_corpus_has_real_discounts(corpus: tuple[Path, Path]) -> None:
    """Otherwise the comparison above would only be one of fallbacks."""
    formulas = Formulas([s.split() for s in CORPUS], {*WORDS, "[UNK]", "</s>"}, 3, 1, [1, 1, 1])
    assert all(formulas.discount[length] != (0, 0.5, 1, 1.5) for length in (2, 3))


# --- by KenLM --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("smoothing", "order"), list(product(SMOOTHINGS[1:], [2, 3, 5]))
)  # KenLM reads no unigram models
def test_kenlm_reads_the_same_probabilities(
    tmp_path: Path, corpus: tuple[Path, Path], smoothing: str, order: int
) -> None:
    pretrain(*corpus, settings(smoothing, order), tmp_path / "model")
    export_arpa(tmp_path / "model", tmp_path / "model.arpa")
    scorer = _load(tmp_path / "model")
    reader = kenlm.Model(str(tmp_path / "model.arpa"))

    for sentence in HELD_OUT:
        theirs = [10**score for score, _, _ in reader.full_scores(sentence, bos=True, eos=True)]
        assert _factors(scorer, sentence) == pytest.approx(theirs, rel=1e-5, abs=1e-12)
    # in the middle of a text, where no <s> stands before
    words = " ".join(HELD_OUT[:5]).split()
    theirs = [10**score for score, _, _ in reader.full_scores(" ".join(words), bos=False, eos=False)]
    ids = [scorer.tokenizer.encode(word).ids[0] for word in words]
    ours = [scorer.model.distribution(ids[:place])[number] for place, number in enumerate(ids)]
    if smoothing in ("interpolated", "kneser-ney"):  # add-k uses shorter contexts only where a sentence begins
        assert ours == pytest.approx(theirs, rel=1e-5)


def _load(folder: Path) -> NgramScorer:
    assert NGRAM.load_scorer is not None
    scorer = NGRAM.load_scorer(folder)
    assert isinstance(scorer, NgramScorer)
    return scorer


def _factors(scorer: NgramScorer, sentence: str) -> list[float]:
    """The probability of each word of a sentence, and of its end."""
    ids = np.array(scorer.tokenizer.encode(sentence).ids, np.int64)
    return [float(factor) for factor in scorer.model.predict_sentences(ids, np.array([0, len(ids)]))[0]]
