"""Small corpora for tests of n-gram models: a vocabulary, its tokenizer, token stores, and models of them."""

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from stemma.data.sentence_blocks import SentenceBlock
from stemma.data.token_store import TokenStoreWriter, id_dtype
from stemma.families.base import Pretraining
from stemma.families.ngram.counts import count_ngrams
from stemma.families.ngram.estimation import estimate
from stemma.families.ngram.family import FAMILY as NGRAM
from stemma.families.ngram.family import NgramSettings, choose_smoothing
from stemma.families.ngram.model import NgramModel, save_model
from stemma.families.ngram.windows import Symbols
from stemma.files import write_json, write_manifest
from stemma.progress import NullProgress
from stemma.training.tracker import NullTracker

MARKERS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>")
SMOOTHINGS = ("maximum-likelihood", "laplace", "add-k", "interpolated", "kneser-ney")
FIRST_WORD = len(MARKERS)


def symbols(num_words: int) -> Symbols:
    """The symbols of a vocabulary of markers and so many words."""
    return Symbols(size=FIRST_WORD + num_words, begin=5, end=6, unknown=1, silent=(0, 2, 3, 4, 5))


def settings(
    smoothing: str, order: int, *, add_k: float = 0.3, weights: Sequence[float] | None = None
) -> NgramSettings:
    """Settings of a model; interpolation weights 1, 2, … unless given."""
    chosen = list(weights) if weights is not None else [float(number) for number in range(1, order + 1)]
    return NgramSettings.model_validate(
        {"order": order, "smoothing": smoothing, "add_k": add_k, "interpolation": chosen, "prior_count": 2.0}
    )


def block(sentences: Iterable[Sequence[int]]) -> SentenceBlock:
    """Sentences of ids as a flat array with offsets."""
    lists = [list(sentence) for sentence in sentences]
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return np.array([word for sentence in lists for word in sentence], np.uint16), offsets


def model_of(sentences: Iterable[Sequence[int]], num_words: int, asked: NgramSettings, folder: Path) -> NgramModel:
    """A model of sentences of ids."""
    counts = count_ngrams([block(sentences)], symbols(num_words), asked.order, folder / "counts", memory=1 << 20)
    smoothing, details = choose_smoothing(asked, counts)
    estimates = estimate(counts, smoothing, memory=1 << 20)
    folder.mkdir(parents=True, exist_ok=True)
    save_model(folder, counts, estimates, backs_off=smoothing.backs_off, details=details)
    return NgramModel.open(folder)


def save_tokenizer(folder: Path, words: Iterable[str]) -> tokenizers.Tokenizer:
    """A tokenizer of words between spaces."""
    vocabulary = {word: number for number, word in enumerate([*MARKERS, *words])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})
    return tokenizer


def save_tokens(
    folder: Path, tokenizer: tokenizers.Tokenizer, sentences: Sequence[str], *, tokens_per_shard: int = 1 << 20
) -> None:
    """A token store in which every ten sentences are a document."""
    dtype = id_dtype(tokenizer.get_vocab_size())
    with TokenStoreWriter(folder, dtype, tokens_per_shard=tokens_per_shard) as writer:
        for start in range(0, len(sentences), 10):
            document = sentences[start : start + 10]
            ids = [encoding.ids for encoding in tokenizer.encode_batch(document, add_special_tokens=False)]
            flat = np.array([word for sentence in ids for word in sentence], dtype)
            lengths = np.array([len(sentence) for sentence in ids], np.int64)
            writer.add(flat, lengths, sum(len(sentence.encode()) for sentence in document))


def save_corpus(
    folder: Path, words: Iterable[str], train: Sequence[str], validation: Sequence[str], **options: int
) -> tuple[Path, Path]:
    """A tokenizer and the token stores of two splits: where they lie."""
    tokenizer = save_tokenizer(folder / "tokenizer", words)
    save_tokens(folder / "tokens" / "train", tokenizer, train, **options)
    save_tokens(folder / "tokens" / "validation", tokenizer, validation, **options)
    return folder / "tokens", folder / "tokenizer"


def pretrain(tokens: Path, tokenizer: Path, asked: NgramSettings, out: Path) -> dict[str, Any]:
    """Make a model folder as the stage does; its metrics."""
    out.mkdir(parents=True)
    metrics = NGRAM.pretrain(
        Pretraining(
            tokens=tokens,
            tokenizer=tokenizer,
            settings=asked,
            seed=1,
            scratch=out.with_name(f"{out.name}-scratch"),
            out=out,
            tracker=NullTracker(),
            progress=NullProgress(),
        )
    )
    for file in tokenizer.iterdir():
        shutil.copy(file, out)
    write_json(out / "metrics.json", metrics)
    write_manifest(out)
    json.dumps(metrics, allow_nan=False)
    return dict(metrics)
