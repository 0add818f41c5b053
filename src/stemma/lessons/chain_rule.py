"""The chain rule: why `我想要吃一个苹果` is a likelier sentence than the same words in another order.

Three orders of six words are scored by n-gram models that are trained, while you wait, on a few dozen sentences.
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from stemma import config
from stemma.data.token_store import TokenStoreWriter, id_dtype
from stemma.families.base import Family, Pretraining
from stemma.families.ngram.chain import describe_factors, sentence_factors
from stemma.families.ngram.family import FAMILY as NGRAM
from stemma.families.ngram.family import NgramScorer, NgramSettings
from stemma.files import write_manifest
from stemma.progress import NullProgress
from stemma.protocols import Scorer
from stemma.text.encoding import Fit, SentenceEncoder, encode_documents
from stemma.text.vocabulary import learn_tokenizer, load_tokenizer, save_tokenizer
from stemma.training.tracker import NullTracker

__all__ = ["CORPUS", "ORDERS", "explain", "ngram_settings", "train"]

ORDERS: Final = ("我 想 要 吃 一个 苹果", "苹果 我 吃 想 要 一个", "一个 想 要 我 苹果 吃")  # the first is a sentence
_PEOPLE: Final = ("我", "你", "他")
_MEALS: Final = ("吃 一个 苹果", "吃 一个 梨", "吃 两个 苹果", "喝 一杯 茶", "买 一个 苹果")
CORPUS: Final = (
    *(f"{person} 想 要 {meal}" for person, meal in product(_PEOPLE, _MEALS)),
    *(f"{person} {meal}" for person, meal in product(_PEOPLE, _MEALS)),
    "苹果 很 好 吃",
    "一个 苹果 很 大",
    "我 吃 想 吃 的 梨",
)


def explain() -> Iterator[str]:
    """Tell it line by line."""
    sentence = ORDERS[0]
    yield f"Trained on {len(CORPUS)} sentences, such as {CORPUS[0]} and {CORPUS[-1]}."
    with tempfile.TemporaryDirectory() as folder:
        frequencies = _train_ngrams("maximum-likelihood", Path(folder) / "frequencies")
        smoothed = _train_ngrams("laplace", Path(folder) / "smoothed")
        yield ""
        yield f"Maximum likelihood, order {frequencies.model.order}: every factor is a ratio of two counts."
        yield from describe_factors(sentence_factors(frequencies.model, frequencies.tokenizer, sentence))
        yield ""
        yield "One count of 0 and the product is 0, as for the same words in another order:"
        yield from _compare(frequencies)
        yield ""
        yield "With one added to every count no sentence is impossible, and the order of the words still tells:"
        yield from _compare(smoothed)


def ngram_settings(smoothing: str, order: int) -> NgramSettings:
    """Settings of an n-gram model; in an interpolation every order weighs the same."""
    values = {"order": order, "smoothing": smoothing, "add_k": 0.1, "interpolation": [1.0] * order, "prior_count": 5.0}
    return NgramSettings.model_validate(values)


def train(family: Family[Any], settings: config.Settings, sentences: Sequence[str], folder: Path) -> Scorer:
    """A model of any family that scores, trained on sentences with spaces between their words."""
    tokenizer, tokens, model = folder / "tokenizer", folder / "tokens", folder / "model"
    _write_tokens(sentences, tokenizer, tokens)
    model.mkdir()
    family.pretrain(
        Pretraining(
            tokens=tokens,
            tokenizer=tokenizer,
            settings=settings,
            seed=1,
            scratch=folder / "scratch",
            out=model,
            tracker=NullTracker(),
            progress=NullProgress(),
        )
    )
    for file in tokenizer.iterdir():
        shutil.copyfile(file, model / file.name)
    write_manifest(model)
    assert family.load_scorer is not None
    return family.load_scorer(model)


def _train_ngrams(smoothing: str, folder: Path) -> NgramScorer:
    scorer = train(NGRAM, ngram_settings(smoothing, 5), CORPUS, folder)
    assert isinstance(scorer, NgramScorer)
    return scorer


def _compare(scorer: NgramScorer) -> Iterator[str]:
    for order in ORDERS:
        *_, last = describe_factors(sentence_factors(scorer.model, scorer.tokenizer, order))
        yield last


def _write_tokens(sentences: Sequence[str], tokenizer: Path, tokens: Path) -> None:
    """A vocabulary of all words of the sentences, and a store of one document, which is validated on as well."""
    counts = Counter(word for sentence in sentences for word in sentence.split())
    size = max(32, len(counts) + 7)  # with the special tokens
    settings = config.Tokenizer(corpus="lesson", kind="spaces", vocabulary_size=size, min_frequency=1, lowercase=False)
    words = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    save_tokenizer(learn_tokenizer(words, settings), settings, tokenizer)
    encoder = SentenceEncoder(load_tokenizer(tokenizer), at_spaces=True)
    for split in ("train", "validation"):
        with TokenStoreWriter(tokens / split, id_dtype(encoder.vocabulary_size)) as writer:
            for document in encode_documents(encoder, pa.array([list(sentences)]), Fit()):
                writer.add(document.ids, document.sentence_lengths, document.num_bytes)
